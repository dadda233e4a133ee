"""Learners over K experts, one a file: K losses in, K weights out; no operators and no vectors."""

from .adahedge import AdaHedge
from .base import Learner, registry
from .discounted_hedge import DiscountedHedge
from .fixed_share import FixedShare
from .hedge import Hedge
from .optimistic_hedge import OptimisticHedge
from .short_memory import ShortMemoryHedge
from .squint import Squint

__all__ = [
    "AdaHedge", "DiscountedHedge", "FixedShare", "Hedge", "Learner", "OptimisticHedge", "ShortMemoryHedge",
    "Squint", "registry",
]  # fmt: skip
