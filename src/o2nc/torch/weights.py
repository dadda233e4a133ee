"""Learners over experts. Their numbers are few, and NumPy is quicker with few numbers than torch."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..learners import ShortMemoryHedge
from .checkpoint import Entry

Floats = NDArray[np.float64]


class Weights:
    """A learner over K experts, once for each of some rows; it sees numbers only.

    Its state lies in the state of the parameters, as views of one array a field: a row that many share is in each.

    Args:
        K: the number of experts.
        group: its "rho", the discount, and "c", the factor of the rate, may change at any time.
        rows: for every parameter, its row.

    Reference: `o2nc.learners.ShortMemoryHedge`.

    >>> weights = Weights(2, {"rho": 0.9, "c": 3.0}, [0, 0])
    >>> weights.learn(np.asarray([[-1.0, 0.0]]), weights.now())
    >>> weights.now().round(2)
    array([[0.92, 0.08]])
    >>> weights.regret.round(2)
    array([[ 0.5, -0.5]])
    """

    def __init__(self, K: int, group: dict[str, Any], rows: Sequence[int]):
        self.K, self.group, self.rows = K, group, np.asarray(rows)
        self.count = max(rows) + 1
        self._first = np.unique(self.rows, return_index=True)[1]  # of the parameters of each row
        self._places = (self.rows[:, None] * K + np.arange(K)).ravel()
        self.regret, self.ahead, self.error = (np.zeros((self.count, K)) for _ in range(3))
        state: Any = self.learner.init(self.regret)
        self.state = type(state)(*map(np.array, state))

    @property
    def learner(self) -> ShortMemoryHedge:
        """The learner of the core."""
        return learner_of(self.group["rho"], self.group["c"])

    def now(self) -> Floats:
        """w, of shape (rows, K)."""
        w: Any = self.learner.weights(self.state)
        return w

    def judge(self, losses: Floats, w: Floats) -> None:
        """Learn from what the experts are charged on each parameter, with these weights, of shape (parameters, K)."""
        total: Floats = np.bincount(self._places, losses.ravel(), self.count * self.K).astype(float, copy=False)
        self.learn(total.reshape(self.count, self.K), w[self._first])

    def learn(self, losses: Floats, w: Floats) -> None:
        """Learn from losses of shape (rows, K), with the weights w of the step."""
        ahead = (w * losses).sum(-1, keepdims=True) - losses
        self.regret += ahead
        np.hypot(self.error, (ahead - self.ahead) * math.sqrt(0.5), out=self.error)
        self.ahead[...] = ahead
        for field, value in zip(self.state, self.learner.learn(self.state, losses), strict=True):
            field[...] = value

    def views(self) -> list[Entry]:
        """What is remembered in each row."""
        fields = {**self.state._asdict(), "regret": self.regret, "ahead": self.ahead, "error": self.error}
        rows = zip(*(torch.from_numpy(field).unbind() for field in fields.values()), strict=True)
        return [dict(zip(fields, row, strict=True)) for row in rows]


@lru_cache(16)
def learner_of(rho: float, c: float) -> ShortMemoryHedge:
    """The rule with these options."""
    return ShortMemoryHedge(rho=rho, c=c)
