"""A certificate for one run, with high probability, from the sums that the run observed."""

import math
from typing import Unpack

from ..checks import check_horizon
from ..noise import Noise
from .arguments import check_finite, check_rate, check_size, check_sizes
from .certificate import Certificate, Details


def one_run(
    *,
    a: float,
    eta: float,
    beta: float,
    first: float,
    Q: float,
    N: float,
    W: float,
    T: int,
    noise: Noise,
    delta: float = 0.01,
    horizon: int | None = None,
    **details: Unpack[Details],
) -> Certificate:
    r"""The bound on the average squared gradient of this run, with probability $1-\delta$.

    With $X=\sqrt\gamma\,(\beta\eta\sqrt W+ab\sqrt T)$, $A=(1-a)\sqrt\gamma<1$ and the deviation, the growth
    $\gamma$, the noise Y and the bias b that the noise has at $\frac\delta2$,

    $$\sum_{t=1}^T\|\nabla f(x_t)\|^2\le2Q-N+2\,\text{deviation}+2b\sqrt{TN}
      +\Bigl(\frac{AX+\sqrt{X^2+(1-A^2)(\|e_1\|^2+Y)}}{1-A^2}\Bigr)^2 .$$

    It needs no regret, no contraction and no second run. It holds for all T at once if ``horizon`` is fixed beforehand.

    Args:
        a: tracking rate, in (0, 1].
        eta: the step, x_{t+1} = x_t - eta U_t m_t; any U_t that is chosen before the sample.
        beta: smoothness constant.
        first: the squared norm of m_1 minus the first gradient, or a bound on it; 2 beta D is one for m_1 = 0.
        Q: the sum of the products of s_t and m_t.
        N: the sum of the squares of m_t.
        W: the sum of the squares of U_t m_t.
        T: number of rounds.
        noise: `SubGaussian`, `Bounded` or `HeavyTailed` of `o2nc.noise`; of the latter the samples are the clipped ones.
        delta: the probability with which the bound may fail.
        horizon: the number of rounds for which the free factors of the inequalities are tuned; T by default. Who
            chooses T by looking at the run must give it.
        details: ``measured`` and ``note`` of the certificate.

    Reference: a certificate for one run, in the theory pages.

    >>> from o2nc.noise import SubGaussian
    >>> print(one_run(a=0.1, eta=0.0125, beta=1.0, first=1.0, Q=100.0, N=150.0, W=150.0, T=10_000,
    ...               noise=SubGaussian(p=0.1, d=16)))
    One run: average squared gradient (high-probability)
      alignment  0.005
      deviation  0.000876414
      tracking   0.0108095
      bound      0.0166859
      fails with probability 0.01 at most
    """
    check_rate(a)
    check_horizon(T)
    horizon = T if horizon is None else horizon
    check_horizon(horizon, "horizon")
    check_finite("Q", Q)
    check_sizes(first=first, N=N, W=W)
    check_size("eta", eta, positive=True)
    check_size("beta", beta, positive=True)
    if not 0 < delta < 1:
        raise ValueError(f"`delta` must lie strictly between 0 and 1; got {delta}.")
    guess = first / (2 * beta * eta) + a * noise.sigma**2 * horizon / 2
    growth, added = noise.tracking(a, T, horizon, delta / 2)
    sums = {
        "alignment": 2 * Q - N,
        "deviation": 2 * noise.deviation(N, guess, delta / 2),
        "tracking": tracking_root(a, growth, beta * eta * math.sqrt(W) + a * noise.bias * math.sqrt(T), first + added),
    }
    if noise.bias:
        sums["bias"] = 2 * noise.bias * math.sqrt(T * N)
    note = details.get("note") or f"fails with probability {delta:g} at most"
    found: Details = {**details, "label": "high-probability", "note": note}
    return Certificate(
        "One run: average squared gradient", terms={term: value / T for term, value in sums.items()}, **found
    )


def tracking_root(a: float, growth: float, drift: float, rest: float) -> float:
    r"""The largest E with $E\le\gamma\bigl((1-a)\sqrt E+w\bigr)^2+Y$, where $\gamma(1-a)^2<1$.

    With $A=(1-a)\sqrt\gamma$ and $X=\sqrt\gamma\,w$ it is $\Bigl(\frac{AX+\sqrt{X^2+(1-A^2)Y}}{1-A^2}\Bigr)^2$.

    Args:
        a: tracking rate, in (0, 1].
        growth: $\gamma\ge1$.
        drift: w, how far the gradients and the bias move the error in all rounds.
        rest: Y, the first error and what the noise adds.

    Reference: a certificate for one run, step 4, in the theory pages.

    >>> tracking_root(a=0.5, growth=1.0, drift=0.0, rest=3.0)
    4.0
    """
    A, X = (1 - a) * math.sqrt(growth), math.sqrt(growth) * drift
    if not A < 1:
        raise ValueError(f"`growth` must be less than 1 / (1 - a)^2; got {growth} for a = {a}.")
    left = 1 - A * A
    return ((A * X + math.sqrt(X * X + left * rest)) / left) ** 2
