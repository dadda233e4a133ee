r"""What may be known of the noise of the samples, and the inequalities that hold for it in one run.

Each kind of noise has two of them. In a run $e_{t+1}=h_t+a\xi_t$, where $h_t$ and $m_t$ are known before the noise
$\xi_t$ is drawn. With probability $1-\delta$, for all T at once, each of

$$-\sum_{t\le T}\langle\xi_t,m_t\rangle\le\text{deviation},\qquad
  \sum_{t\le T}\|e_{t+1}\|^2\le\text{growth}\sum_{t\le T}\|h_t\|^2+\text{noise}.$$
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, Protocol

from .checks import check_number

NORMAL = NormalDist()


class Tracking(NamedTuple):
    """The two numbers of the inequality for the tracking error."""

    growth: float  # the factor of the sum of |h_t|^2
    noise: float  # what the noise adds


class Noise(Protocol):
    """What `o2nc.certificates.one_run` asks of a kind of noise; your own may answer too.

    Reference: a certificate for one run, steps 2 and 3, in the theory pages.

    >>> noise: Noise = SubGaussian(p=1.0, d=4)
    >>> noise.sigma, noise.bias
    (2.0, 0.0)
    """

    @property
    def sigma(self) -> float:
        """A bound on the root of the variance."""

    @property
    def bias(self) -> float:
        """A bound on the distance of the mean of a sample from the gradient."""

    def deviation(self, N: float, guess: float, delta: float) -> float:
        """The bound on minus the sum of the products with m_t, whose squares sum to N; ``guess`` is N beforehand."""

    def tracking(self, a: float, T: int, horizon: int, delta: float) -> Tracking:
        """The bound on the squared errors of T rounds; ``horizon`` is T as it was guessed beforehand."""


@dataclass(frozen=True)
class SubGaussian:
    r"""Noise with light tails: $E\exp\langle v,\xi\rangle\le\exp(\frac12v^\top\Sigma v)$ for every v, given the past.

    Here $\Sigma\preceq p^2I$ and $\mathrm{tr}\,\Sigma\le dp^2$. Independent signs and independent bounded or Gaussian
    coordinates are of this kind: $\Sigma$ is diagonal, with the squares of the sizes of the signs, of half the lengths
    of the intervals, or with the variances.

    Args:
        p: the largest parameter in any direction.
        d: the dimension, or the effective one, $\mathrm{tr}\,\Sigma/p^2$, which need not be whole.

    Reference: a certificate for one run, in the theory pages; Robbins (1970) for the mixture.

    >>> noise = SubGaussian(p=0.1, d=64)
    >>> print(f"{noise.sigma:g} {noise.deviation(N=100.0, guess=100.0, delta=0.005):.3f}")
    0.8 3.572
    """

    p: float
    d: float

    def __post_init__(self) -> None:
        check_number("p", self.p)
        check_number("d", self.d, positive=True)

    @property
    def sigma(self) -> float:
        """p times the root of d."""
        return self.p * math.sqrt(self.d)

    @property
    def bias(self) -> float:
        """0."""
        return 0.0

    def deviation(self, N: float, guess: float, delta: float) -> float:
        """The mixture over half-normal factors, scaled for p^2 N as guessed."""
        return mixture(self.p**2 * N, self.p**2 * guess, delta)

    def tracking(self, a: float, T: int, horizon: int, delta: float) -> Tracking:
        r"""$\frac1{1-\omega}$ and $Tda^2p^2\frac{-\log(1-\omega)}\omega+\frac{2a^2p^2}\omega\log\frac1\delta$."""
        if self.p == 0:
            return Tracking(1.0, 0.0)
        log, square = math.log(1 / delta), (a * self.p) ** 2
        omega = best_omega(a, self.d * horizon, log)
        return Tracking(1 / (1 - omega), square * (T * self.d * -math.log1p(-omega) + 2 * log) / omega)


@dataclass(frozen=True)
class Bounded:
    r"""Noise that is bounded: $\|\xi\|\le B$.

    If the variance is known too, $E\|\xi\|^2\le\sigma^2$ given the past, and the gradients are bounded by L, Bernstein's
    inequality is used in place of Hoeffding's. It is better where B is much larger than $\sigma$: rare events.

    Args:
        B: the bound on the norm of the noise.
        sigma: root of a bound on the variance; B by default.
        L: a bound on the norm of the gradients, if Bernstein's inequality is wanted; $m_1=0$ is needed then.

    Reference: a certificate for one run, in the theory pages; Hoeffding (1963), Freedman (1975).

    >>> noise = Bounded(B=2.0)
    >>> print(noise.sigma, noise.tracking(a=0.1, T=1000, horizon=1000, delta=0.005).growth < 1.1)
    2.0 True
    """

    B: float
    sigma: float = None  # type: ignore[assignment]  # filled below
    L: float | None = None

    def __post_init__(self) -> None:
        check_number("B", self.B)
        if (self.sigma is None) != (self.L is None):
            raise ValueError("`sigma` and `L` of Bounded must be given together, or neither of them.")
        if self.L is None:
            object.__setattr__(self, "sigma", self.B)
            return
        check_number("sigma", self.sigma)
        check_number("L", self.L)
        if self.sigma > self.B:
            raise ValueError(f"`sigma` must be at most B = {self.B}; got {self.sigma}.")

    @property
    def bias(self) -> float:
        """0."""
        return 0.0

    def deviation(self, N: float, guess: float, delta: float) -> float:
        """The mixture with p = B, or Bernstein's inequality for products up to B (L + B)."""
        if self.L is None:
            return mixture(self.B**2 * N, self.B**2 * guess, delta)
        return bernstein(self.sigma**2 * N, self.sigma**2 * guess, self.B * (self.L + self.B), delta)

    def tracking(self, a: float, T: int, horizon: int, delta: float) -> Tracking:
        r"""$1+\omega$ and $Ta^2B^2+\frac{2a^2B^2}\omega\log\frac1\delta$, or those of Bernstein's inequality."""
        if self.L is not None:
            return bernstein_tracking(a, T, horizon, delta, B=self.B, sigma=self.sigma, H=2 * self.L + self.B)
        log, square = math.log(1 / delta), (a * self.B) ** 2
        omega = best_omega(a, horizon, log)
        return Tracking(1 + omega, square * (T + 2 * log / omega))


@dataclass(frozen=True)
class HeavyTailed:
    r"""Noise with $E\|\xi\|^q\le v^q$, $1<q\le2$, whose samples are clipped: $\hat s=s\min\{1,R/\|s\|\}$.

    With $\|\nabla f\|\le L<R$ the clipped samples have

    $$\|E\hat s-\nabla f\|\le b=\frac{(q-1)^{q-1}}{q^q}\cdot\frac{v^q}{(R-L)^{q-1}},\qquad
      E\|\hat s-E\hat s\|^2\le v^q(R+L)^{2-q},\qquad\|\hat s-E\hat s\|\le R+L+b.$$

    Args:
        v: the size of the noise; for q = 2 the root of the variance.
        L: a bound on the norm of the gradients.
        R: the radius at which the samples are clipped, larger than L. `clipping_radius` suggests one.
        q: the moment that is finite, in (1, 2].

    Reference: a certificate for one run, clipped samples, in the theory pages.

    >>> noise = HeavyTailed(v=1.0, L=2.0, R=12.0)
    >>> print(noise.bias, noise.sigma, noise.B)
    0.025 1.0 14.025
    """

    v: float
    L: float
    R: float
    q: float = 2.0

    def __post_init__(self) -> None:
        check_number("v", self.v)
        check_number("L", self.L)
        check_number("R", self.R, positive=True)
        check_number("q", self.q, positive=True)
        if not self.L < self.R:
            raise ValueError(f"`R` must be larger than L = {self.L}; got {self.R}.")
        if not 1 < self.q <= 2:
            raise ValueError(f"`q` must lie in (1, 2]; got {self.q}.")

    @property
    def bias(self) -> float:
        """The bound b on the bias of the clipped samples."""
        factor = (self.q - 1) ** (self.q - 1) / self.q**self.q
        return min(factor * self.v**self.q / (self.R - self.L) ** (self.q - 1), self.L + self.R)

    @property
    def sigma(self) -> float:
        """The bound on the root of the variance of the clipped samples."""
        return math.sqrt(self.v**self.q * (self.R + self.L) ** (2 - self.q))

    @property
    def B(self) -> float:
        """The bound on the distance of a clipped sample from its mean."""
        return min(self.R + self.L + self.bias, 2 * self.R)

    def deviation(self, N: float, guess: float, delta: float) -> float:
        """Bernstein's inequality for products up to B R, or the mixture with p = R where that is less beforehand."""
        exact = self.sigma**2 * guess, self.sigma**2 * guess, self.B * self.R, delta
        wide = self.R**2 * guess, self.R**2 * guess, delta
        if mixture(*wide) < bernstein(*exact):
            return mixture(self.R**2 * N, *wide[1:])
        return bernstein(self.sigma**2 * N, *exact[1:])

    def tracking(self, a: float, T: int, horizon: int, delta: float) -> Tracking:
        """Bernstein's inequality: the mean of the tracker stays in the ball of radius R, the gradient in that of L."""
        return bernstein_tracking(a, T, horizon, delta, B=self.B, sigma=self.sigma, H=self.R + self.L)


def clipping_radius(v: float, L: float, horizon: int, q: float = 2.0, delta: float = 0.01) -> float:
    r"""A radius for `HeavyTailed` that balances the square of the bias against what one large sample may do.

    $$R=2L+v\Bigl(\frac T{\log(1/\delta)}\Bigr)^{1/(2q)}.$$

    Args:
        v: the size of the noise.
        L: a bound on the norm of the gradients.
        horizon: the number of rounds.
        q: the moment that is finite, in (1, 2].
        delta: the probability that is left.

    Reference: a certificate for one run, clipped samples, in the theory pages.

    >>> round(clipping_radius(v=1.0, L=1.0, horizon=20_000), 2)
    10.12
    """
    return 2 * L + v * max(1.0, horizon / math.log(1 / delta)) ** (1 / (2 * q))


def mixture(V: float, guess: float, delta: float) -> float:
    r"""The deviation of a martingale with sub-Gaussian steps of total parameter V, by a half-normal mixture.

    With $r=\text{guess}/(2\ell+\log(1+2\ell))$, $\ell=\log\frac1\delta$, it is $z\sqrt{V+r}$ for a z that is no less
    than the root of $2\Phi(z)e^{z^2/2}=\frac1\delta\sqrt{1+V/r}$.

    >>> mixture(100.0, 100.0, 0.005) < math.sqrt(2 * (100 + 8) * math.log(200 * math.sqrt(1 + 100 / 8)))
    True
    """
    log = math.log(1 / delta)
    if V == 0 or guess == 0:
        return 0.0 if V == 0 else math.inf
    r = guess / (2 * log + math.log1p(2 * log))
    level = log + math.log1p(V / r) / 2
    z = math.sqrt(2 * level)  # no less than the root, because 2 Phi >= 1; the map below falls, so twice is above again
    for _ in range(2):
        z = math.sqrt(max(2 * (level - math.log(2 * NORMAL.cdf(z))), 0.0))
    return z * math.sqrt(V + r)


def bernstein(V: float, guess: float, K: float, delta: float) -> float:
    r"""The deviation of a martingale of total variance V whose steps are at most K: $\lambda\psi(\lambda K)V+\ell/\lambda$.

    Here $\psi(x)=(e^x-1-x)/x^2$, $\ell=\log\frac1\delta$, and $\frac1\lambda=\frac K3+\sqrt{\text{guess}/(2\ell)}$.

    >>> round(bernstein(100.0, 100.0, 0.0, math.exp(-2.0)), 9)
    20.0
    """
    if V == 0:
        return 0.0
    log = math.log(1 / delta)
    lam = 1 / (K / 3 + math.sqrt(guess / (2 * log)))
    return lam * psi(lam * K) * V + log / lam


def bernstein_tracking(
    a: float, T: int, horizon: int, delta: float, *, B: float, sigma: float, H: float
) -> Tracking:
    r"""$1+8\theta\psi a^2\sigma^2$ and $Ta^2\sigma^2(1+2\theta\psi a^2B^2)+\frac1\theta\log\frac1\delta$.

    $\psi$ is taken at $\theta K$, $K=aB(2H+aB)$, H a bound on $\|h_t\|$; $\theta$ makes the first at most $1+a$.

    >>> bernstein_tracking(0.1, 1000, 1000, 0.005, B=3.0, sigma=1.0, H=5.0).growth < 1.1
    True
    """
    if sigma == 0 or B == 0:
        return Tracking(1.0, 0.0)
    log, K = math.log(1 / delta), a * B * (2 * H + a * B)
    omega = min(a, math.sqrt(4 * log / (horizon * (1 / (2 * a) + B**2 / (4 * sigma**2)))))
    theta = 1 / (4 * (a * sigma) ** 2 / omega + K / 3)
    slope = theta * psi(theta * K)
    noise = T * (a * sigma) ** 2 * (1 + 2 * slope * (a * B) ** 2) + log / theta
    return Tracking(1 + 8 * slope * (a * sigma) ** 2, noise)


def best_omega(a: float, n: float, log: float) -> float:
    r"""$\omega=\frac{2a\ell}{\ell+\sqrt{\ell^2+an\ell}}<a$, which minimises $(n+\frac{2\ell}\omega)/(2a-\omega)$.

    >>> round(best_omega(a=0.5, n=48.0, log=1.0), 9)
    0.166666667
    """
    return 2 * a * log / (log + math.sqrt(log * log + a * n * log))


def psi(x: float) -> float:
    r"""$(e^x-1-x)/x^2$, by its series near 0.

    >>> psi(0.0), round(psi(1.0), 6)
    (0.5, 0.718282)
    """
    return (math.expm1(x) - x) / x**2 if x > 1e-3 else 0.5 + x / 6 + x * x / 24 + x**3 / 120
