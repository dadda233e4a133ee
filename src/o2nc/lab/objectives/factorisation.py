"""f6: low-rank matrix factorisation with saturated factors and a bounded loss."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ... import _xp
from ..._xp import Array
from .losses import SLOPE, geman_mcclure
from .registry import registry
from .smooth import Objective

N, RANK = 12, 3  # A is 12 x 12 of rank 3
HALF = N * RANK  # coordinates of one factor
WEIGHT = 5.0
NOISE = 0.4
START = 0.7  # both factors start at this part of the true ones
SIZES = (0.6, 0.5, 0.4)  # of the columns of the true factors
BEND = 4 / math.sqrt(27)  # the largest |tanh''|

# The true factors, cosines of frequencies 0, 1, 2 and of 1, 2, 3, and the matrix.
U_STAR = np.asarray([[a * math.cos(math.pi * (i + 0.5) * k / N) for k, a in enumerate(SIZES)] for i in range(N)])
V_STAR = np.asarray([[a * math.cos(math.pi * (j + 0.5) * k / N) for k, a in enumerate(SIZES, 1)] for j in range(N)])
A = U_STAR @ V_STAR.T
LARGEST = np.unravel_index(np.argmax(np.abs(A)), A.shape)


@dataclass(frozen=True)
class LowRank(Objective):
    r"""Factorise a 12 x 12 matrix A of rank 3, on $x=(X,Y)$ with $X,Y\in R^{12\times3}$, row by row.

    $$f_6(X,Y)=5\sum_{ij}\varphi\bigl((UV^\top-A)_{ij}\bigr),\quad U=\tanh X,\quad V=\tanh Y,\quad
      \varphi(s)=\frac{s^2}{2(1+s^2)},\quad A=U_\star V_\star^\top.$$

    Without the tanh no $\beta$ exists: $\varphi''(0)\|v_j\|^2$ is the curvature in $x_i$ when $x_i^\top v_j=A_{ij}$,
    whatever the length of $v_j$. f* = 0, on the whole set $UV^\top=A$.

    $\beta$, for n = 12 and r = 3: let R be the residual, $\Phi=\varphi'(R)$, $|\Phi_{ij}|\le c=3\sqrt3/16$, and
    $(\xi,\eta)$ a direction. With $\dot U=(1-U^2)\xi$ and $\dot V=(1-V^2)\eta$ entry by entry, and
    $\dot R=\dot UV^\top+U\dot V^\top$, the second derivative of $f_6/5$ is
    $$\sum_{ij}\varphi''(R_{ij})\dot R_{ij}^2+2\langle\Phi,\dot U\dot V^\top\rangle
      +\langle\Phi V,\tanh''(X)\xi^2\rangle+\langle\Phi^\top U,\tanh''(Y)\eta^2\rangle.$$

    1. The map to $\dot R$ has the entries $(1-u_{ik}^2)v_{jk}$ and $(1-v_{jk}^2)u_{ik}$. For $a,b\in[0,1]$,
       $(1-a^2)b+(1-b^2)a=(a+b)(1-ab)\le1$: for a + b = s the product ab is at least max(0, s - 1), and both s for
       $s\le1$ and s(2 - s) are at most 1. So its rows sum to at most r and its columns to at most n, and by Schur's
       test its squared norm is at most rn. $|\varphi''|\le1$.
    2. $\|\Phi\|_{op}\le cn$, and $2\|\xi\|\|\eta\|\le\|\xi\|^2+\|\eta\|^2$: at most cn.
    3. $|(\Phi V)_{ik}|\le cn$ and $|\tanh''|\le4/\sqrt{27}$: at most $4cn/\sqrt{27}$.

    Hence $\beta=5n[r+c(1+4/\sqrt{27})]$. The first term is nearly 5nr at X = 0 and V near 1 if A is small; for
    this A a search finds 0.60 of $\beta$, 0.99 of M and 0.89 of the bound on the gradient.

    $|R_{ij}|<r+|A_{ij}|$ gives $M=5\sum_{ij}\varphi(r+|A_{ij}|)$. For the gradient, Cauchy-Schwarz and the inequality
    of 1., squared, give
    $\|\nabla f_6\|^2\le25c^2n\sum_{ijk}[(1-u_{ik}^2)^2v_{jk}^2+(1-v_{jk}^2)^2u_{ik}^2]\le25c^2n^3r$.

    X carries independent signs of size 0.4, so $\|\xi\|=\sigma=0.4\sqrt{36}$, and P keeps Y: one half step of
    alternating minimisation. Both factors start at 0.7 times the true ones. So Y alone can reach f*, since
    $|V_\star|/0.7<1$, and so can both together.

    Reference: not in the paper; the problem is that of R. Sun and Z.-Q. Luo, Guaranteed matrix completion via
    non-convex factorization, 2016.

    >>> f = LowRank()
    >>> print(f"{f.d} {f.M:.4f} {f.beta:.4f} {f.sigma:g} {f.S:.4f} {f.gap(f.start(np.zeros(1)))[0]:.4f}")
    72 328.8994 214.4856 2.4 119.3134 7.7384
    """

    name: ClassVar[str] = "f6"
    d: ClassVar[int] = 2 * HALF
    scales: ClassVar[list[float]] = [NOISE] * HALF + [0.0] * HALF  # the noise is on X, and P keeps Y

    beta: float = WEIGHT * N * (RANK + SLOPE * (1 + BEND))
    sigma: float = NOISE * math.sqrt(HALF)
    M: float = WEIGHT * float(np.sum(np.asarray(geman_mcclure(RANK + np.abs(A))[0])))
    gradient_sup: float = WEIGHT * SLOPE * N * math.sqrt(N * RANK)

    def start(self, like: Array) -> Array:
        """U and V at 0.7 times the true factors."""
        factors = np.concatenate([np.ravel(U_STAR), np.ravel(V_STAR)])
        return _xp.from_numpy(np.arctanh(START * factors), like)

    def gap_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """f(x) - f* and the gradient."""
        self.check("x", x)
        xp, shape = _xp.namespace(x), (*x.shape[:-1], N, RANK)
        factors = xp.tanh(x)
        U, V = xp.reshape(factors[..., :HALF], shape), xp.reshape(factors[..., HALF:], shape)
        loss, Phi = geman_mcclure(xp.matmul(U, xp.matrix_transpose(V)) - _xp.from_numpy(A, x))
        parts = [_xp.flatten_matrix(xp.matmul(Phi, V)), _xp.flatten_matrix(xp.matmul(xp.matrix_transpose(Phi), U))]
        g = (WEIGHT - WEIGHT * (factors * factors)) * xp.concat(parts, axis=-1)
        return WEIGHT * xp.sum(_xp.flatten_matrix(loss), axis=-1, keepdims=True), g

    def witness(self) -> tuple[list[float], list[float]]:
        """X = Y = 0 and the direction of x_i1 and y_j1, for the largest |A_ij|: the curvature is -5 phi'(|A_ij|)."""
        i, j = (int(k) for k in LARGEST)
        direction = [0.0] * self.d
        direction[RANK * i] = math.sqrt(0.5)
        direction[HALF + RANK * j] = math.copysign(math.sqrt(0.5), A[i, j])
        return [0.0] * self.d, direction


registry.add(LowRank.name, LowRank, "low-rank factorisation with saturated factors and a bounded loss", kind="smooth")
