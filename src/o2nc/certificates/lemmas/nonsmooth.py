"""The lemmas behind Theorem 2, each as a function that returns its right side."""

import math

from ...checks import check_horizon
from ...constants.rates import check_rate
from ..arguments import check_finite, check_size, check_sizes


def segment_identity(M: float, eta: float) -> float:
    r"""The lower bound on the summed loss of the operators that were played.

    $$\eta\,\mathbb E[L_t(U_t)]=\mathbb E[f(x_{t+1})-f(x_t)],\qquad\sum_{t=1}^T\mathbb E[L_t(U_t)]\ge-\frac M\eta.$$

    The first is an identity: with the realised decrease $\mathbb E[f(x_1)-f(x_{T+1})]$ for M the second is one, too.

    Reference: Lemma 9 (exact progress from a random segment query).

    >>> segment_identity(M=2.0, eta=0.5)
    -4.0
    """
    check_finite("M", M)
    check_size("eta", eta, positive=True)
    return -M / eta


def identity_correlation(M: float, eta: float, regret: float) -> float:
    r"""The bound on the summed correlation of samples and predictable directions.

    $$\sum_{t=1}^T\mathbb E\langle s_t,z_t\rangle\le\frac M\eta+R.$$

    Reference: Lemma 10 (identity-comparator correlation).

    >>> identity_correlation(M=2.0, eta=0.5, regret=1.0)
    5.0
    """
    check_finite("regret", regret)
    return -segment_identity(M, eta) + regret


def tracker_norm(M: float, eta: float, regret: float, rho: float, a: float, L: float, sigma: float, T: int) -> float:
    r"""The bound on the average norm of the tracker of Algorithm 2.

    $$\frac1T\sum_{t=2}^T\mathbb E\|m_t\|\le\frac{2M}{\eta T}+\frac{2R}T+\rho+\frac{a(L^2+\sigma^2)}\rho.$$

    Reference: Lemma 11 (static regret controls the predictable tracker).

    >>> tracker_norm(M=2.0, eta=0.5, regret=1.0, rho=1.0, a=0.5, L=1.0, sigma=1.0, T=10)
    3.0
    """
    check_horizon(T)
    check_rate(a)
    check_size("rho", rho, positive=True)
    check_sizes(L=L, sigma=sigma)
    return 2 * identity_correlation(M, eta, regret) / T + rho + a * (L**2 + sigma**2) / rho


def tracker_noise(a: float, sigma: float) -> float:
    r"""The bound on the squared distance of the tracker to one that is fed with true gradients.

    $$\mathbb E\|m_t-h_t\|^2\le\frac{a\sigma^2}{2-a},\qquad h_1=0,\quad h_{t+1}=(1-a)h_t+a\nabla f(y_t).$$

    Reference: Lemma 12 (tracker noise).

    >>> tracker_noise(a=0.5, sigma=3.0)
    3.0
    """
    check_rate(a)
    check_size("sigma", sigma)
    return a * sigma**2 / (2 - a)


def tracker_noise_root(a: float, sigma: float) -> float:
    r"""The bound on the distance of the tracker to one that is fed with true gradients.

    $$\mathbb E\|m_t-h_t\|\le\sigma\sqrt{\frac a{2-a}}.$$

    Reference: Lemma 12 (tracker noise), second display.

    >>> round(tracker_noise_root(a=0.5, sigma=3.0), 4)
    1.7321
    """
    return math.sqrt(tracker_noise(a, sigma))


def output_weight(a: float, t: int, s: int) -> float:
    r"""The weight of the query point of round s in the output of round t.

    $$q_{t,s}=\frac{a\,b^{t-s}}{1-b^t},\qquad b=1-a,\quad 1\le s\le t.$$

    Reference: Appendix C, before Lemma 13 (output gradient).

    >>> [round(output_weight(a=0.5, t=3, s=s), 4) for s in (1, 2, 3)]
    [0.1429, 0.2857, 0.5714]
    """
    check_rate(a)
    if not 1 <= s <= t:
        raise ValueError(f"`s` must lie in 1..t with t = {t}; got {s}.")
    b = 1 - a
    return a * b ** (t - s) / (1 - b**t)


def law_of_tau(a: float, t: int, T: int) -> float:
    r"""The probability that the output is that of round t.

    $$\Pr(\tau=t)=\frac{c_t}T\ (t<T),\qquad\Pr(\tau=T)=\frac{c_T}{aT},\qquad c_t=1-(1-a)^t.$$

    Reference: Algorithm 2, line 12.

    >>> [law_of_tau(a=0.5, t=t, T=4) for t in (1, 2, 3, 4)]
    [0.125, 0.1875, 0.21875, 0.46875]
    """
    check_rate(a)
    check_horizon(T)
    if not 1 <= t <= T:
        raise ValueError(f"`t` must lie in 1..T with T = {T}; got {t}.")
    c = 1 - (1 - a) ** t
    return c / T if t < T else c / (a * T)


def output_gradient(mean_tracker_norm: float, a: float, sigma: float, L: float, T: int) -> float:
    r"""The bound on the mean gradient of the output's witness distribution.

    $$\mathbb E\Bigl\|\sum_{s=1}^\tau q_{\tau,s}\nabla f(y_s)\Bigr\|
      \le\frac1T\sum_{t=2}^T\mathbb E\|m_t\|+\sigma\sqrt{\frac a{2-a}}+\frac L{aT}.$$

    Args:
        mean_tracker_norm: the first term on the right, divided by T although it has T - 1 summands.
        a: tracking rate.
        sigma: root of the variance of a sample.
        L: bound on the norm of the gradient.
        T: horizon.

    Reference: Lemma 13 (weighted output-gradient bound).

    >>> output_gradient(mean_tracker_norm=0.5, a=0.5, sigma=0.0, L=1.0, T=8)
    0.75
    """
    check_sizes(mean_tracker_norm=mean_tracker_norm, L=L)
    check_horizon(T)
    return mean_tracker_norm + tracker_noise_root(a, sigma) + L / (a * T)


def localization(a: float, eta: float) -> float:
    r"""The bound on the spread of the output's witness distribution.

    $$\mathbb E\sum_{s=1}^\tau q_{\tau,s}\|y_s-\bar y_\tau\|^2\le\Bigl(2+\frac{4(1-a)}{a^2}\Bigr)\eta^2.$$

    Reference: Lemma 14 (localization of the single-run output).

    >>> localization(a=0.5, eta=0.5)
    2.5
    """
    check_rate(a)
    check_size("eta", eta)
    return (2 + 4 * (1 - a) / a**2) * eta**2


def witness(mean_tracker_norm: float, a: float, sigma: float, L: float, T: int, lam: float, eta: float) -> float:
    r"""The bound on the local stationarity of the output, before the tracker's norm is bounded by the regret.

    $$\mathbb E\|\nabla f(\bar y_\tau)\|^{[\lambda]}\le\frac1T\sum_{t=2}^T\mathbb E\|m_t\|+\sigma\sqrt{\frac a{2-a}}
      +\frac L{aT}+\Bigl(2+\frac{4(1-a)}{a^2}\Bigr)\lambda\eta^2.$$

    The arguments are those of ``output_gradient``, the weight ``lam`` of the spread and the longest step ``eta``.

    Reference: Lemma 15 (from the weighted output to local stationarity).

    >>> witness(mean_tracker_norm=0.5, a=0.5, sigma=0.0, L=1.0, T=8, lam=2.0, eta=0.5)
    5.75
    """
    check_size("lam", lam)
    return output_gradient(mean_tracker_norm, a, sigma, L, T) + lam * localization(a, eta)
