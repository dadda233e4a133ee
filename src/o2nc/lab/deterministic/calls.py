"""An objective whose calls are counted."""

import math

import numpy as np

from ...conversions import Conversion
from ...conversions.base import State, check_can_have
from ..objectives.classifier import Classifier
from ..runner.records import Floats


class Calls:
    r"""f, with one entry for every call: the norm of the gradient. A call gives value and gradient together.

    Args:
        f: the objective.
        tol: the norm that is to be reached.
        most: how many calls are allowed.

    Reference: not in the paper; all methods are counted alike.

    >>> from o2nc.lab.objectives import objective
    >>> calls = Calls(objective("wine-svm", "convex"), tol=1e-4, most=2)
    >>> value, g = calls(np.zeros(14))
    >>> value, calls.over, calls.needed
    (0.5, False, None)
    """

    def __init__(self, f: Classifier, tol: float, most: int) -> None:
        self.f, self.tol, self.most = f, tol, most
        self.norms: list[float] = []

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at ``x``."""
        value, gradient = self.f.value_and_gradient(x)
        g = np.asarray(gradient)
        self.norms.append(float(np.linalg.norm(g)))
        return float(value[0]), g

    @property
    def over(self) -> bool:
        """Whether the last gradient was small enough, or not finite, or the last that is allowed."""
        return self.norms[-1] <= self.tol or not math.isfinite(self.norms[-1]) or len(self.norms) >= self.most

    @property
    def needed(self) -> int | None:
        """The number of the first call, of those allowed, whose gradient was small enough; None if there was none."""
        return next((k for k, norm in enumerate(self.norms[: self.most], start=1) if norm <= self.tol), None)

    @property
    def smallest(self) -> float:
        """The smallest norm of the calls that were allowed."""
        return min(norm for norm in self.norms[: self.most] if math.isfinite(norm))

    def follow(self, conversion: Conversion) -> State:
        """The points of a conversion from the start on, until it is over; returns the last state."""
        check_can_have(conversion, frozenset({"x", "value"}), "a deterministic run")
        x = np.asarray(self.f.start(np.zeros(1)))
        state = conversion.init(x)
        with np.errstate(over="ignore", invalid="ignore"):  # a step that is too long ends in infinity
            while True:
                value, g = self(x)
                if self.over:
                    return state
                dx, state = conversion.update(g, state, x, value=value)
                x = x + dx
