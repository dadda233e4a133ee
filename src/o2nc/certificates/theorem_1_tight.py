"""Certificates for Algorithm 1 that are tight: an identity for the gradients and the best tracking error."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..checks import check_horizon
from ..constants import SmoothConstants
from .arguments import check_known, check_size, is_number, replicated, same_length
from .certificate import Certificate
from .lemmas.tracking import segment_tracker_error, tracker_error_parts
from .replications import estimated


def tight(
    constants: SmoothConstants,
    Q: Iterable[float],
    N: Iterable[float],
    W: Iterable[float],
    first: float | Iterable[float] | None = None,
    V_T: float | Iterable[float] | None = None,
    confidence: float = 0.95,
    *,
    rounds: int | None = None,
    measured: float | Iterable[float] | None = None,
) -> Certificate:
    r"""The bound on the average squared gradient from what a run can observe; no value of f is needed.

    $$S=2Q-N+E_{tr},\qquad Q=\sum_t\mathbb E\langle s_t,m_t\rangle,\quad N=\sum_t\mathbb E\|m_t\|^2,$$

    with ``tracker_error_best`` for $E_{tr}$, divided by T. Proof: with $e_t=m_t-g_t$,
    $\|g_t\|^2=2\langle g_t,m_t\rangle-\|m_t\|^2+\|e_t\|^2$ is an identity, and
    $\mathbb E\langle g_t,m_t\rangle=\mathbb E\langle s_t,m_t\rangle$ as $m_t$ is known before $s_t$ is drawn. It is
    nearly an equality when the variance of a sample is $\sigma^2$ and the projection is rarely active.

    It is an inequality between expectations: the replications are averaged first, then $E_{tr}$ is bounded. From one
    run it is a plug-in estimate and called one. The interval takes the bound as (mean of 2Q - N) + h(mean of W) with h
    increasing: Student's intervals for the two means, each at half the error probability, hold together, so every
    choice of l inside h is covered by two intervals rather than one for each l. Where W hardly matters, as is usual,
    an interval for 95% covers about 97.5%. If ``first`` or ``V_T`` are estimated too, each has an interval of its own
    and the error probability is divided by as many.

    Args:
        constants: those of the run; the step and the tracking rate must be the ones they prescribe.
        Q: for every replication the sum over the rounds of <s_t, m_t>.
        N: for every replication the sum of ||m_t||^2.
        W: for every replication the sum of ||U_t m_t||^2.
        first: E||g_1||^2, or for every replication ||g_1||^2 or ||s_1||^2, whose mean then has its part in the
            interval; its bound 2 beta D unless given.
        V_T: the sum of the variances of the samples, or for every replication the sum of the squared noise, whose mean
            then has its part in the interval; sigma^2 times the rounds unless given.
        confidence: of the interval.
        rounds: how many rounds were summed; T unless given.
        measured: the average squared gradient, where it is known, or one for each replication.

    Reference: Theorem 1, whose proof bounds the same quantities.

    >>> from o2nc import Smooth
    >>> c = Smooth.paper(M=1.0, beta=1.0, sigma=0.5, T=100)
    >>> print(tight(c, Q=[1.0, 1.2], N=[2.0, 2.1], W=[2.0, 2.1], first=0.5))
    Theorem 1, tight: average squared gradient (a-posteriori)
      alignment        0.022
      tracker          -0.0205
      start            0.0139565
      drift            0.000205504
      noise            0.0279131
      bound            0.0435751
      bound, interval  [0.00524005, 0.0818651]
      replications     2
      the interval is Student's, of independent replications: exact for normal sums, too short if large noise is rare
    """
    name = "Theorem 1, tight: average squared gradient"
    T, moments = known(constants, rounds, first, V_T)
    return _from_alignment(name, constants, tracker_error_parts, moments, (Q, N, W), confidence, measured, T)


def tight_regret(
    constants: SmoothConstants,
    regret: Iterable[float],
    N: Iterable[float],
    W: Iterable[float],
    decrease: Iterable[float] | None = None,
    first: float | Iterable[float] | None = None,
    V_T: float | Iterable[float] | None = None,
    confidence: float = 0.95,
    *,
    kappa: float = 0.0,
    rounds: int | None = None,
    measured: float | Iterable[float] | None = None,
) -> Certificate:
    r"""The tight certificate with the correlation Q bounded by the regret and the decrease of the objective.

    $$Q\le\frac{\mathbb E[f(x_1)-f(x_{T+1})]}\eta+G\,R+\frac a{2c}W,\qquad S\le 2Q-N+E_{tr}.$$

    Proof: $f(x_{t+1})-f(x_t)\le-\eta\langle g_t,U_tm_t\rangle+\frac{\beta\eta^2}2\|U_tm_t\|^2$ bounds
    $\sum_t\mathbb E\langle s_t,U_tm_t\rangle$, and
    $\langle s_t,m_t\rangle-\langle s_t,U_tm_t\rangle=G\,(L_t(U_t)-L_t(I))$ for the linear loss. R is the regret on it;
    that on the descent loss, which a run with $\kappa>0$ sums, is larger by $\frac{\kappa a}{2cG}(W-N)$.

    Args:
        constants: those of the run.
        regret: for every replication the regret against the identity on the loss that was revealed.
        N: for every replication the sum of ||m_t||^2.
        W: for every replication the sum of ||U_t m_t||^2.
        decrease: for every replication f(x_1) - f(x_{T+1}); its bound D unless given.
        first: E||g_1||^2, or for every replication ||g_1||^2 or ||s_1||^2, whose mean then has its part in the
            interval; its bound 2 beta D unless given.
        V_T: the sum of the variances of the samples, or for every replication the sum of the squared noise, whose mean
            then has its part in the interval; sigma^2 times the rounds unless given.
        confidence: of the interval.
        kappa: that of the conversion: 0 for the linear loss, c/a for the prediction loss.
        rounds: how many rounds were summed; T unless given.
        measured: the average squared gradient, where it is known, or one for each replication.

    Reference: Theorem 1 and Lemma 7 (descent lower bound).

    >>> from o2nc import Smooth
    >>> c = Smooth.paper(M=1.0, beta=1.0, sigma=0.5, T=100)
    >>> print(tight_regret(c, regret=[-0.5], N=[2.0], W=[2.0], decrease=[0.1], first=0.5))
    Theorem 1, tight with regret: average squared gradient (plug-in)
      decrease      0.64
      regret        -0.01
      tracker       -0.02
      curvature     6.25e-05
      start         0.0139557
      drift         0.000202951
      noise         0.0279114
      bound         0.652133
      replications  1
    """
    check_size("kappa", kappa)
    T, moments = known(constants, rounds, first, V_T)
    regret = replicated("regret", regret)
    decrease = [constants.D] * len(regret) if decrease is None else decrease
    regret, N, W, decrease, *seen = same_length(regret=regret, N=N, W=W, decrease=decrease, **moments.estimated)
    a, c, G = constants.a, constants.c, constants.G
    linear = {
        "decrease": [2 * d / constants.eta for d in decrease],
        "regret": [2 * G * R - kappa * a / c * (w - n) for R, w, n in zip(regret, W, N, strict=True)],
        "tracker": [-n for n in N],
    }
    name = "Theorem 1, tight with regret: average squared gradient"

    def rest(w: float, *means: float) -> dict[str, float]:
        first, V_T = moments.at(means)
        return {"curvature": a * w / c} | tracker_error_parts(a, first, w, V_T, c)

    return estimated(name, linear, [W, *seen], rest, confidence, measured, T, constants.trivial)


def tight_segment(
    constants: SmoothConstants,
    Q: Iterable[float],
    N: Iterable[float],
    W: Iterable[float],
    first: float | Iterable[float] | None = None,
    V_T: float | Iterable[float] | None = None,
    confidence: float = 0.95,
    *,
    r: float | None = 1.0,
    rounds: int | None = None,
    measured: float | Iterable[float] | None = None,
) -> Certificate:
    r"""The tight certificate for samples on the segment: $S=2Q-N+E_{tr}$ with `segment_tracker_error`, divided by T.

    The arguments are those of `tight`, and the place ``r`` of the samples.

    Reference: `tight`, whose identity holds at every point.

    >>> from o2nc import Smooth
    >>> c = Smooth.paper(M=1.0, beta=1.0, sigma=0.1, T=100)
    >>> tight_segment(c, [2.0, 2.2], [2.0, 2.1], [1.0, 1.0], first=0.1).label
    'a-posteriori'
    """
    name = "Theorem 1 on the segment, tight: average squared gradient"
    T, moments = known(constants, rounds, first, V_T)

    def error(a: float, first: float, w: float, V_T: float, c: float) -> dict[str, float]:
        return {"tracking error": segment_tracker_error(r, a, first, w, V_T, c)}

    return _from_alignment(name, constants, error, moments, (Q, N, W), confidence, measured, T)


class Moments(NamedTuple):
    """E||g_1||^2 and V_T, each a number that is known, or numbers of which it is the mean, one a replication."""

    first: Any
    V_T: Any
    most: float  # of E||g_1||^2

    @property
    def estimated(self) -> dict[str, list[float]]:
        """Those that are means."""
        return {name: each for name, each in (("first", self.first), ("V_T", self.V_T)) if isinstance(each, list)}

    def at(self, means: Iterable[float]) -> tuple[float, float]:
        """Both, with these means in the place of those that are estimated."""
        left = iter(means)
        first = min(next(left), self.most) if isinstance(self.first, list) else self.first
        return first, next(left) if isinstance(self.V_T, list) else self.V_T


def known(constants: SmoothConstants, rounds: int | None, first: Any, V_T: Any) -> tuple[int, Moments]:
    """The number of rounds, and what was measured, or else the a-priori bounds."""
    check_known(constants)
    T = constants.T if rounds is None else rounds
    check_horizon(T)
    given: dict[str, Any] = {"first": first, "V_T": V_T}
    for name, each in given.items():
        if each is not None and not is_number(each):
            given[name] = replicated(name, each)
            check_size(f"the least of {name}", min(given[name]))
    most = 2 * constants.beta * constants.D
    return T, Moments(
        most if first is None else given["first"], constants.sigma**2 * T if V_T is None else given["V_T"], most
    )


def _from_alignment(
    name: str,
    constants: SmoothConstants,
    error: Callable[[float, float, float, float, float], dict[str, float]],
    moments: Moments,
    sums: tuple[Iterable[float], Iterable[float], Iterable[float]],
    confidence: float,
    measured: float | Iterable[float] | None,
    T: int,
) -> Certificate:
    """S = 2 Q - N + E_tr from the sums (Q, N, W), with ``error`` of a, E||g_1||^2, W, V_T and c for E_tr."""
    Q, N, W, *seen = same_length(**dict(zip("QNW", sums, strict=True)), **moments.estimated)
    linear = {"alignment": [2 * q for q in Q], "tracker": [-n for n in N]}
    a, c = constants.a, constants.c

    def rest(w: float, *means: float) -> dict[str, float]:
        first, V_T = moments.at(means)
        return error(a, first, w, V_T, c)

    return estimated(name, linear, [W, *seen], rest, confidence, measured, T, constants.trivial)
