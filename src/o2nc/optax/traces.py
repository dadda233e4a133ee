"""The practical rule with traces that Optax takes for what they are: trees like the parameters."""

from typing import Any, NamedTuple

from ..conversions import PracticalConversion
from ..conversions.practical import PracticalState
from ..directions import OnMatrices
from ..states import ByBlock
from ..vectors import Blocks, Vector


class Traces(NamedTuple):
    """The traces of all leaves."""

    shared: tuple[Blocks, ...]  # those that every leaf has
    own: ByBlock  # of each leaf the others: a matrix may have more than a vector


class PracticalOnTrees(PracticalConversion):
    """The same rule, which keeps as many traces as it can as vectors, in the place of a tuple for each block.

    How many that are depends on the experts alone, so that a state has one structure for all trees: every block has a
    trace for each direction that differs from the others where there is no matrix.

    Reference: none.

    >>> import numpy as np
    >>> x = Blocks((np.zeros((2, 2)), np.zeros(3)))
    >>> e = PracticalOnTrees(["muon", "soap"]).init(x).e
    >>> len(e.shared), [len(part) for part in e.own.parts]
    (1, [1, 0])
    """

    def init(self, x: Vector, *, tau: Any = None) -> PracticalState:
        """No gradient so far."""
        return self._apart(super().init(x))

    def update(
        self, s: Vector, state: PracticalState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, PracticalState]:
        """The step of the rule."""
        dx, after = super().update(s, _together(state), x)
        return dx, self._apart(after)

    def _apart(self, state: PracticalState) -> PracticalState:
        elsewhere = [each.fallback if isinstance(each, OnMatrices) else each for each in self._directions]
        n = len([each for k, each in enumerate(elsewhere) if each not in elsewhere[:k]]) if self.judges else 0
        shared = tuple(Blocks(tuple(part[j] for part in state.e.parts)) for j in range(n))
        traces: Any = Traces(shared, ByBlock(tuple(part[n:] for part in state.e.parts)))
        return state._replace(e=traces)


def _together(state: PracticalState) -> PracticalState:
    traces: Any = state.e
    shared = [tuple(vector.arrays[i] for vector in traces.shared) for i in range(len(traces.own.parts))]
    return state._replace(e=ByBlock(tuple(a + b for a, b in zip(shared, traces.own.parts, strict=True))))
