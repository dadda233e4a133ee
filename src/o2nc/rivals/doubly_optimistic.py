"""The doubly optimistic conversion: two samples a round, the first of which is a hint."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from ..checks import check_horizon, check_number
from ..conversions.average import Average, no_average
from ..conversions.base import check_given, registry
from ..vectors import Vector, check_like, check_vector, leaf, project_ball, where, zeros_like
from .epochs import EpochConversion


class DoublyOptimisticState(NamedTuple):
    """What is remembered between one sample and the next."""

    delta: Vector  # Delta_{n-1} before the hint of round n, Delta_n after it
    h: Vector  # the newest hint
    e: Vector  # g_{n-1} - h_{n-1}, how much the last hint was wrong
    average: Average  # of the w of the epoch so far, and that of round tau; its t counts samples


@dataclass(frozen=True)
class DoublyOptimisticConversion(EpochConversion):
    r"""Optimistic gradient steps on the displacements; the hint is a gradient at an extrapolated point.

    $$z_n=x_{n-1}+\tfrac12\Delta_{n-1},\quad h_n=\nabla f(z_n),\quad
      \Delta_n=\Pi_{\|\Delta\|\le D}\bigl(\Delta_{n-1}-\eta(h_n+g_{n-1}-h_{n-1})\bigr),$$
    $$w_n=x_{n-1}+\tfrac12\Delta_n,\quad g_n=\nabla f(w_n),\quad x_n=x_{n-1}+\Delta_n,$$

    with samples for the gradients. It is optimistic twice: that $g_n-h_n$ is near $g_{n-1}-h_{n-1}$, and that
    $\Delta_n$ is near $\Delta_{n-1}$, so that the hint is taken near $w_n$. At the end of an epoch of m rounds
    $\Delta$ and $g-h$ are set to 0.

    With $\nu_n$ the noise of $g_n-h_n$, f $\beta$-smooth and $\eta\le\frac1{4\beta}$, the regret of an epoch against
    every u of the ball is at most $\frac{\|u\|^2}{2\eta}+\eta\sum_n\|\nu_n\|^2$: without noise it does not grow. If
    the Hessian is $\rho$-Lipschitz too, $|f(x_n)-f(x_{n-1})-\langle\nabla f(w_n),\Delta_n\rangle|
    \le\frac\rho{24}\|\Delta_n\|^3$, and for the mean $\bar w$ of an epoch that is drawn uniformly
    $$E\|\nabla f(\bar w)\|\le\frac{M}{DN}+\frac D{2\eta m}+\frac{2\eta\sigma^2}D+\frac\sigma{\sqrt m}
      +\frac{\rho D^2}{24}(1+m^2),$$
    where N is the number of rounds in whole epochs and M bounds $f(x_0)-\inf f$. All this is derived here, from the
    description of the method; the rate is the paper's, $\varepsilon^{-7/4}+\sigma^2\varepsilon^{-7/2}$ samples for
    $\varepsilon$.

    `update` goes from $z_n$ to $w_n$ and from there to $z_{n+1}$, in turn. After T samples `output` is $\bar w$ of the
    epoch that ends in round tau.

    Args:
        D: the radius, the length of the longest step.
        eta: the rate.
        epoch: the number 2m of samples of an epoch, even.
        T: horizon, the number of samples.

    Reference: Patitucci, Jiang and Mokhtari, Improving online-to-nonconvex conversion for smooth optimization via
    double optimism (2025).

    >>> import numpy as np
    >>> conversion = DoublyOptimisticConversion(D=0.1, eta=0.25, epoch=10, T=100)
    >>> x = np.asarray([2.0])
    >>> state = conversion.init(x, tau=100)
    >>> for _ in range(100):
    ...     dx, state = conversion.update(np.sin(x), state, x)
    ...     x = x + dx
    >>> bool(abs(conversion.output(state, x)[0]) < 0.02)
    True
    """

    D: float
    eta: float
    epoch: int
    T: int

    def __post_init__(self) -> None:
        check_number("DoublyOptimisticConversion(D=...)", self.D, positive=True)
        check_number("DoublyOptimisticConversion(eta=...)", self.eta, positive=True)
        super().__post_init__()
        if self.epoch % 2:
            raise ValueError(f"`epoch` must be even, since a round takes two samples; got {self.epoch}.")

    @classmethod
    def tuned(cls, M: float, beta: float, sigma: float, rho: float, T: int) -> "DoublyOptimisticConversion":
        r"""D, eta and the epochs that make the bound above small.

        $$\eta=\min\Bigl\{\frac1{4\beta},\frac D{2\sigma\sqrt m}\Bigr\},\qquad
          D=\min\Bigl\{\sqrt{\frac{Mm}{2\beta N}},\Bigl(\frac{12M}{\rho(1+m^2)N}\Bigr)^{1/3}\Bigr\},$$

        and the m among the powers of 2 for which
        $\frac M{DN}+\frac{2\beta D}m+\frac{3\sigma}{\sqrt m}+\frac{\rho D^2}{24}(1+m^2)$ is least, with
        $N=\lfloor T/2\rfloor$.

        >>> made = DoublyOptimisticConversion.tuned(M=1.0, beta=1.0, sigma=0.0, rho=1.0, T=2000)
        >>> print(f"{made.D:.4f} {made.eta} {made.epoch}")
        0.0569 0.25 16
        """
        # With eta as above, D / (2 eta m) + 2 eta sigma^2 / D is at most 2 beta D / m + 2 sigma / sqrt(m).
        for name, value in {"M": M, "beta": beta, "rho": rho}.items():
            check_number(name, value, positive=True)
        check_number("sigma", sigma)
        check_horizon(T)
        if T < 2:
            raise ValueError(f"`T` must be at least 2, since a round takes two samples; got {T}.")
        N = T // 2

        def radius(m: int) -> float:
            return min(math.sqrt(M * m / (2 * beta * N)), (12 * M / (rho * (1 + m * m) * N)) ** (1 / 3))

        def bound(m: int) -> float:
            D = radius(m)
            return M / (D * N) + 2 * beta * D / m + 3 * sigma / math.sqrt(m) + rho * D * D / 24 * (1 + m * m)

        m = min((2**k for k in range(N.bit_length())), key=bound)
        noise = 2 * sigma * math.sqrt(m)
        eta = min(1 / (4 * beta), radius(m) / noise) if noise else 1 / (4 * beta)
        return cls(D=radius(m), eta=eta, epoch=2 * m, T=T)

    def init(self, x: Vector, *, tau: Any = None) -> DoublyOptimisticState:
        """At rest, with a hint at x; the end of the last epoch if ``tau`` is not given."""
        check_vector("x", x)
        zeros = zeros_like(x)
        return DoublyOptimisticState(delta=zeros, h=zeros, e=zeros, average=no_average(x, tau, self.last))

    def update(
        self, s: Vector, state: DoublyOptimisticState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, DoublyOptimisticState]:
        """From z_n, with ``s`` as the hint, to w_n; or from w_n, with ``s`` as g_n, to z_{n+1}."""
        check_given(self, x=x)
        check_like("s", s, state.h)
        t, zeros = state.average.t, zeros_like(s)
        hint, ends = t % 2 == 1, t % self.epoch == 0
        stepped = project_ball(state.delta - self.eta * (s + state.e), self.D)[0]
        delta = where(hint, stepped, where(ends, zeros, state.delta))
        dx = 0.5 * (delta + where(hint, -state.delta, state.delta))
        rounds = (_xp.like((t - 1) % self.epoch, leaf(s)) + 1) / 2  # of this epoch, with this one, after its g_n
        average = state.average.add(x, where(hint, 0 * rounds, 1 / rounds))
        return dx, DoublyOptimisticState(
            delta=delta,
            h=where(hint, s, state.h),
            e=where(hint, state.e, where(ends, zeros, s - state.h)),
            average=average,
        )


registry.add(
    "doubly-optimistic", lambda _: DoublyOptimisticConversion(1.0, 0.2, epoch=4, T=100), "hints at extrapolated points"
)
