"""Whether the samples of a run contradict the noise that was declared, or that replications are independent."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Protocol

from .student import mean_interval

LEAST = 3  # replications below which the spread of a variance cannot be told: those of two are always equal
CONFIDENCE = 0.999  # of the intervals: a true sigma is called too small in one run of a thousand


class Declared(Protocol):
    """Constants that say how large the noise is."""

    @property
    def sigma(self) -> float:
        """The root of the variance of a sample."""

    @property
    def T(self) -> int:
        """The number of rounds."""


def dependence_objection(sigma: float, sums: Mapping[str, Sequence[float]], rounding: float) -> str:
    """That replications with noise have equal sums, in words with the numbers; nothing if they differ.

    One noise for all replications makes them one run, and intervals of width 0.

    Args:
        sigma: that was declared.
        sums: by name, one number for each replication.
        rounding: by how much equal sums may differ, relative to the largest of all.

    Reference: none; independent replications with noise are not equal.

    >>> dependence_objection(0.5, {"Q": [1.0, 1.0], "N": [2.0, 2.0]}, 1e-12)[:74]
    'the 2 replications are equal, Q = 1 and N = 2 in each, though sigma = 0.5:'
    >>> dependence_objection(0.5, {"Q": [1.0, 1.1], "N": [2.0, 2.0]}, 1e-12)
    ''
    """
    n, size = len(next(iter(sums.values()))), max(abs(each) for values in sums.values() for each in values)
    if n < 2 or sigma == 0 or size == 0:
        return ""
    if any(max(values) - min(values) > rounding * size for values in sums.values()):
        return ""
    numbers = " and ".join(f"{name} = {values[0]:.6g}" for name, values in sums.items())
    return (
        f"the {n} replications are equal, {numbers} in each, though sigma = {sigma:g}: "
        "each needs noise of its own, and without noise sigma is 0"
    )


def noise_objection(
    constants: Declared, spread: Sequence[float], energy: Sequence[float], upper: tuple[float, float] | None
) -> str:
    r"""How the samples of replications contradict sigma, in words with the numbers; nothing if they do not.

    At $x_1$, which replications share, the mean of ``spread`` is an unbiased estimate of the variance. Over the run
    $\frac1T\sum_tE\|s_t\|^2-\sigma^2\le\frac1T\sum_tE\|\nabla f(x_t)\|^2$, which the tight certificate bounds from
    above: a sigma that is too small makes the lower bound too large and the upper one too small.

    Args:
        constants: those of the run.
        spread: squared distances of the first samples from their mean, times n / (n - 1); none if x_1 is not shared.
        energy: the sum of the squared samples of each replication.
        upper: the interval of a bound, the tight one or that of the theorem; None if there is none.

    Reference: none; the variance of a sample, and the identity behind `tight`.

    >>> from o2nc import Smooth
    >>> noise_objection(Smooth(gap=1.0, beta=1.0, sigma=0.5, T=10), [1.0, 1.1, 0.9, 1.0], [0.0] * 4, None)
    'sigma = 0.5 is too small: the variance of the samples at x1 is about 1, at least 0.472, and sigma^2 is 0.25'
    """
    sigma, T = constants.sigma, constants.T
    if len(spread) > LEAST:
        low, _ = mean_interval(spread, CONFIDENCE)
        if low > sigma**2 * (1 + 1e-9):
            return (
                f"sigma = {sigma:g} is too small: the variance of the samples at x1 is about {fmean(spread):.3g}, "
                f"at least {low:.3g}, and sigma^2 is {sigma**2:.3g}"
            )
    if len(energy) > 1 and upper is not None:
        low = max(mean_interval([each / T - sigma**2 for each in energy], CONFIDENCE)[0], 0.0)
        if low > upper[1]:
            return (
                f"sigma = {sigma:g}, beta or the gap is too small: they would make the average squared gradient at "
                f"least {low:.3g} and at most {upper[1]:.3g}, which cannot be"
            )
    return ""
