"""One learner a block."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any

from ..losses import Loss
from ..operators import Blockwise, Operator, act, trusted
from ..operators.scalars import flat_shapes
from ..states import ByBlock
from ..vectors import Blocks, Vector, check_shapes, check_vector
from .base import Oracle, check_oracles, contracts, registry, stated_bound
from .ogd import OGD


@dataclass(frozen=True, eq=False)
class Product:
    r"""Plays $U_{t,1}\oplus\dots\oplus U_{t,k}$, each block's operator by an oracle of its own.

    An oracle sees its block alone: of an array the slice, of `Blocks` the array if it has one axis, and `Blocks` of it
    otherwise. Losses are sums over blocks, so each oracle learns from its own term.

    Regret against $V_1\oplus\dots\oplus V_k$: the sum of the regrets of the oracles against $V_i$, so at most the sum
    of their bounds, with energies that sum to at most that of the whole.

    Args:
        oracles: one a block.
        shapes: the shapes of the blocks, which cut the last axis of an array; needed for arrays only.

    Reference: Farina, Kroer and Sandholm (2019), regret circuits, the Cartesian product.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.oracles import OGD, Constant
    >>> from o2nc.sets import Box
    >>> oracle, m = Product([Constant(), OGD(Box(), eta=0.5)], shapes=[(1,), (2,)]), np.asarray([1.0, 1.0, 1.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=np.asarray([-1.0, 1.0, -1.0]), m=m, scale=1.0))
    >>> oracle.play(state, m) @ m
    array([1. , 1. , 0.5])
    """

    oracles: Sequence[Oracle]
    shapes: Sequence[tuple[int, ...]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "oracles", check_oracles("Product(oracles=...)", self.oracles))
        if self.shapes is not None:
            object.__setattr__(self, "shapes", check_shapes("Product(shapes=...)", self.shapes))
            self._check_count("Product(shapes=...)", len(self.shapes))
        # where the blocks of an array end; found anew for each block, a step would be quadratic in their number
        object.__setattr__(self, "_stops", (0, *accumulate(map(prod, self.shapes or ()))))

    def init(self, x: Vector) -> ByBlock:
        """The states of the oracles."""
        check_vector("x", x)
        if isinstance(x, Blocks):
            self._check_count("x", len(x.arrays))
        elif self.shapes is None:
            raise ValueError("`Product(shapes=...)` must be given to act on an array; got none.")
        elif self._stops[-1] != x.shape[-1]:  # type: ignore[attr-defined]
            raise ValueError(f"`Product(shapes=...)` must fill the {x.shape[-1]} entries of `x`; got {self.shapes}.")
        return ByBlock(tuple(oracle.init(self._part(k, x)) for k, oracle in enumerate(self.oracles)))

    def play(self, state: ByBlock, m: Vector) -> Operator:
        """The operators of the oracles, one a block."""
        played = [oracle.play(state.parts[k], self._part(k, m)) for k, oracle in enumerate(self.oracles)]
        if not isinstance(m, Blocks):
            return trusted(Blockwise, operators=tuple(played), shapes=flat_shapes(tuple(self.shapes or ())))
        operators = (U if X.ndim == 1 else OnBlock(U) for U, X in zip(played, m.arrays, strict=True))
        return trusted(Blockwise, operators=tuple(operators), shapes=None)

    def learn(self, state: ByBlock, loss: Loss) -> ByBlock:
        """Show each oracle the loss of its block."""
        losses = [loss.restricted(partial(self._part, k)) for k in range(len(self.oracles))]
        triples = zip(self.oracles, state.parts, losses, strict=True)
        return ByBlock(tuple(oracle.learn(part, own) for oracle, part, own in triples))

    def regret_bound(self, x: Vector, energy: float) -> float:
        """The sum of the bounds of the oracles, each with all of the energy: which block has it is not known."""
        return sum(stated_bound(oracle, self._part(k, x), energy) for k, oracle in enumerate(self.oracles))

    def contracts(self, x: Vector) -> bool:
        """Whether all of the oracles play contractions."""
        return all(contracts(oracle, self._part(k, x)) for k, oracle in enumerate(self.oracles))

    def _part(self, k: int, v: Vector) -> Vector:
        """Block k as a vector."""
        if isinstance(v, Blocks):
            X = v.arrays[k]
            return X if X.ndim == 1 else Blocks((X,))
        start, stop = self._stops[k : k + 2]  # type: ignore[attr-defined]
        return v[..., start:stop]

    def _check_count(self, name: str, count: int) -> None:
        if count != len(self.oracles):
            raise ValueError(f"`{name}` must have one block an oracle, {len(self.oracles)}; got {count}.")


@dataclass(frozen=True, eq=False)
class OnBlock:
    """An operator on `Blocks` of one array, as an operator on that array."""

    U: Operator

    def __matmul__(self, X: Any) -> Any:
        return act(self.U, Blocks((X,))).arrays[0]


def _one_a_block(S: Any, rate: float | None, C: float, x: Vector) -> Product:
    """OGD on every block of x, or on two halves of an array."""
    if isinstance(x, Blocks):
        return Product([OGD(S)] * len(x.arrays))
    half = (x.shape[-1] + 1) // 2
    return Product([OGD(S)] * 2, [(half,), (x.shape[-1] - half,)])


registry.add("product", _one_a_block, "OGD on each block", circuit=True, sees_x=True)
