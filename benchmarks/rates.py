"""The search for a learning rate on a grid."""

from collections.abc import Sequence


def next_rate(found: dict[float, float], rates: Sequence[float], first: float) -> float | None:
    """From the first rate on, always to a neighbour of the best, until both are worse; ``found`` are losses by rate."""
    if not found:
        return first
    k = rates.index(min(found, key=found.get))
    return next((lr for lr in (*rates[k + 1 : k + 2], *rates[max(k - 1, 0) : k]) if lr not in found), None)
