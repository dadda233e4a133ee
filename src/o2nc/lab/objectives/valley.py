"""f5: an ill-conditioned valley that bends, in rotated coordinates."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ... import _xp
from ..._xp import Array
from ...operators import Operator, Projector, trusted
from .registry import registry
from .smooth import Objective

N = 64
STIFFEST, CONDITION = 40.0, 100.0
WALLS = 31  # the stiff directions y_2 .. y_32, which carry the noise
NOISE = 0.4
WEIGHTS = [STIFFEST * CONDITION ** (-i / (N - 1)) for i in range(N)]
SLOPE = math.exp(-0.5)  # the largest slope of psi, at 1

# The sine transform: symmetric and orthogonal, so its own inverse. The remainder keeps the last digits of the sines.
PRODUCTS = np.outer(np.arange(1, N + 1), np.arange(1, N + 1)) % (2 * (N + 1))
ROTATION = math.sqrt(2 / (N + 1)) * np.sin(np.pi / (N + 1) * PRODUCTS)

# The bottom of the valley, with the flat directions y_33 .. y_64 where psi bends from convex to concave.
FIRST_Y = np.asarray([math.sin(1.0)] + [0.0] * WALLS + [1.0] * (N - 1 - WALLS))


@dataclass(frozen=True)
class BentValley(Objective):
    r"""A narrow valley on $x\in R^{64}$, seen in the coordinates $y=Qx$ of the sine transform.

    $$f_5(x)=\lambda_1\psi(y_1-\sin y_{64})+\sum_{i=2}^{64}\lambda_i\psi(y_i),\quad\psi(s)=1-e^{-s^2/2},\quad
      \lambda_i=40\cdot100^{-(i-1)/63},\quad Q_{jk}=\sqrt{\tfrac2{65}}\sin\tfrac{\pi jk}{65}.$$

    $Q=Q^\top=Q^{-1}$, so derivatives have the same norms in y. The bottom of the stiffest direction follows the
    flattest one, $y_1=\sin y_{64}$: no fixed basis diagonalises the Hessian. f* = 0 at x = 0.

    $\beta$: with $u=y_1-\sin y_{64}$, $r=(1,-\cos y_{64})$ and e the direction of $y_{64}$, the Hessian in
    $(y_1,y_{64})$ is $\lambda_1\psi''(u)rr^\top+[\lambda_1\psi'(u)\sin y_{64}+\lambda_{64}\psi''(y_{64})]ee^\top$.
    Since $|\psi''|\le1$ and $|\psi'|\le c=e^{-1/2}$, and with $s=|\sin y_{64}|$, its norm is at most
    $\lambda_1(2-s^2+cs)+\lambda_{64}\le\lambda_1(2+c^2/4)+\lambda_{64}$. The other directions are alone and have at
    most $\lambda_2<\lambda_1$. At 0 the norm is above $2\lambda_1$: the bound is less than 5% too large.

    $M=\sum_i\lambda_i$, approached far away. The gradient: $|\partial_1|\le c\lambda_1$,
    $|\partial_{64}|\le c(\lambda_1+\lambda_{64})$ and $|\partial_i|\le c\lambda_i$, so
    $\sup\|\nabla f_5\|^2\le c^2[\lambda_1^2+(\lambda_1+\lambda_{64})^2+\sum_{1<i<64}\lambda_i^2]$, which is attained
    but for the conflict between $\cos y_{64}=-1$ and $|y_{64}|=1$.

    The 31 stiff directions $y_2,\dots,y_{32}$ carry independent signs of size 0.4, so $\|\xi\|=\sigma=0.4\sqrt{31}$. P
    keeps the bend and the flat half, $y_1$ and $y_{33},\dots,y_{64}$. The run starts at the bottom of the valley with
    the flat directions at 1, where psi turns concave; the first gap is $(1-e^{-1/2})\sum_{i>32}\lambda_i$.

    Reference: not in the paper; the bend is that of H. H. Rosenbrock, An automatic method for finding the greatest or
    least value of a function, 1960.

    >>> f = BentValley()
    >>> print(f"{f.d} {f.M:.4f} {f.beta:.4f} {f.sigma:.4f} {f.S:.4f} {f.gap(f.start(np.zeros(1)))[0]:.4f}")
    64 562.1801 84.0788 2.2271 72.4242 19.4509
    """

    name: ClassVar[str] = "f5"
    d: ClassVar[int] = N

    beta: float = WEIGHTS[0] * (2 + SLOPE**2 / 4) + WEIGHTS[-1]
    sigma: float = NOISE * math.sqrt(WALLS)
    M: float = math.fsum(WEIGHTS)
    gradient_sup: float = SLOPE * math.hypot(*WEIGHTS[:-1], WEIGHTS[0] + WEIGHTS[-1])

    def start(self, like: Array) -> Array:
        """y_33 = ... = y_64 = 1 and y_1 = sin 1, at the bottom of the valley."""
        return _xp.from_numpy(ROTATION @ FIRST_Y, like)

    def gap_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """f(x) - f* and the gradient; the gradient is rotated back."""
        self.check("x", x)
        xp, Q, weights = _xp.namespace(x), _xp.from_numpy(ROTATION, x), _xp.like(WEIGHTS, x)
        y = xp.matmul(x, Q)
        along = y[..., -1:]
        u = xp.concat([y[..., :1] - xp.sin(along), y[..., 1:]], axis=-1)
        e = xp.expm1(-0.5 * (u * u))
        g = weights * (u + u * e)
        g = xp.concat([g[..., :-1], g[..., -1:] - xp.cos(along) * g[..., :1]], axis=-1)
        return -xp.sum(weights * e, axis=-1, keepdims=True), xp.matmul(g, Q)

    def projector(self, like: Array) -> Operator:
        """P keeps y_1 and y_33 to y_64."""
        basis = np.concatenate([ROTATION[:, :1], ROTATION[:, 1 + WALLS :]], axis=1)
        return trusted(Projector, basis=_xp.from_numpy(basis, like))

    def noise(self, epsilon: Array, t: Array | float | None = None) -> Array:
        """0.4 epsilon on y_2 to y_32, rotated back."""
        self.check("epsilon", epsilon)
        walls = _xp.from_numpy(NOISE * ROTATION[1 : 1 + WALLS], epsilon)
        return _xp.namespace(epsilon).matmul(epsilon[..., 1 : 1 + WALLS], walls)

    def witness(self) -> tuple[list[float], list[float]]:
        """sqrt(3) along y_2, and that direction: the curvature is -2 exp(-3/2) lambda_2."""
        direction = ROTATION[1]
        return (math.sqrt(3) * direction).tolist(), direction.tolist()


registry.add(BentValley.name, BentValley, "an ill-conditioned valley that bends, in rotated coordinates", kind="smooth")
