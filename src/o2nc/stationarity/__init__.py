"""The paper's measure of local stationarity, from above and, in the plane, from below.

The measure is an infimum over distributions. A run has one to offer, the weights of its output; `mix` follows it
online. `best_mixture` improves on it by a convex program. Both are upper bounds. `lower_bound` is one, too.
"""

from .dual import lower_bound
from .program import Best, best_mixture
from .witness import Witness, measure, mix, point

__all__ = ["Best", "Witness", "best_mixture", "lower_bound", "measure", "mix", "point"]
