"""What several seeds say together: losses are dicts from seeds to numbers."""

import math
from statistics import fmean, stdev


def standard_error(values: list[float]) -> float:
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return math.nan
    return stdev(values) / math.sqrt(len(values))


def plus_minus(error: float) -> str:
    """Nothing if there is but one seed."""
    return "" if math.isnan(error) else f" ± {error:.4f}"


def mean(losses: dict[int, float]) -> float:
    return fmean(losses.values()) if losses else math.inf


def paired(ours: dict[int, float], theirs: dict[int, float]) -> tuple[float, float]:
    """The mean of the differences by seed and its standard error, over the seeds that both have."""
    differences = [ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys()]
    return fmean(differences), standard_error(differences)
