"""A certificate for one run, with high probability, from the sums that the run observed."""

import math
from collections.abc import Callable
from typing import NamedTuple, Unpack

from ..checks import check_horizon
from ..constants.rates import check_rate
from ..noise import Guess, Noise, Tracking, check_delta, check_noise
from .arguments import check_finite, check_size, check_sizes
from .certificate import Certificate, Details


class OneRunFactors(NamedTuple):
    r"""The factors of a certificate for one run, all known before it.

    Reference: a certificate for one run, steps 4 and 5, in the theory pages.

    >>> OneRunFactors(kappa=2.0, nu=0.5, growth=1.25, noise=3.0).rho(a=0.5)
    0.375
    """

    kappa: float  # of the noise and of the first error
    nu: float  # of m_t in y_t = h_t - nu m_t
    growth: float  # gamma, of the sum of |y_t|^2
    noise: float  # Y_T

    def rho(self, a: float) -> float:
        r"""$\kappa(1-\gamma(1-a)^2)-1$, which must be positive, or 0 where nothing drifts or a = 1."""
        return self.kappa * (1 - self.growth * (1 - a) ** 2) - 1


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

    With the factors $\kappa,\nu,\gamma,Y_T$ of ``one_run_factors``, $\rho=\kappa(1-\gamma(1-a)^2)-1$, the bias b of the
    samples and $w=\beta\eta\sqrt W+ab\sqrt T$,

    $$\sum_{t=1}^T\|\nabla f(x_t)\|^2\le2Q-N+\kappa\bigl(\|e_1\|^2+Y_T\bigr)
      +\Bigl[\frac{\kappa^2\gamma^2(1-a)^2}\rho+\kappa\gamma\Bigr]w^2
      +\kappa\nu(\gamma-1)\bigl[\nu N-2(1-a)(N-Q)+2\beta\eta\sqrt{WN}\bigr]
      +2\bigl(1+\kappa\nu(\gamma-1)\bigr)b\sqrt{TN}.$$

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
        noise: `SubGaussian`, `Bounded` or `HeavyTailed` of `o2nc.noise`; with the latter s_t are the clipped samples.
        delta: the probability with which the bound may fail.
        horizon: the number of rounds for which the factors are tuned; T by default. Who chooses T by looking at the
            run must give it.
        details: ``measured`` and ``note`` of the certificate.

    Reference: a certificate for one run, in the theory pages.

    >>> from o2nc.noise import SubGaussian
    >>> print(one_run(a=0.1, eta=0.0125, beta=1.0, first=1.0, Q=100.0, N=150.0, W=150.0, T=10_000,
    ...               noise=SubGaussian(p=0.1, d=16)))
    One run: average squared gradient (high-probability)
      alignment  0.005
      start      0.00056656
      noise      0.00935005
      drift      0.000915657
      deviation  0.000352158
      bound      0.0161844
      fails with probability 0.01 at most
    """
    check_horizon(T)
    check_finite("Q", Q)
    check_sizes(N=N, W=W)
    horizon = T if horizon is None else horizon
    factors = one_run_factors(a=a, eta=eta, beta=beta, first=first, T=T, noise=noise, delta=delta, horizon=horizon)
    kappa, nu, gamma, added = factors
    leak = kappa * nu * (gamma - 1)  # of the products with m_t
    drift = beta * eta * math.sqrt(W) + a * noise.bias * math.sqrt(T)
    rho = factors.rho(a)
    turned = (kappa * gamma * (1 - a) * drift) ** 2
    sums = {
        "alignment": 2 * Q - N,
        "start": kappa * first,
        "noise": kappa * added,
        "drift": largest_turn(turned, rho) + kappa * gamma * drift**2,
        "deviation": leak * (nu * N - 2 * (1 - a) * (N - Q) + 2 * beta * eta * math.sqrt(W * N)),
    }
    if noise.bias:
        sums["bias"] = 2 * (1 + leak) * noise.bias * math.sqrt(T * N)
    note = "; ".join(filter(None, [f"fails with probability {delta:g} at most", details.get("note")]))
    found: Details = {**details, "label": "high-probability", "note": note}
    return Certificate(
        "One run: average squared gradient", terms={term: value / T for term, value in sums.items()}, **found
    )


def one_run_factors(
    *, a: float, eta: float, beta: float, first: float, T: int, noise: Noise, delta: float = 0.01, horizon: int
) -> OneRunFactors:
    r"""The factors of ``one_run``: the best ones, if the sums are about what one expects before the run.

    One expects $N=W=\frac{\|e_1\|^2}{2\beta\eta}+\frac a2\sigma^2T$ and
    $\sum_t\|y_t\|^2=\frac{4\|e_1\|^2}{2\beta\eta}+\frac a2\sigma^2T$. $\kappa$ is that of ``tracking_root``,
    and $\nu=1/(\kappa(a-(\gamma-1)(1-a)))$. Where $\gamma$ depends on $\nu$ this is an equation for $\nu$; it is solved
    from the side on which $\rho\ge0$. The arguments are those of ``one_run``.

    Reference: a certificate for one run, step 5, in the theory pages.

    >>> from o2nc.noise import Bounded
    >>> found = one_run_factors(a=0.1, eta=0.0125, beta=1.0, first=1.0, T=10_000, noise=Bounded(1.0), horizon=10_000)
    >>> found.rho(0.1) > 0
    True
    """
    check_rate(a)
    check_horizon(horizon, "horizon")
    check_size("eta", eta, positive=True)
    check_size("beta", beta, positive=True)
    check_size("first", first)
    check_delta(delta)
    check_noise("noise", noise)
    aligned, tracked = first / (2 * beta * eta), a * noise.sigma**2 * horizon / 2
    if aligned + tracked == 0:  # no gradient and no noise: any factors will do
        aligned = 1.0
    drift = beta * eta * math.sqrt(aligned + tracked) + a * noise.bias * math.sqrt(horizon)

    def tracking(nu: float, rounds: int) -> Tracking:
        return noise.tracking(a, rounds, delta, Guess(horizon, squares=4 * aligned + tracked, length=nu))

    def length(nu: float) -> float:
        """The best nu for the inequality that holds for this one; a smaller nu has a larger kappa and rho."""
        gamma, added = tracking(nu, horizon)
        left = 1 - gamma * (1 - a) ** 2
        kappa = (1 + gamma * (1 - a) * drift / math.sqrt(gamma * drift**2 + left * (first + added))) / left
        return 1 / (kappa * (a - (gamma - 1) * (1 - a)))

    nu = largest_below(length)
    gamma, added = tracking(nu, T)
    return OneRunFactors(1 / (nu * (a - (gamma - 1) * (1 - a))), nu, gamma, added)


def largest_below(function: Callable[[float], float]) -> float:
    """A positive x with f(x) >= x, next to one where f(x) < x, for a positive function that is bounded.

    >>> round(largest_below(lambda x: 2 / (1 + x)), 9)
    1.0
    """
    low, high = 0.0, 2.0
    while function(high) >= high:
        low, high = high, 2 * high
    while low < (x := (low + high) / 2) < high:
        low, high = (x, high) if function(x) >= x else (low, x)
    return low


def largest_turn(turned: float, rho: float) -> float:
    """The most that ``2 sqrt(turned E) - rho E`` can be: inf if rho is negative.

    >>> largest_turn(4.0, 2.0), largest_turn(0.0, 0.0), largest_turn(0.0, -1.0)
    (2.0, 0.0, inf)
    """
    if rho > 0:
        return turned / rho
    return 0.0 if turned == rho == 0 else math.inf


def tracking_root(a: float, growth: float, drift: float, rest: float) -> float:
    r"""The largest E with $E\le\gamma\bigl((1-a)\sqrt E+w\bigr)^2+Y$, where $\gamma(1-a)^2<1$.

    With $A=(1-a)\sqrt\gamma$ and $X=\sqrt\gamma\,w$ it is $\Bigl(\frac{AX+\sqrt{X^2+(1-A^2)Y}}{1-A^2}\Bigr)^2$.

    Args:
        a: tracking rate, in (0, 1].
        growth: $\gamma\ge1$.
        drift: w, how far the gradients and the bias move the error in all rounds.
        rest: Y, the first error and what the noise adds.

    Reference: a certificate for one run, step 5, in the theory pages.

    >>> tracking_root(a=0.5, growth=1.0, drift=0.0, rest=3.0)
    4.0
    """
    check_rate(a)
    check_sizes(growth=growth, drift=drift, rest=rest)
    A, X = (1 - a) * math.sqrt(growth), math.sqrt(growth) * drift
    if not A < 1:
        raise ValueError(f"`growth` must be less than 1 / (1 - a)^2; got {growth} for a = {a}.")
    left = 1 - A * A
    return ((A * X + math.sqrt(X * X + left * rest)) / left) ** 2
