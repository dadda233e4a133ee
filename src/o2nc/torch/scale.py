"""The learned scale of `Hedged`: one for all groups that learn it."""

from typing import Any

import numpy as np
import torch

from ..conversions import LearnedScale
from .checkpoint import Entry

SCALE = LearnedScale()


class SharedScale:
    """A factor of the learning rates. Its state lies in the state of the parameters, as views of one array a field.

    Reference: `o2nc.conversions.LearnedScale`.

    >>> scale = SharedScale()
    >>> scale.learn(1.0, 0.0)
    >>> round(scale.factor(0.0), 4), scale.factor(0.5)
    (1.005, 1.0)
    """

    def __init__(self) -> None:
        state: Any = SCALE.init(np.zeros(1))
        self.state: Any = type(state)(*map(np.array, state))

    @property
    def capped(self) -> int:
        """The steps in which weight decay has kept it smaller."""
        return int(self.state.capped[0])

    def factor(self, decay: float) -> float:
        """That of the next step, if without it a weight decays by this share of it at most."""
        found: Any = SCALE.factor(self.state, np.full(1, decay) if decay else None)
        return float(found[0])

    def learn(self, worth: float, decay: float) -> None:
        """Learn from a step, of which the trace would still decrease the objective by ``worth``."""
        after = SCALE.learn(self.state, np.full(1, worth), np.full(1, decay) if decay else None)
        for number, value in zip(self.state, after, strict=True):
            number[...] = value

    def views(self) -> Entry:
        """What is remembered."""
        return {f"scale.{name}": torch.from_numpy(number)[0] for name, number in self.state._asdict().items()}
