"""The constants of Algorithm 1: what is known of a smooth objective, and the rates that a theorem derives from it."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

from ..checks import brief, check_horizon, check_number, check_size
from ..estimates import Probes
from ..noise import Noise, check_noise
from .rates import ONE_RUN_STEP, is_too_small, least_squares_rate, one_run_rate, sharp_rate, smallest_divisor
from .tuned import Tuned, fill


class SmoothConstants(ABC):
    r"""What is known of a $\beta$-smooth objective, and G, G0, a, c, D and $\eta=a/(c\beta)$.

    Reference: Algorithm 1, line 1.

    >>> isinstance(Smooth(gap=0.5, beta=1.0, sigma=0.0, T=10), SmoothConstants)
    True
    """

    M: float | None
    beta: float
    sigma: float
    T: int
    a: float
    c: float
    noise: Noise | None = None
    probes: Probes | None

    @property
    @abstractmethod
    def D(self) -> float:
        """A bound on the first gap, f(x_1) less the infimum of f."""

    @property
    @abstractmethod
    def G(self) -> float:
        """The scale of the losses."""

    @property
    @abstractmethod
    def G0(self) -> float | None:
        """The radius of the tracker's ball; None if it is not projected."""

    @property
    def eta(self) -> float:
        """The step size a / (c beta)."""
        return self.a / (self.c * self.beta)

    @property
    def trivial(self) -> float | None:
        """M beta, which bounds the squared gradient at every point; None if M is not known."""
        return None if self.M is None else self.M * self.beta

    @property
    def practical(self) -> str:
        """Why no theorem is about a run with these constants; empty if they are known."""
        if self.probes is None:
            return ""
        seen = self.probes
        return f"practical: the constants were estimated from {seen.samples} samples at {len(seen.distances)} points"

    def energy(self, kappa: float = 0.0) -> float:
        r"""A bound on the energy $\sum_tE(\|p_t\|\|m_t\|)^2$ of the losses, p_t their gradient in v = U m.

        $$T\,\frac{k^2}{G^2}\Bigl(\sqrt{G^2+\sigma^2}+\frac{\kappa a}cG_0\Bigr)^2,\qquad
          k=\min\Bigl\{G_0,\ G+\sigma\sqrt{\tfrac a{2-a}}\Bigr\}.$$

        The value of a loss at any contraction is at most $\|p_t\|\|m_t\|$. Without the range M nothing bounds it: inf.

        Proof: $\|p_t\|\le(\|s_t\|+\frac{\kappa a}cG_0)/G$. Given $m_t$, $E\|s_t\|^2\le G^2+\sigma^2$, since
        $\|\nabla f\|\le G$ (Lemma 4, sharper). $\|m_t\|\le G_0$ by the projection. $E\|m_t\|^2\le k^2$: let $h_1=0$,
        $h_{t+1}=(1-a)h_t+ag_t$. Then $\|h_t\|\le G$, so the projection brings $m_{t+1}$ no farther from $h_{t+1}$, and
        $E\|m_{t+1}-h_{t+1}\|^2\le(1-a)^2E\|m_t-h_t\|^2+a^2\sigma^2$, which stays below $\frac{a\sigma^2}{2-a}$.
        With the paper's constants a gradient of length G that never turns reaches 0.53 to 1.00 of it, for
        $\sigma\le8G$ and $T\ge4000$.
        """
        if self.G0 is None:
            return math.inf
        k = min(self.G0, self.G + self.sigma * math.sqrt(self.a / (2 - self.a)))
        longest = math.hypot(self.G, self.sigma) + kappa * self.a / self.c * self.G0
        return self.T * (k / self.G * longest) ** 2

    @classmethod
    def estimate(cls, probes: Probes, T: int) -> Self:
        """The constants that ``probes`` suggest, its ``M``, ``beta`` and ``sigma``, labelled practical.

        Args:
            probes: what `o2nc.probe` returned.
            T: the number of rounds.

        >>> seen = Probes(8, (0.0, 1.0), curvatures=(4.0, 2.0), variances=(0.1, 0.3), squares=(8.0, 2.0))
        >>> c = Smooth.estimate(seen, T=100)
        >>> print(c.M, c.beta, c.practical)
        4.0 4.0 practical: the constants were estimated from 8 samples at 2 points
        """
        if not isinstance(probes, Probes):
            raise TypeError(f"`probes` must be what `o2nc.probe` returns; got {brief(probes)}.")
        return cls(M=probes.M, beta=probes.beta, sigma=probes.sigma, T=T, probes=probes)  # type: ignore[call-arg]


@dataclass(frozen=True, kw_only=True, repr=False)
class Smooth(SmoothConstants):
    r"""The constants of Algorithm 1 from the sharp theorem, for noise of variance $\sigma^2$.

    $$a=\min\Bigl\{1,2\sqrt{\frac{\beta D}{\sigma^2T}}\Bigr\},\qquad c=1+a,\qquad\eta=\frac a{c\beta}.$$

    D bounds $f(x_1)-\inf f$: it is ``gap``, or ``M``, or the smaller of both. Without M the tracker is not projected
    and the losses are not scaled, $G=1$. With M, $G=G_0=\sqrt{M\beta}$, which bounds every gradient. The constants of
    the paper are `Smooth.paper`.

    Args:
        gap: the first gap f(x_1) - inf f, or a bound on it; f(x_1) if f is never negative.
        M: range of the objective, f(x) - f(y) <= M.
        beta: Lipschitz constant of the gradient.
        sigma: root of the variance of the stochastic gradient; 0 is an exact gradient.
        T: horizon, the number of rounds.
        a: tracking rate in (0, 1], instead of the tuned one.
        c: divisor of the step, at least $\frac{a+\sqrt{a^2+4}}2$, instead of 1 + a.
        noise: what is known of the tails of the noise, a kind of `o2nc.noise`; then one run has a certificate with high
            probability. The samples of `HeavyTailed` are clipped.
        probes: what M, beta and sigma were estimated from; None if they are known. No certificate is made of estimates.

    Reference: the sharp theorem, in the theory pages.

    >>> constants = Smooth(gap=0.5, beta=2.0, sigma=1.0, T=400)
    >>> print(f"{constants.a:.2f} {constants.c:.2f} {constants.eta:.4f}")
    0.10 1.10 0.0455
    """

    gap: float | None = None
    M: float | None = None
    beta: float
    sigma: float
    T: int
    a: float = None  # type: ignore[assignment]  # filled below
    c: float = None  # type: ignore[assignment]
    noise: Noise | None = None
    probes: Probes | None = None

    def __post_init__(self) -> None:
        if self.gap is None and self.M is None:
            raise ValueError(
                "`gap` or `M` must be given: a bound on f(x_1) - inf f, or on the range of f; got neither."
            )
        for name, bound in (("gap", self.gap), ("M", self.M)):
            if bound is not None:
                check_number(name, bound, positive=True)
        _check(self)
        if self.noise is not None:
            check_noise("noise", self.noise)
        fill(self, {"a": sharp_rate(self.D, self.beta, self.sigma, self.T)})
        if self.a > 1:
            raise ValueError(f"`a` must lie in (0, 1]; got {self.a}.")
        fill(self, {"c": 1 + self.a})
        if is_too_small(self.c, least := smallest_divisor(self.a)):
            raise ValueError(f"`c` must be at least {least:.6g} for a = {self.a:.6g}; got {self.c}.")
        check_number("eta of the constants", self.eta, positive=True)  # beyond the floating numbers
        check_number("G of M and beta", self.G, positive=True)

    def __repr__(self) -> str:
        """The call that makes it; estimates stay estimates when it is pasted."""
        rates = {name: rate for name in "ac" if not isinstance(rate := getattr(self, name), Tuned)}
        rates["noise"] = self.noise
        return _call("Smooth", self, {"gap": self.gap, "M": self.M}, rates)

    @classmethod
    def paper(cls, M: float, beta: float, sigma: float, T: int) -> "PaperSmooth":
        """The constants of the paper, to the letter.

        >>> Smooth.paper(M=1128.4, beta=8.0, sigma=0.8, T=20000).c
        64.0
        """
        return PaperSmooth(M, beta, sigma, T)

    @classmethod
    def least_squares(cls, *, gap: float, beta: float, sigma: float, T: int) -> "Smooth":
        r"""The constants for which online least squares has an a-priori theorem.

        $$a=\min\Bigl\{1,\sqrt{\frac{(2+\sqrt2)\beta D}{\sigma^2T}}\Bigr\},\qquad c=\frac{a+\sqrt{a^2+8}}2.$$

        >>> round(Smooth.least_squares(gap=0.5, beta=2.0, sigma=1.0, T=400).c, 4)
        1.4612
        """
        a = least_squares_rate(gap, beta, sigma, T)
        return cls(gap=gap, beta=beta, sigma=sigma, T=T, a=a, c=smallest_divisor(a, k=2.0))

    @classmethod
    def one_run(cls, *, gap: float, beta: float, noise: Noise, T: int) -> "Smooth":
        r"""The constants for which the certificate of one run is small, from what is known of the noise.

        $$a=\min\Bigl\{1,8\sqrt{\frac{\beta D}{\sigma^2T}}\Bigr\},\qquad c=8.$$

        >>> from o2nc.noise import Bounded
        >>> constants = Smooth.one_run(gap=0.5, beta=1.0, noise=Bounded(1.0), T=20_000)
        >>> constants.a, constants.eta
        (0.04, 0.005)
        """
        check_noise("noise", noise)
        a, _ = one_run_rate(gap, beta, noise.sigma, T)
        return cls(gap=gap, beta=beta, sigma=noise.sigma, T=T, a=a, c=ONE_RUN_STEP, noise=noise)

    @property
    def D(self) -> float:
        """The smaller of gap and M, of those that are given."""
        return min(bound for bound in (self.gap, self.M) if bound is not None)

    @property
    def G(self) -> float:
        """sqrt(M beta) if M is given; 1 if it is not, so that the losses are not scaled."""
        return 1.0 if self.M is None else math.sqrt(self.M * self.beta)

    @property
    def G0(self) -> float | None:
        """sqrt(M beta), a bound on the gradient; None without M: the tracker is not projected."""
        return None if self.M is None else self.G


class PaperValues(NamedTuple):
    """The four numbers of line 1 of Algorithm 1."""

    G: float
    G0: float
    a: float
    eta: float


@dataclass(frozen=True, repr=False)
class PaperSmooth(SmoothConstants):
    r"""The constants of Algorithm 1 as the paper has them; `Smooth.paper` makes them.

    $$G=\sqrt{M\beta},\quad G_0=\sqrt{2M\beta},\quad a=\frac{G}{\max\{G,\sigma\sqrt T\}},\quad \eta=\frac a{64\beta}.$$

    Args:
        M: range of the objective, f(x) - f(y) <= M.
        beta: Lipschitz constant of the gradient.
        sigma: root of the variance of the stochastic gradient; 0 is an exact gradient.
        T: horizon, the number of rounds.
        probes: what M, beta and sigma were estimated from; None if they are known. No certificate is made of estimates.

    Reference: Algorithm 1, line 1.

    >>> c = Smooth.paper(M=1128.4, beta=8.0, sigma=0.8, T=20000)
    >>> print(f"{c.a:.6f} {c.eta:.5e}")
    0.839792 1.64022e-03
    """

    M: float
    beta: float
    sigma: float
    T: int
    probes: Probes | None = None

    c = 64.0

    def __post_init__(self) -> None:
        check_number("M", self.M, positive=True)
        _check(self)
        for name, value in self.values._asdict().items():
            check_number(f"{name} of M, beta, sigma and T", value, positive=True)  # beyond the floating numbers

    def __repr__(self) -> str:
        """The call that makes it; estimates stay estimates when it is pasted."""
        return _call("Smooth.paper" if self.probes is None else "PaperSmooth", self, {"M": self.M}, {})

    @cached_property
    def values(self) -> PaperValues:
        """``(G, G0, a, eta)``."""
        G = math.sqrt(self.M * self.beta)
        a = G / max(G, self.sigma * math.sqrt(self.T))
        return PaperValues(G, math.sqrt(2) * G, a, a / (64 * self.beta))

    @property
    def D(self) -> float:
        """The range M, which bounds the first gap."""
        return self.M

    @property
    def G(self) -> float:
        """The first-order scale sqrt(M beta)."""
        return self.values.G

    @property
    def G0(self) -> float:
        """The radius sqrt(2 M beta) of the tracker's ball, a bound on the gradient."""
        return self.values.G0

    @property
    def a(self) -> float:  # type: ignore[override]
        """The tracking rate G / max(G, sigma sqrt(T))."""
        return self.values.a

    @property
    def eta(self) -> float:
        """The step size a / (64 beta)."""
        return self.values.eta


def _check(constants: SmoothConstants) -> None:
    check_number("beta", constants.beta, positive=True)
    check_number("sigma", constants.sigma)
    check_horizon(constants.T)
    for name in ("gap", "M", "beta", "sigma", "c"):
        if (value := getattr(constants, name, None)) is not None:
            check_size(name, value)
    if constants.probes is not None and not isinstance(constants.probes, Probes):
        raise TypeError(f"`probes` must be what `o2nc.probe` returns, or None; got {brief(constants.probes)}.")


def _call(
    name: str, constants: SmoothConstants, bounds: dict[str, float | None], rates: dict[str, float | None]
) -> str:
    """The call that makes these constants, without what is None."""
    known = {"beta": constants.beta, "sigma": constants.sigma, "T": constants.T}
    given = {**bounds, **known, **rates, "probes": constants.probes}
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items() if value is not None)})"
