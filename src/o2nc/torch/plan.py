"""How the parameters that have gradients are swept over."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from .buckets import Bucket
from .experts import Expert, Whole

Tensor = torch.Tensor
FACTORS = ("one", "u", "adam")  # of the arrays of experts


class Part:
    """A bucket of parameters of one group that have the same experts.

    Args:
        bucket: which entries.
        experts: each once, though several may be the same for these parameters.
        group: the number of the group.

    Reference: none.
    """

    def __init__(self, bucket: Bucket, experts: Sequence[Expert], group: int):
        self.bucket, self.experts, self.group = bucket, tuple(dict.fromkeys(experts)), group
        keys = [key for expert in self.experts for key in expert.keeps]
        self.kept = [key for key in keys if key != "root"]
        self.has_root = "root" in keys
        self.is_whole = any(isinstance(expert, Whole) for expert in self.experts)
        self.ks = [tuple(k for k, other in enumerate(experts) if other == expert) for expert in self.experts]
        self._views: dict[str, Tensor] = {}

    def take(self, key: str, tensors: Sequence[Tensor]) -> Tensor:
        """The entries of state tensors; those of a piece are always the same view."""
        if self.bucket.piece is None:
            return self.bucket.take(tensors)
        if key not in self._views:
            self._views[key] = self.bucket.take(tensors)
        return self._views[key]


class Plan(NamedTuple):
    """The parts, and how to bring together what is found on each."""

    parts: list[Part]
    places: tuple[Tensor, ...]  # row and column of the sums that are found, part by part
    choice: Tensor  # for each row and expert of its group, which of the experts of the parts
    factor: Tensor  # ... and which of the `FACTORS`
    adam: Tensor  # for each row, which of the experts of its group is Adam's direction; -1 if none is
    whole: list[tuple[int, Whole]]  # the experts that need whole tensors, and for which rows
    narrow: list[int]  # rows of parameters that are roundings of a point
