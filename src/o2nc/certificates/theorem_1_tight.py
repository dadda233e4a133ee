"""Certificates for Algorithm 1 that are tight: an identity for the gradients and the best tracking error."""

from collections.abc import Callable, Iterable, Sequence

from ..checks import check_horizon
from ..constants import SmoothConstants
from .arguments import check_known, replicated, same_length
from .certificate import Certificate
from .lemmas.tracking import segment_tracker_error, tracker_error_parts
from .replications import estimated


def tight(
    constants: SmoothConstants,
    Q: Iterable[float],
    N: Iterable[float],
    W: Iterable[float],
    first: float | None = None,
    V_T: float | None = None,
    confidence: float = 0.95,
    *,
    rounds: int | None = None,
    measured: float | None = None,
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
    an interval for 95% covers about 97.5%.

    Args:
        constants: those of the run; the step and the tracking rate must be the ones they prescribe.
        Q: for every replication the sum over the rounds of <s_t, m_t>.
        N: for every replication the sum of ||m_t||^2.
        W: for every replication the sum of ||U_t m_t||^2.
        first: E||g_1||^2; its bound 2 beta D unless given.
        V_T: the sum of the variances of the samples; sigma^2 times the rounds unless given.
        confidence: of the interval.
        rounds: how many rounds were summed; T unless given.
        measured: the average squared gradient, where it is known.

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
    """
    name = "Theorem 1, tight: average squared gradient"
    T, *bounds = known(constants, rounds, first, V_T)
    return _from_alignment(name, constants, tracker_error_parts, bounds, (Q, N, W), confidence, measured, T)


def tight_regret(
    constants: SmoothConstants,
    regret: Iterable[float],
    N: Iterable[float],
    W: Iterable[float],
    decrease: Iterable[float] | None = None,
    first: float | None = None,
    V_T: float | None = None,
    confidence: float = 0.95,
    *,
    rounds: int | None = None,
    measured: float | None = None,
) -> Certificate:
    r"""The tight certificate with the correlation Q bounded by the regret and the decrease of the objective.

    $$Q\le\frac{\mathbb E[f(x_1)-f(x_{T+1})]}\eta+G\,R+\frac a{2c}W,\qquad S\le 2Q-N+E_{tr}.$$

    Proof: $f(x_{t+1})-f(x_t)\le-\eta\langle g_t,U_tm_t\rangle+\frac{\beta\eta^2}2\|U_tm_t\|^2$ bounds
    $\sum_t\mathbb E\langle s_t,U_tm_t\rangle$, and
    $\langle s_t,m_t\rangle-\langle s_t,U_tm_t\rangle=G\,(L_t(U_t)-L_t(I))$.

    Args:
        constants: those of the run.
        regret: for every replication the linear regret against the identity.
        N: for every replication the sum of ||m_t||^2.
        W: for every replication the sum of ||U_t m_t||^2.
        decrease: for every replication f(x_1) - f(x_{T+1}); its bound D unless given.
        first: E||g_1||^2; its bound 2 beta D unless given.
        V_T: the sum of the variances of the samples; sigma^2 times the rounds unless given.
        confidence: of the interval.
        rounds: how many rounds were summed; T unless given.
        measured: the average squared gradient, where it is known.

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
    T, first, V_T = known(constants, rounds, first, V_T)
    regret = replicated("regret", regret)
    decrease = [constants.D] * len(regret) if decrease is None else decrease
    regret, N, W, decrease = same_length(regret=regret, N=N, W=W, decrease=decrease)
    a, c = constants.a, constants.c
    linear = {
        "decrease": [2 * d / constants.eta for d in decrease],
        "regret": [2 * constants.G * R for R in regret],
        "tracker": [-n for n in N],
    }
    name = "Theorem 1, tight with regret: average squared gradient"
    rest: Callable[[float], dict[str, float]] = lambda w: (
        {"curvature": a * w / c} | tracker_error_parts(a, first, w, V_T, c)
    )
    return estimated(name, linear, [W], rest, confidence, measured, T)


def tight_segment(
    constants: SmoothConstants,
    Q: Iterable[float],
    N: Iterable[float],
    W: Iterable[float],
    first: float | None = None,
    V_T: float | None = None,
    confidence: float = 0.95,
    *,
    r: float | None = 1.0,
    rounds: int | None = None,
    measured: float | None = None,
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
    T, *bounds = known(constants, rounds, first, V_T)

    def error(a: float, first: float, w: float, V_T: float, c: float) -> dict[str, float]:
        return {"tracking error": segment_tracker_error(r, a, first, w, V_T, c)}

    return _from_alignment(name, constants, error, bounds, (Q, N, W), confidence, measured, T)


def known(
    constants: SmoothConstants, rounds: int | None, first: float | None, V_T: float | None
) -> tuple[int, float, float]:
    """The number of rounds, and the a-priori bounds of what was not measured."""
    check_known(constants)
    T = constants.T if rounds is None else rounds
    check_horizon(T)
    return (
        T,
        2 * constants.beta * constants.D if first is None else first,
        constants.sigma**2 * T if V_T is None else V_T,
    )


def _from_alignment(
    name: str,
    constants: SmoothConstants,
    error: Callable[[float, float, float, float, float], dict[str, float]],
    bounds: Sequence[float],
    sums: tuple[Iterable[float], Iterable[float], Iterable[float]],
    confidence: float,
    measured: float | None,
    T: int,
) -> Certificate:
    """S = 2 Q - N + E_tr from the sums (Q, N, W), with ``error`` of a, E||g_1||^2, W, V_T and c for E_tr."""
    Q, N, W = same_length(**dict(zip("QNW", sums, strict=True)))
    linear = {"alignment": [2 * q for q in Q], "tracker": [-n for n in N]}
    (first, V_T), a, c = bounds, constants.a, constants.c
    return estimated(name, linear, [W], lambda w: error(a, first, w, V_T, c), confidence, measured, T)
