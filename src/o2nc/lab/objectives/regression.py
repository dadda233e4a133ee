"""f7: robust regression on contaminated data, with heavy-tailed noise of finite variance."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ... import _xp
from ..._xp import Array
from ..runner.noise import signs
from .losses import SLOPE, slope
from .registry import registry
from .smooth import Objective

N, ROWS = 48, 96
CLEAN = 24  # the features that matter; the other 24 carry the noise
TRUTH = 0.5  # the size of their coefficients
WEIGHT = 10.0
OUTLIER = 4.0  # the distance delta of the outliers
FAR = 1 + OUTLIER**2  # the D of the docstring
NOISE = 0.2
TAIL = 3.0  # index alpha of the Pareto law
BITS = 23  # of its uniform: odd multiples of 2^-24, exact in single precision too

# The data: fair signs, from the generator of the noise under a name of their own.
FEATURES = signs(0, "f7-data", [0], start_round=0, rounds=ROWS, d=N)[:, 0].astype(np.float64) / math.sqrt(N)
X_STAR = TRUTH * np.concatenate(
    [signs(0, "f7-truth", [0], start_round=0, rounds=1, d=CLEAN)[0, 0], np.zeros(N - CLEAN)]
)

HEIGHT = 0.5 * (1 + 1 / FAR)  # K(0)
CURVATURE = 1 + (1 - 3 * OUTLIER**2) / FAR**3  # -K''(0)
NORM = float(np.linalg.norm(FEATURES, 2))


def _loss(r: Array) -> tuple[Array, Array]:
    """K(0) - K(r) and its derivative."""
    q = r * r
    w = 1.0 / (1.0 + q)
    square = (q + FAR) ** 2
    v = 1.0 / (square - (4 * OUTLIER**2) * q)
    loss = (0.5 * q) * (w + ((1 / FAR) * q + (1 - 3 * OUTLIER**2) / FAR) * v)
    return loss, r * (w * w + (square - 4 * OUTLIER**2 * FAR) * (v * v))


@dataclass(frozen=True)
class RobustRegression(Objective):
    r"""Regression with the loss of Geman and McClure on $x\in R^{48}$, from 96 rows of data of which half are wrong.

    Row j has a vector of features $a_j\in\{\pm1/\sqrt{48}\}^{48}$, fair signs from the generator of the noise. It was
    observed with weight 1 at its true answer $b_j=\langle a_j,x_\star\rangle$ and with weight 1/2 each at the
    outliers $b_j\pm\delta$, $\delta=4$:
    $$f_7(x)=10\sum_j\bigl[\varphi(r_j)+\tfrac12\varphi(r_j-\delta)+\tfrac12\varphi(r_j+\delta)\bigr],\quad
      r_j=\langle a_j,x\rangle-b_j,\quad\varphi(s)=\tfrac12-k(s),\quad k(s)=\frac1{2(1+s^2)}.$$

    f* is exact. $K(r)=k(r)+\frac12k(r-\delta)+\frac12k(r+\delta)$ has the Fourier transform
    $\hat k(\omega)(1+\cos\omega\delta)\ge0$, since $\hat k$ is a multiple of $e^{-|\omega|}$; so K is positive
    definite and $K\le K(0)$: with the outliers, too, every row is least at $r_j=0$, and $f^*=10\cdot96(1-K(0))$ at
    $x_\star$, with $K(0)=\frac12(1+\frac1{1+\delta^2})$. Since K > 0 tends to 0, $M=10\cdot96\,K(0)$.

    $\beta$: $-K''$ has the transform $\omega^2\hat K\ge0$, so $|K''|\le-K''(0)=1+(1-3\delta^2)/(1+\delta^2)^3$, and
    $\beta=10\,(-K''(0))\,\|A\|_{op}^2$ is attained at $x_\star$. The norm is a singular value of the data.

    The gradient: $|\varphi'|\le c=3\sqrt3/16$, and $\varphi'$ falls beyond $1/\sqrt3$. For $|r|\le\delta/2$ the
    three slopes are at most c, $\frac12\varphi'(\delta/2)$ and $\frac12\varphi'(\delta)$; for larger |r| at most
    $\varphi'(\delta/2)$, $\frac12c$ and $\frac12\varphi'(\delta)$, which is less. Hence
    $\sup\|\nabla f_7\|\le10\,\|A\|_{op}\sqrt{96}\,[c+\frac12\varphi'(\delta/2)+\frac12\varphi'(\delta)]$.

    The noise is $\xi=0.2\,\rho\,\epsilon$ on the features 25 to 48, with one radius $\rho=u^{-1/3}$ for all of them:
    $P(\rho>s)=s^{-3}$, the Pareto law of index 3. $E\rho^2=\int_0^1u^{-2/3}du=3$, without a third moment.
    So $E\|\xi\|^2=\sigma^2=0.2^2\cdot24\cdot3$. The uniform $u=\frac12(1+\sum_{i\le23}2^{-i}\epsilon_i)$ comes from
    signs of the first features, which carry no noise themselves: the midpoints of $2^{23}$ equal cells. The midpoint
    rule is below the integral of a convex function, so 3 is an upper bound of $E\rho^2$, by 0.24%, and
    $\rho\le2^{24/3}=256$.

    Only the first 24 features matter, $x_\star=\pm\frac12$ there and 0 elsewhere, and P keeps them. The run starts
    at 0.

    Reference: not in the paper; the loss is that of `geman_mcclure`.

    >>> f = RobustRegression()
    >>> print(f"{f.d} {f.M:.4f} {f.beta:.4f} {f.sigma:.4f} {f.gradient_sup:.4f} {f.noise_sup:.4f}")
    48 508.2353 52.6230 1.6971 83.9421 250.8277
    """

    name: ClassVar[str] = "f7"
    d: ClassVar[int] = N
    scales: ClassVar[list[float]] = [0.0] * CLEAN + [NOISE] * (N - CLEAN)
    f_star: ClassVar[float] = WEIGHT * ROWS * (1 - HEIGHT)

    beta: float = WEIGHT * CURVATURE * NORM**2
    sigma: float = NOISE * math.sqrt((N - CLEAN) * TAIL / (TAIL - 2))
    M: float = WEIGHT * ROWS * HEIGHT
    gradient_sup: float = WEIGHT * NORM * math.sqrt(ROWS) * (SLOPE + 0.5 * (slope(OUTLIER / 2) + slope(OUTLIER)))
    noise_sup: ClassVar[float] = NOISE * math.sqrt(N - CLEAN) * 2 ** ((BITS + 1) / TAIL)

    def start(self, like: Array) -> Array:
        """0."""
        return _xp.zeros((N,), like)

    def gap_and_gradient(self, x: Array) -> tuple[Array, Array]:
        r"""f(x) - f* and the gradient.

        With $q=r^2$, $D=1+\delta^2$ and $V=(D+q)^2-4\delta^2q$, the two outliers have $\frac{D+q}{2V}$ in K, and
        $$K(0)-K(r)=\frac q2\Bigl[\frac1{1+q}+\frac{1+q-3\delta^2}{DV}\Bigr],\quad
          -K'(r)=r\Bigl[\frac1{(1+q)^2}+\frac{(D+q)^2-4\delta^2D}{V^2}\Bigr];$$
        the first has no difference of nearly equal numbers near 0.
        """
        self.check("x", x)
        xp, features = _xp.namespace(x), _xp.from_numpy(FEATURES, x)
        loss, residual = _loss(xp.matmul(x - _xp.from_numpy(X_STAR, x), xp.matrix_transpose(features)))
        return WEIGHT * xp.sum(loss, axis=-1, keepdims=True), xp.matmul(WEIGHT * residual, features)

    def radius(self, epsilon: Array) -> Array:
        """The Pareto radius rho of the first 23 signs, of shape (..., 1)."""
        self.check("epsilon", epsilon)
        digits = _xp.like([0.5**i for i in range(2, BITS + 2)], epsilon)
        u = 0.5 + _xp.inner(epsilon[..., :BITS], digits)
        return u ** (-1 / TAIL)

    def noise(self, epsilon: Array, t: Array | float | None = None) -> Array:
        """0.2 rho epsilon on the features 25 to 48, 0 on the first 24."""
        return self.radius(epsilon) * epsilon * _xp.like(self.scales, epsilon)

    def witness(self) -> tuple[list[float], list[float]]:
        """x* + sqrt(48) e_1 and the direction e_1: all residuals are 1 or -1, and the curvature is -20 K''(1)."""
        return (X_STAR + math.sqrt(N) * np.eye(N)[0]).tolist(), np.eye(N)[0].tolist()


registry.add(
    RobustRegression.name, RobustRegression, "robust regression on wrong data, with heavy-tailed noise", kind="smooth"
)
