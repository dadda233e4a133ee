"""The constants of Algorithm 2, derived from what is known of the objective."""

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..checks import check_horizon, check_number, check_size
from .tuned import fill


class NonsmoothValues(NamedTuple):
    """The numbers of Algorithm 2."""

    L: float
    a: float
    b: float
    eta: float
    rho: float


def least_horizon(L: float, M: float, sigma: float, lam: float) -> int:
    r"""The least T for which the tuned tracking rate is at most 1/2, $\lceil2^{7/4}M\sqrt\lambda/B^{3/2}\rceil$.

    Reference: Theorem 2.

    >>> least_horizon(L=1.0, M=1.0, sigma=0.0, lam=1.0)
    4
    """
    return math.ceil(2**1.75 * M * math.sqrt(lam) / math.hypot(L, sigma) ** 1.5)


@dataclass(frozen=True)
class Nonsmooth:
    r"""The constants of Algorithm 2 for an objective with gradients bounded by $L$ and range $M$.

    $$B=\sqrt{L^2+\sigma^2},\quad \varepsilon=\Bigl(\frac{B^4M^2\lambda}{T^2}\Bigr)^{1/7},\quad
      a=\frac{\varepsilon^2}{B^2},\quad b=1-a,\quad
      \eta=\frac{\varepsilon^{5/2}}{B^2\sqrt\lambda},\quad \rho=\varepsilon.$$

    ``a``, ``eta`` and ``rho`` may be given; those that are not are the tuned ones. A tuned ``a`` needs
    $T\ge 2^{7/4}M\sqrt\lambda/B^{3/2}$, which is the same as $a\le 1/2$. For other constants they are tuned
    again if that is said: ``dataclasses.replace(c, T=2000, a=None, eta=None, rho=None)``.

    Args:
        L: bound on the norm of the gradient.
        M: range of the objective, f(x) - f(y) <= M.
        sigma: root of the variance of the stochastic gradient; 0 is an exact gradient.
        lam: the paper's lambda, the weight of the spread in the stationarity measure.
        T: horizon, the number of rounds.
        a: tracking rate in (0, 1/2], instead of the tuned one.
        eta: length of the longest step, instead of the tuned one.
        rho: regularisation of the normalised direction, instead of the tuned one.

    Reference: Algorithm 2 and Theorem 2.

    >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000)
    >>> print(f"{c.eps:.4f} {c.a:.4f} {c.eta:.5f}")
    0.1389 0.0193 0.00720
    """

    L: float
    M: float
    sigma: float
    lam: float
    T: int
    a: float = None  # type: ignore[assignment]  # filled below
    eta: float = None  # type: ignore[assignment]
    rho: float = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_number("L", self.L, positive=True)
        check_number("M", self.M, positive=True)
        check_number("sigma", self.sigma)
        check_number("lam", self.lam, positive=True)
        check_horizon(self.T)
        for name in ("L", "M", "sigma", "lam", "a", "eta", "rho"):
            if (value := getattr(self, name)) is not None:
                check_size(name, value)
        if self.a is None:
            needed = least_horizon(self.L, self.M, self.sigma, self.lam)
            if needed > self.T:
                raise ValueError(
                    f"`T` must be at least 2^(7/4) M sqrt(lam) / B^(3/2) = {needed} for the tuned constants of "
                    f"Theorem 2; got {self.T}. Give `a`, `eta` and `rho` to use its general form."
                )
        tuned = {
            "a": min(self.eps**2 / self.B**2, 0.5),  # at the threshold itself, rounding must not cross 1/2
            "eta": self.eps**2.5 / (self.B**2 * math.sqrt(self.lam)),
            "rho": self.eps,
        }
        fill(self, tuned)
        if self.a > 0.5:
            raise ValueError(f"`a` must lie in (0, 1/2]; got {self.a}.")

    @property
    def B(self) -> float:
        """sqrt(L^2 + sigma^2), the root of the second moment of a sample."""
        return math.hypot(self.L, self.sigma)

    @property
    def eps(self) -> float:
        """The scale epsilon_T of Theorem 2."""
        return (self.B**4 * self.M**2 * self.lam / self.T**2) ** (1 / 7)

    @property
    def b(self) -> float:
        """1 - a."""
        return 1 - self.a

    @cached_property
    def values(self) -> NonsmoothValues:
        """``(L, a, b, eta, rho)``."""
        return NonsmoothValues(self.L, float(self.a), self.b, float(self.eta), float(self.rho))

    def energy(self) -> float:
        r"""A bound on $\sum_tE(\|s_t\|\|z_t\|)^2$, namely $TB^2$: the scale of the losses."""
        return self.T * self.B**2

    @property
    def trivial(self) -> float:
        """L, which bounds the local stationarity at every point: all weight on the point itself."""
        return self.L

    @property
    def practical(self) -> str:
        """Empty: these constants are given, never estimated."""
        return ""

    @property
    def is_tuned(self) -> bool:
        """Whether a, eta and rho are those of the tuned form of Theorem 2."""
        return (
            math.isclose(self.a * self.B**2, self.eps**2)
            and math.isclose(self.eta * self.B**2 * math.sqrt(self.lam), self.eps**2.5)
            and math.isclose(self.rho, self.eps)
        )

    def tau_cdf(self, t: int) -> float:
        r"""$\Pr(\tau\le t)$: the sum of $c_s/T$ for s <= t < T, and 1 at T.

        >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=4, a=0.5, eta=0.1, rho=0.1)
        >>> [c.tau_cdf(t) for t in (1, 2, 3, 4)]
        [0.125, 0.3125, 0.53125, 1.0]
        """
        if t < 0:
            raise ValueError(f"`t` must be a round, at least 0; got {t}.")
        c = -math.expm1(t * math.log1p(-self.a))  # 1 - b^t, in full precision for small a
        return 1.0 if t >= self.T else (t - self.b * c / self.a) / self.T

    def tau(self, u: float) -> int:
        """The round tau whose law is line 12 of Algorithm 2, from ``u`` uniform on [0, 1), by inversion.

        >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=4, a=0.5, eta=0.1, rho=0.1)
        >>> [c.tau(u) for u in (0.0, 0.124, 0.126, 0.54, 0.999)]
        [1, 1, 2, 4, 4]
        """
        if not 0 <= u < 1:
            raise ValueError(f"`u` must lie in [0, 1); got {u}.")
        return 1 + bisect_right(range(1, self.T), u, key=self.tau_cdf)
