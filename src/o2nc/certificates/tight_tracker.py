"""The tracking error of Algorithm 1 with the constants that the proof could have kept."""

import math

from .arguments import check_rate, check_size


def tracker_error_at(l: float, a: float, first: float, W: float, V_T: float) -> float:
    r"""The bound on the tracking error for one weight l of Young's inequality.

    $$E_{tr}\le\frac{\mathbb E\|g_1\|^2+(1+\frac1l)\frac{a^2}{4096}W+a^2V_T}{1-(1+l)(1-a)^2},\qquad
      W=\sum_t\mathbb E\|U_tm_t\|^2.$$

    Proof. Let $e_t=m_t-g_t$, $\Delta_t=g_{t+1}-g_t$, $\xi_t=s_t-g_t$. Before projection the tracker differs from
    $g_{t+1}$ by $(1-a)e_t-\Delta_t+a\xi_t$. As $g_{t+1}$ lies in the ball, the projection only shortens that (Lemma 2),
    active or not. $x_{t+1}$ is known before $s_t$ is drawn, so the noise is orthogonal to the rest:
    $\mathbb E\|e_{t+1}\|^2\le\mathbb E\|(1-a)e_t-\Delta_t\|^2+a^2\mathbb E\|\xi_t\|^2$. By Young's inequality and
    $\|\Delta_t\|\le\beta\eta\|U_tm_t\|=\frac a{64}\|U_tm_t\|$ the first term on the right is at most
    $(1+l)(1-a)^2\mathbb E\|e_t\|^2+(1+\frac1l)\frac{a^2}{4096}\mathbb E\|U_tm_t\|^2$. Sum over t = 1 .. T-1, add
    $\mathbb E\|e_1\|^2=\mathbb E\|g_1\|^2$ (for $m_1=0$) and solve for $E_{tr}$, the sum over 1 .. T.
    The last round of W and of $V_T$ is not needed; counting it does no harm.

    Args:
        l: any positive number for which the denominator is positive.
        a: tracking rate.
        first: the expected squared norm of the first gradient.
        W: the sum of the expected squared norms of U_t m_t.
        V_T: the sum of the variances of the samples.

    Reference: Lemma 6 (tracker error), whose proof has l = a/2 and rounds up.

    >>> tracker_error_at(l=1.0, a=0.5, first=1.0, W=0.0, V_T=4.0)
    4.0
    """
    check_size("l", l, positive=True)
    _check(a, first, W, V_T)
    rest = 1 - (1 + l) * (1 - a) ** 2
    if rest <= 0:
        raise ValueError(f"`l` must be less than 1/(1 - a)^2 - 1 for a = {a}; got {l}.")
    return (first + (1 + 1 / l) * a**2 * W / 4096 + a**2 * V_T) / rest


def tracker_error_best(a: float, first: float, W: float, V_T: float) -> float:
    r"""The smallest of these bounds over all weights l, in closed form.

    $$E_{tr}\le\frac{(\sqrt{A+B}+\sqrt B)^2}{a(2-a)},\qquad A=\mathbb E\|g_1\|^2+\frac{a^2W}{4096}+a^2V_T,\quad
      B=\frac{(1-a)^2}{a(2-a)}\frac{a^2W}{4096}.$$

    Proof. Write $l=\theta\,a(2-a)/(1-a)^2$ with $0<\theta<1$: the bound is $(A+B/\theta)/((1-\theta)\,a(2-a))$, and
    $\frac{A+B/\theta}{1-\theta}=\frac{A+B}{1-\theta}+\frac B\theta$ is smallest where
    $\theta:(1-\theta)=\sqrt B:\sqrt{A+B}$. It grows with W and is concave in it.

    Reference: Lemma 6 (tracker error), sharpened.

    >>> tracker_error_best(a=0.5, first=1.0, W=0.0, V_T=4.0) <= tracker_error_at(0.01, 0.5, 1.0, 0.0, 4.0)
    True
    """
    return sum(tracker_error_parts(a, first, W, V_T).values())


def tracker_error_parts(a: float, first: float, W: float, V_T: float) -> dict[str, float]:
    r"""``tracker_error_best`` by cause: the start, the drift of the gradient and the noise.

    Reference: Lemma 6 (tracker error), sharpened.

    >>> tracker_error_parts(a=1.0, first=1.0, W=4096.0, V_T=4.0)
    {'start': 1.0, 'drift': 1.0, 'noise': 4.0}
    """
    _check(a, first, W, V_T)
    contraction = a * (2 - a)
    drift = a**2 * W / 4096
    B = (1 - a) ** 2 / contraction * drift
    root, other = math.sqrt(B), math.sqrt(first + drift + a**2 * V_T + B)
    growth = (1 + root / other if other else 1.0) / contraction  # 1 / ((1 - theta) a (2 - a))
    return {
        "start": growth * first,
        "drift": growth * (drift + root * (root + other)),
        "noise": growth * a**2 * V_T,
    }


def _check(a: float, first: float, W: float, V_T: float) -> None:
    check_rate(a)
    check_size("first", first)
    check_size("W", W)
    check_size("V_T", V_T)
