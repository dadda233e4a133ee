r"""What may be known of the noise of the samples, and the inequality that each kind of it obeys in one run.

Let $y_t$ be known before the noise $\xi_t$ is drawn, and $a>0$. With probability $1-\delta$, for all T at once,

$$\sum_{t\le T}\|y_t+a\xi_t\|^2\le\gamma\sum_{t\le T}\|y_t\|^2+Y_T .$$

The growth $\gamma>1$ and $Y_T$ are numbers that are known before the run. They hold for every such sequence; they are
small where the two sums of squares are about as large as they were guessed to be.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from .checks import check_horizon, check_number


class Guess(NamedTuple):
    """What the free factors are tuned for before a run; a bad guess makes the bound larger, never wrong.

    Reference: a certificate for one run, step 5, in the theory pages.

    >>> Guess(horizon=1000, squares=20.0, length=2.0).length
    2.0
    """

    horizon: int  # the number of rounds
    squares: float  # the sum of |y_t|^2
    length: float  # nu of y_t = h_t - nu m_t; this one is no guess


class Tracking(NamedTuple):
    """The two numbers of the inequality.

    Reference: a certificate for one run, step 2, in the theory pages.

    >>> Tracking(growth=1.25, noise=3.0).excess
    0.25
    """

    growth: float  # gamma, the factor of the sum of |y_t|^2
    noise: float  # Y_T

    @property
    def excess(self) -> float:
        """The growth less 1."""
        return self.growth - 1


@runtime_checkable
class Noise(Protocol):
    """What `o2nc.certificates.one_run` asks of a kind of noise; your own, without bias, may answer too.

    Reference: a certificate for one run, in the theory pages.

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

    def tracking(self, a: float, T: int, delta: float, guess: Guess) -> Tracking:
        """The growth, below 1 + a, and Y_T."""


@dataclass(frozen=True)
class SubGaussian:
    r"""Noise with light tails: $E\exp\langle v,\xi\rangle\le\exp(\frac12v^\top\Sigma v)$ for every v, given the past.

    Here $\Sigma\preceq p^2I$ and $\mathrm{tr}\,\Sigma\le dp^2$. Independent signs and independent bounded or Gaussian
    coordinates are of this kind: $\Sigma$ is diagonal, with the squares of the sizes of the signs, of half the lengths
    of the intervals, or with the variances.

    Args:
        p: the largest parameter in any direction.
        d: the dimension, or the effective one, $\mathrm{tr}\,\Sigma/p^2$, which need not be whole.

    Reference: a certificate for one run, step 2, in the theory pages.

    >>> noise = SubGaussian(p=0.1, d=64)
    >>> noise.sigma, noise.tracking(0.1, 1000, 0.01, Guess(1000, squares=50.0, length=2.0)).growth < 1.1
    (0.8, True)
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

    def tracking(self, a: float, T: int, delta: float, guess: Guess) -> Tracking:
        r"""$\frac1{1-\omega}$ and $Tda^2p^2\frac{-\log(1-\omega)}\omega+\frac{2a^2p^2}\omega\log\frac1\delta$."""
        if self.p == 0:
            return Tracking(1.0, 0.0)
        log = math.log(1 / delta)
        excess = best_excess(a, self.p, log, guess.squares + (a * self.sigma) ** 2 * guess.horizon / 2)
        omega = excess / (1 + excess)
        return Tracking(1 + excess, (a * self.p) ** 2 * (T * self.d * -math.log1p(-omega) + 2 * log) / omega)


@dataclass(frozen=True)
class Bounded:
    r"""Noise that is bounded: $\|\xi\|\le B$.

    If the variance is known too, $E\|\xi\|^2\le\sigma^2$ given the past, and the gradients are bounded by L, then
    Bernstein's inequality takes the place of Hoeffding's, which is better for rare events, B much larger than $\sigma$.

    Args:
        B: the bound on the norm of the noise.
        sigma: root of a bound on the variance; B by default.
        L: a bound on the norm of the gradients, if Bernstein's inequality is wanted; $m_1=0$ is needed then.

    Reference: a certificate for one run, step 2, in the theory pages; Hoeffding (1963), Freedman (1975).

    >>> guess = Guess(1000, squares=50.0, length=2.0)
    >>> rare, bounded = Bounded(B=2.0, sigma=0.02, L=1.0), Bounded(B=2.0)
    >>> rare.tracking(0.1, 1000, 0.01, guess).noise < bounded.tracking(0.1, 1000, 0.01, guess).noise
    True
    """

    B: float
    sigma: float = None  # type: ignore[assignment]  # filled below
    L: float | None = None

    def __post_init__(self) -> None:
        check_number("B", self.B)
        if self.L is None and self.sigma in (None, self.B):
            object.__setattr__(self, "sigma", self.B)
            return
        if self.L is None or self.sigma is None:
            raise ValueError(f"`sigma` and `L` must be given both or neither; got {self.sigma} and {self.L}.")
        check_number("sigma", self.sigma)
        check_number("L", self.L)
        if self.sigma > self.B:
            raise ValueError(f"`sigma` must be at most B = {self.B}; got {self.sigma}.")

    @property
    def bias(self) -> float:
        """0."""
        return 0.0

    def tracking(self, a: float, T: int, delta: float, guess: Guess) -> Tracking:
        r"""$1+\omega$ and $Ta^2B^2+\frac{2a^2B^2}\omega\log\frac1\delta$, or those of Bernstein's inequality."""
        if self.B == 0:
            return Tracking(1.0, 0.0)
        if self.L is not None:
            H = 2 * self.L + self.B + guess.length * (self.L + self.B)
            return bernstein(a, T, delta, guess, B=self.B, sigma=self.sigma, H=H)
        log = math.log(1 / delta)
        omega = best_excess(a, self.B, log, guess.squares)
        return Tracking(1 + omega, (a * self.B) ** 2 * (T + 2 * log / omega))


@dataclass(frozen=True)
class HeavyTailed:
    r"""Noise with $E\|\xi\|^q\le v^q$, $1<q\le2$, whose samples are clipped: $\hat s=s\min\{1,R/\|s\|\}$.

    With $\|\nabla f\|\le L<R$ the clipped samples have

    $$\|E\hat s-\nabla f\|\le b=\frac{(q-1)^{q-1}}{q^q}\cdot\frac{v^q}{(R-L)^{q-1}},\qquad
      E\|\hat s-E\hat s\|^2\le v^q(R+L)^{2-q},\qquad\|\hat s-E\hat s\|\le R+L+b.$$

    Args:
        v: the size of the noise; for q = 2 the root of the variance.
        L: a bound on the norm of the gradients.
        R: the radius at which the samples are clipped, larger than L; `clipping_radius` suggests one. $m_1=0$ is
            needed.
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
        _check_moment(self.v, self.L, self.q)
        check_number("R", self.R, positive=True)
        if not self.L < self.R:
            raise ValueError(f"`R` must be larger than L = {self.L}; got {self.R}.")

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

    def tracking(self, a: float, T: int, delta: float, guess: Guess) -> Tracking:
        """Bernstein's inequality: the tracker and its mean stay in the ball of radius R, the gradient in that of L."""
        H = self.R + self.L + guess.length * self.R
        return bernstein(a, T, delta, guess, B=self.B, sigma=min(self.sigma, self.B), H=H)


def _check_moment(v: float, L: float, q: float) -> None:
    check_number("v", v)
    check_number("L", L)
    check_number("q", q, positive=True)
    if not 1 < q <= 2:
        raise ValueError(f"`q` must lie in (1, 2]; got {q}.")


def check_noise(name: str, noise: Any) -> None:
    """Raise unless ``noise`` is a kind of noise, of which only `HeavyTailed`, whose samples are clipped, has a bias.

    >>> check_noise("noise", "gauss")
    Traceback (most recent call last):
        ...
    TypeError: `noise` must be SubGaussian(...), Bounded(...) or HeavyTailed(...) of `o2nc.noise`; got 'gauss'.
    """
    if isinstance(noise, type) or not isinstance(noise, Noise):
        kinds = "SubGaussian(...), Bounded(...) or HeavyTailed(...) of `o2nc.noise`"
        raise TypeError(f"`{name}` must be {kinds}; got {noise!r}.")
    if noise.bias and not isinstance(noise, HeavyTailed):
        raise ValueError(f"`{name}` must have no bias, unless it is HeavyTailed(...); got {noise.bias}.")


def check_delta(delta: float) -> None:
    """Raise unless a probability of failure lies in (0, 1).

    >>> check_delta(1.0)
    Traceback (most recent call last):
        ...
    ValueError: `delta` must lie in (0, 1); got 1.0.
    """
    check_number("delta", delta)
    if not 0 < delta < 1:
        raise ValueError(f"`delta` must lie in (0, 1); got {delta}.")


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
    check_horizon(horizon, "horizon")
    check_delta(delta)
    _check_moment(v, L, q)
    return 2 * L + v * max(1.0, horizon / math.log(1 / delta)) ** (1 / (2 * q))


def bernstein(a: float, T: int, delta: float, guess: Guess, *, B: float, sigma: float, H: float) -> Tracking:
    r"""$\gamma=1+4(1+j)\theta\psi a^2\sigma^2$, $Y_T=Ta^2\sigma^2\bigl(1+(1+\frac1j)\theta\psi a^2B^2\bigr)+\frac1\theta\log\frac1\delta$.

    Here $\|y_t\|\le H$, $\psi=(e^x-1-x)/x^2$ at $x=\theta K$, $K=aB(2H+aB)$. j and $\theta$ are the best for the guess, but
    $\gamma\le1+\frac a2$.

    >>> bernstein(0.1, 1000, 0.01, Guess(1000, 50.0, 2.0), B=3.0, sigma=1.0, H=5.0).growth < 1.05
    True
    """  # noqa: E501
    if sigma == 0:
        return Tracking(1.0, 0.0)
    log, K = math.log(1 / delta), a * B * (2 * H + a * B)
    y, z = 2 * a * math.sqrt(guess.squares), a * a * B * math.sqrt(guess.horizon)
    j = z / y
    theta = 1 / (K / 3 + max(sigma * (y + z) / math.sqrt(2 * log), 4 * (1 + j) * a * sigma**2))
    slope = theta * psi(theta * K) * (a * sigma) ** 2
    noise = T * ((a * sigma) ** 2 + (1 + 1 / j) * slope * (a * B) ** 2) + log / theta
    return Tracking(1 + 4 * (1 + j) * slope, noise)


def best_excess(a: float, p: float, log: float, squares: float) -> float:
    r"""$\omega_0/(1+\frac{\omega_0}a)<a$, where $\omega_0=ap\sqrt{2\ell/V}$ minimises $\omega V+2a^2p^2\ell/\omega$.

    >>> round(best_excess(a=0.5, p=1.0, log=2.0, squares=4.0), 9)
    0.25
    """
    omega = a * p * math.sqrt(2 * log / squares)
    return omega / (1 + omega / a)


def psi(x: float) -> float:
    r"""$(e^x-1-x)/x^2$, by its series near 0.

    >>> psi(0.0), round(psi(1.0), 6)
    (0.5, 0.718282)
    """
    return (math.expm1(x) - x) / x**2 if x > 1e-3 else 0.5 + x / 6 + x * x / 24 + x**3 / 120
