"""Regret bounds of Hedge (Algorithm 3), in terms of what was lost: energy is the sum of the squared largest losses."""

import math

from .arguments import check_size, check_sizes


def hedge_constant(kl: float, gamma: float, energy: float) -> float:
    r"""The regret of Hedge with a constant rate against a fixed mixture u.

    $$\mathrm{Reg}_T(u)\le\frac{\mathrm{KL}(u\|\pi)}\gamma+\frac\gamma2\sum_{t=1}^T\|\ell_t\|_\infty^2.$$

    Args:
        kl: KL(u || pi); log(1 / pi_j) if u is expert j.
        gamma: the rate.
        energy: the sum of the squared maximum norms of the loss vectors.

    Reference: Lemma 3 (Hedge).

    >>> hedge_constant(kl=1.0, gamma=0.5, energy=8.0)
    4.0
    """
    check_sizes(kl=kl, energy=energy)
    check_size("gamma", gamma, positive=True)
    return kl / gamma + gamma * energy / 2


def hedge_tuned(K: int, energy: float) -> float:
    r"""The regret of Hedge against the best of K experts: uniform prior, rate tuned to the energy.

    $$\mathrm{Reg}_T\le\sqrt{2\log K\sum_{t=1}^T\|\ell_t\|_\infty^2},\qquad
      \gamma=\sqrt{2\log K\Big/\sum_{t=1}^T\|\ell_t\|_\infty^2}.$$

    Reference: Lemma 3 (Hedge), second display.

    >>> round(hedge_tuned(K=2, energy=100.0), 4)
    11.7741
    """
    if isinstance(K, bool) or not isinstance(K, int):
        raise TypeError(f"`K` must be a whole number; got {K!r}.")
    if K < 1:
        raise ValueError(f"`K` must be at least 1; got {K}.")
    check_size("energy", energy)
    return math.sqrt(2 * math.log(K) * energy)


def hedge_self_tuned(
    log_prior: float, energy: float, peak: float | None = None, gamma0: float = 1.0, kl: float | None = None
) -> float:
    r"""The regret of Hedge with the self-tuned rate $\gamma_t=\gamma_0\sqrt{2l/(1+E_{t-1})}$, $l=\log(1/\pi_{\min})$.

    $$\mathrm{Reg}_T(u)\le\frac{\mathrm{KL}(u\|\pi)}{\gamma_0\sqrt{2l}}\sqrt{1+E_T}
      +\min\Bigl\{A\bigl(\sqrt{1+E_T}-1\bigr),\
      g\Bigl[2\bigl(\sqrt{1+E_T}-1\bigr)+\Lambda^2\Bigl(1-\frac1{\sqrt{1+E_T}}\Bigr)\Bigr]\Bigr\},$$

    $g=\gamma_0\sqrt{l/2}$ and $A=g+\sqrt{g^2+4}$. The first needs no $\Lambda$, the second is smaller when
    $\Lambda$ is small.

    Proof, with $x_t=\|\ell_t\|_\infty^2$, $E_t=x_1+\dots+x_t$ and $\Lambda=\max_t\|\ell_t\|_\infty$. Let
    $\Phi_t(\gamma)=\min_w\{\langle C_t,w\rangle+\mathrm{KL}(w\|\pi)/\gamma\}
    =-\frac1\gamma\log\sum_j\pi_je^{-\gamma C_{t,j}}$.

    1. Let $\delta_t=\langle\ell_t,w_t\rangle+\frac1{\gamma_t}\log\sum_jw_{t,j}e^{-\gamma_t\ell_{t,j}}
       =\langle\ell_t,w_t\rangle-\Phi_t(\gamma_t)+\Phi_{t-1}(\gamma_t)$. By Hoeffding's lemma on a range of at most
       $2\sqrt{x_t}$, $\delta_t\le\frac{\gamma_t}2x_t=gx_t/\sqrt{1+E_{t-1}}$. And $\delta_t$ is at most that range.
    2. $\Phi_t$ does not increase with $\gamma$ and the rates do not increase, so
       $\Phi_t(\gamma_t)\le\Phi_t(\gamma_{t+1})$ and the sum telescopes to
       $\Phi_T(\gamma_T)\le\langle C_T,u\rangle+\mathrm{KL}(u\|\pi)/\gamma_T$; and $E_{T-1}\le E_T$.
    3. *Without $\Lambda$.* Let $y^2=x_t/(1+E_{t-1})$. Then
       $\sqrt{1+E_t}-\sqrt{1+E_{t-1}}=\sqrt{1+E_{t-1}}\,y^2/(1+\sqrt{1+y^2})$, so by 1 the quotient of $\delta_t$ and
       this is at most $\min\{g,\frac2y\}(1+\sqrt{1+y^2})$. With g it grows with y, with $\frac2y$ it falls; they meet
       at $y=\frac2g$, where both are A. So $\sum_t\delta_t\le A(\sqrt{1+E_T}-1)$.
    4. *With $\Lambda$.* $\sum_t\delta_t\le g\sum_tx_t/\sqrt{1+E_{t-1}}$, and
       $\sum_t\frac{x_t}{\sqrt{1+E_{t-1}}}=\sum_t\frac{x_t}{\sqrt{1+E_t}}
       +\sum_tx_t\Bigl(\frac1{\sqrt{1+E_{t-1}}}-\frac1{\sqrt{1+E_t}}\Bigr)$. The first sum is at most
       $\int_0^{E_T}(1+e)^{-1/2}de$, the second telescopes once $x_t\le\Lambda^2$ is taken out.

    The bound without $\Lambda$ is attained within a factor of 1.6 for $\gamma_0=1$ and 2, 4, 16 and 64 experts: small
    losses lock the weights on one expert, a loss that dwarfs them all hits it, and small ones drive to another.

    For large energy and small $\Lambda$ the bound is $(\gamma_0^{-1}+2\gamma_0)\sqrt{lE_T/2}$, at $\gamma_0=1/\sqrt2$
    it is $\sqrt2$ times the bound of the rate tuned in hindsight.

    Args:
        log_prior: l = log(1 / pi_min); log K for a uniform prior. 0 means one expert, whose regret is 0.
        energy: E_T, the sum of the squared maximum norms of the loss vectors.
        peak: the largest of those norms, or a bound on it; None if there is none.
        gamma0: factor of the rate.
        kl: KL(u || pi), at most ``log_prior``, which is the default.

    Reference: Lemma 3 (Hedge), last display; the paper states the rate, the constant is derived here.

    >>> round(hedge_self_tuned(log_prior=0.5, energy=99.0, peak=1.0), 4)
    14.45
    >>> round(hedge_self_tuned(log_prior=0.5, energy=99.0), 4)
    28.054
    """
    kl = log_prior if kl is None else kl
    check_sizes(log_prior=log_prior, energy=energy, kl=kl, **({} if peak is None else {"peak": peak}))
    check_size("gamma0", gamma0, positive=True)
    if log_prior == 0:
        return 0.0
    root, g = math.sqrt(1 + energy), gamma0 * math.sqrt(log_prior / 2)
    gaps = (g + math.sqrt(g**2 + 4)) * (root - 1)
    if peak is not None:
        gaps = min(gaps, g * (2 * (root - 1) + peak**2 * (1 - 1 / root)))
    return kl * root / (gamma0 * math.sqrt(2 * log_prior)) + gaps
