"""What was seen of an objective at a few points, and the constants that this suggests."""

import math
from dataclasses import dataclass
from statistics import fmean, quantiles

MEASURES = ("distances", "curvatures", "variances", "squares", "values")


@dataclass(frozen=True)
class Probes:
    r"""The numbers that `o2nc.probe` saw, one a probed point.

    $$\hat\beta=\max_j\text{curvature}_j,\qquad\hat\sigma^2=\frac1J\sum_j\text{variance}_j,\qquad
      \hat M=2\max\Bigl\{\frac{\max_j\text{square}_j}{\hat\beta},\ \max_j\text{value}_j-\min_j\text{value}_j\Bigr\}.$$

    The first term of $\hat M$ is Lemma 4 read backwards: $\|\nabla f\|^2\le M\beta$. A maximum over some points is at
    most the one over all points, so $\hat\beta$ errs on the small side, up to the noise, and so would $\hat M$ without
    the factor 2; a range that is too large is still a range, and costs its root. $\hat\sigma$ is an average where the
    theorems want a maximum. These are estimates and no bounds.

    Args:
        samples: how many samples of the gradient were drawn.
        distances: from the starting point.
        curvatures: the largest change of the gradient over a short segment, relative to its length.
        variances: of the samples at the point, unbiased.
        squares: the squared gradient, unbiased.
        values: f less its value at the starting point; empty if no values were probed.

    Reference: Assumptions of Theorem 1; Lemma 4 in the form of `o2nc.certificates.gradient_bound_sharp`.

    >>> seen = Probes(8, (0.0, 1.0), curvatures=(4.0, 2.0), variances=(0.1, 0.3), squares=(8.0, 2.0), values=())
    >>> print(f"{seen.M} {seen.beta} {seen.sigma:.4f}")
    4.0 4.0 0.4472
    """

    samples: int
    distances: tuple[float, ...]
    curvatures: tuple[float, ...]
    variances: tuple[float, ...]
    squares: tuple[float, ...]
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        seen = {name: getattr(self, name) for name in MEASURES}
        for name, numbers in seen.items():
            if not all(map(math.isfinite, numbers)):
                raise ValueError(f"`{name}` must be finite; got {numbers}.")
        if not self.curvatures or max(self.curvatures) <= 0:
            raise ValueError(
                "The gradient must change somewhere between the probed points for an estimate of beta; it did not. "
                "Probe with a longer `h`."
            )
        if self.M <= 0:
            raise ValueError("The gradient must not be 0 at all probed points for an estimate of M; it was.")

    @property
    def beta(self) -> float:
        """The largest curvature."""
        return max(self.curvatures)

    @property
    def sigma(self) -> float:
        """The root of the mean variance."""
        return math.sqrt(max(fmean(self.variances), 0.0))

    @property
    def M(self) -> float:
        """Twice the larger of the largest squared gradient over beta and the range of the values."""
        return 2 * max(max(self.squares) / self.beta, max((0.0, *self.values)) - min((0.0, *self.values)))

    def __str__(self) -> str:
        """The number of probes, and the least, the quartiles and the largest of each measure.

        >>> print(Probes(8, (0.0, 1.0), (4.0, 2.0), (0.1, 0.3), (8.0, 2.0)))
        2 points, 8 samples     least   quarter    median   quarter      most
        distances                   0      0.25       0.5      0.75         1
        curvatures                  2       2.5         3       3.5         4
        variances                 0.1      0.15       0.2      0.25       0.3
        squares                     2       3.5         5       6.5         8
        """
        words = ("least", "quarter", "median", "quarter", "most")
        head = f"{len(self.distances)} points, {self.samples} samples"
        rows = [head + "".join(f"{word:>10}" for word in words)]
        for name in MEASURES:
            if numbers := getattr(self, name):
                inside = quantiles(numbers, n=4, method="inclusive") if len(numbers) > 1 else numbers * 3
                five = (min(numbers), *inside, max(numbers))
                rows.append(f"{name:<{len(head)}}" + "".join(f"{number:>10.4g}" for number in five))
        return "\n".join(rows)
