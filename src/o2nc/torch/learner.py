"""The learners of `Hedged`: who weighs the experts of which parameters."""

from collections.abc import Sequence
from typing import Any

import torch

from ..operators import Identity
from ..oracles.short_memory import ShortMemoryHedge, ShortMemoryState
from ..promises import losses

Tensor = torch.Tensor
KEYS = ("C", "V", "regret")  # what a learner remembers, in the state of each of its parameters


class Learner:
    """The short-memory Hedge over K experts, once for each of some rows; it sees numbers only.

    Its state lies in the state of the parameters, as views of one array: a row that many share is in each of them.

    Args:
        K: the number of experts.
        group: its "rho", the discount, and "c", the factor of the rate, may change at any time.
        rows: for every parameter, its row.

    Reference: `o2nc.oracles.ShortMemoryHedge`.

    >>> learner = Learner(2, {"rho": 0.9, "c": 3.0}, [0, 0])
    >>> learner.observe(torch.tensor([[-1.0, 0.0]], dtype=torch.float64))
    >>> learner.weights().round(decimals=2)
    tensor([[0.9200, 0.0800]], dtype=torch.float64)
    >>> learner.regret.round(decimals=2)
    tensor([[ 0.5000, -0.5000]], dtype=torch.float64)
    """

    def __init__(self, K: int, group: dict[str, Any], rows: Sequence[int]):
        self.K, self.group, self.rows = K, group, rows
        count = max(rows) + 1
        self.C = torch.zeros(count, K, dtype=torch.float64)
        self.V = torch.zeros(count, 1, dtype=torch.float64)
        self.regret = torch.zeros(count, K, dtype=torch.float64)

    @property
    def hedge(self) -> ShortMemoryHedge:
        """The learner of the core."""
        return ShortMemoryHedge([Identity()] * self.K, rho=self.group["rho"], c=self.group["c"])

    def weights(self) -> Tensor:
        """w, of shape (rows, K)."""
        return self.hedge.weights(self._state())

    def judge(self, kept: Tensor, promised: Tensor) -> None:
        """Learn from what the experts kept of what they promised, each of shape (parameters, K)."""
        sums = torch.zeros(2, *self.C.shape, dtype=torch.float64)
        self.observe(losses(*sums.index_add_(1, torch.tensor(self.rows), torch.stack([kept, promised]))))

    def observe(self, losses: Tensor) -> None:
        """Learn from losses of shape (rows, K)."""
        self.regret += (self.weights() * losses).sum(-1, keepdim=True) - losses
        state = self.hedge.observe(self._state(), losses)
        self.C.copy_(state.C)
        self.V.copy_(state.V)

    def numbers(self, k: int) -> dict[str, Tensor]:
        """What is remembered for the k-th parameter, as views."""
        return {key: getattr(self, key)[self.rows[k]] for key in KEYS}

    def _state(self) -> ShortMemoryState:
        return ShortMemoryState(C=self.C, V=self.V, t=self.V)  # it does not ask for the round
