"""SOAP: Adam in the eigenbasis of Shampoo."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from ..operators.polar_factor import check_steps
from ..states import ByBlock
from ..vectors import Blocks, Vector
from .adam import Adam
from .base import FLOOR, Numbers, registry
from .matrices import OnMatrices, at_length


class Side(NamedTuple):
    """What `Soap` remembers of the rows or the columns of a matrix."""

    G: Array  # the average of S S^T, or of S^T S, (..., p, p)
    Q: Array  # a basis of eigenvectors of an earlier G, in columns


class SoapBlock(NamedTuple):
    """What `Soap` remembers of one matrix block."""

    m: tuple[Array, ...]  # the average of the samples, (..., p, q), unless it is the tracker
    v: Array  # that of their squares in the eigenbasis
    left: tuple[Side, ...]  # of the rows, unless there are too many
    right: tuple[Side, ...]  # of the columns, unless there are too many


class SoapState(NamedTuple):
    """What `Soap` remembers."""

    n: Numbers  # the samples so far
    blocks: ByBlock  # the `SoapBlock` of each matrix block, () for others
    other: Any  # the state of the fallback


@dataclass(frozen=True)
class Soap(OnMatrices):
    r"""SOAP's direction of each matrix block: Adam's in the eigenbasis of Shampoo's L and R.

    $$d=\frac{\sqrt{1-b_2^t}}{1-b_1^t}\,Q_L\,\frac{Q_L^\top MQ_R}{\sqrt V+\epsilon}\,Q_R^\top,\qquad
    V\leftarrow b_2V+(1-b_2)(Q_L^\top SQ_R)^2,\qquad L\leftarrow b_2L+(1-b_2)SS^\top,$$

    $M\leftarrow b_1M+(1-b_1)S$ an average of its own, and R as L from $S^\top S$. The first sample gives the first
    basis, by eigenvalues, and no direction; so no sample is seen in a basis that it has made. After every ``every``
    rounds the basis follows by one power iteration: the columns of Q in the order of their estimated eigenvalues, then
    Q of the QR factorisation of LQ. With ``turn`` the blocks do so in turns, so that no round is slow. A side longer
    than ``limit`` has no basis: it is that of the coordinates.

    Where samples have fewer dimensions than a side, what is left of its basis is any basis of the rest: a change in the
    last digit of a sample, as from another number of processes, changes the direction. A run goes on bit by bit from
    its state.

    The tracker says only whether gradients have ended: below the floor the direction fades. A block with two axes is a
    matrix, one with three a stack of matrices, one with more a convolution: the matrix of (first axis, the rest). One
    with fewer takes the direction of ``fallback``. An array is cut into blocks by ``shapes``.

    Args:
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        fallback: the direction of blocks that are not matrices.
        matrices: for each of the `Blocks`, whether it may be taken as a matrix; by default all may.
        floor: the root mean square of the tracker of a matrix below which its direction fades.
        split: into how many matrices, one below the other, each matrix of the `Blocks` is cut; see `OnMatrices`.
        b1: the discount of M, in [0, 1); None if M is the tracker, which is taken without the factor $1/(1-b_1^t)$.
        b2: the discount of V, L and R, in [0, 1).
        eps: added to the root.
        every: how many rounds a basis lasts.
        turn: by how many rounds that of the first block turns later, and each next block one round later; None if all
            turn at once.
        limit: the longest side that gets a basis.
        length: the root mean square of the direction; None for its own, about that of Adam.
        stacks: whether a block with three axes is a stack; if not, it is a convolution.

    Reference: Vyas et al., SOAP (2024), Algorithm 3, as in their code.

    >>> import numpy as np
    >>> from o2nc import Blocks
    >>> expert, m = Soap(), Blocks((np.asarray([[3.0, 0.0], [0.0, -4.0]]),))
    >>> state = expert.learn(expert.learn(expert.init(m), m), m)
    >>> expert.direction(state, m).arrays[0].round(4) + 0.0
    array([[ 1.,  0.],
           [ 0., -1.]])
    """

    b1: float | None = field(default=0.95, kw_only=True)
    b2: float = field(default=0.95, kw_only=True)
    eps: float = field(default=1e-8, kw_only=True)
    every: int = field(default=10, kw_only=True)
    turn: int | None = field(default=None, kw_only=True)
    limit: int = field(default=10000, kw_only=True)
    length: float | None = field(default=None, kw_only=True)
    stacks: bool = field(default=True, kw_only=True)
    name: ClassVar[str] = "soap"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("b1", "b2"):
            if getattr(self, name) is not None or name == "b2":
                check_share(f"Soap({name}=...)", getattr(self, name))
        if not _xp.is_array(self.eps):
            check_number("Soap(eps=...)", self.eps)
        check_steps("Soap(every=...)", self.every)
        check_steps("Soap(limit=...)", self.limit)
        if self.turn is not None and (isinstance(self.turn, bool) or not isinstance(self.turn, int)):
            raise TypeError(f"`Soap(turn=...)` must be None or a whole number; got {self.turn!r}.")
        if self.length is not None:
            check_number("Soap(length=...)", self.length, positive=True)

    def init(self, x: Vector) -> SoapState:
        """No sample so far."""
        other = super().init(x)
        blocks = tuple(() if A is None else self._empty(A) for A in self.as_matrices(x))
        return SoapState(Numbers.zeros(x), ByBlock(blocks), other)

    def direction(self, state: SoapState, m: Vector) -> Vector:
        """Adam's direction in the eigenbasis, and back."""
        triples = zip(state.blocks.parts, self._counts(state, m), self.as_matrices(m), strict=True)
        found = [None if M is None else self._adam(part, n, M) for part, n, M in triples]
        return self.assembled(found, m, self.fallback.direction(state.other, m))

    def learn(self, state: SoapState, s: Vector) -> SoapState:
        """Turn the basis if its time has come, then average the sample in."""
        triples = zip(state.blocks.parts, self._counts(state, s), self.as_matrices(s), strict=True)
        blocks = tuple(part if S is None else self._learned(i, part, n, S) for i, (part, n, S) in enumerate(triples))
        return SoapState(state.n.map(lambda n: n + 1), ByBlock(blocks), self.fallback.learn(state.other, s))

    def lengthened(self, Z: Array) -> Array:
        """A direction at its own length, or at the one that was asked for."""
        return Z if self.length is None else at_length(Z, self.length)

    def _counts(self, state: SoapState, v: Vector) -> list[Array]:
        """The samples that each block has seen, in a shape that broadcasts against its matrices."""
        n = state.n.values
        if isinstance(v, Blocks):
            return [n[i : i + 1][..., None] for i in range(len(v.arrays))]
        return [n[..., None]] * len(self.shapes or ())

    def _empty(self, A: Array) -> SoapBlock:
        xp = _xp.namespace(A)
        zero = xp.zeros_like(A)
        left, right = (((Side(G, G + _xp.eye(G.shape[-1], G)),) if has else ()) for has, G in self._grams(zero))
        return SoapBlock(() if self.b1 is None else (zero,), zero, left, right)

    def _grams(self, S: Array) -> list[tuple[bool, Array]]:
        """S S^T and S^T S, each with whether its side gets a basis; anything if it does not."""
        xp = _xp.namespace(S)
        T = xp.matrix_transpose(S)
        sides = ((A.shape[-2] <= self.limit, A, B) for A, B in ((S, T), (T, S)))
        return [(has, xp.matmul(A, B) if has else A) for has, A, B in sides]

    def _adam(self, part: SoapBlock, n: Array, M: Array) -> Array:
        """Adam's direction of matrices M in the eigenbasis, and back, after n samples."""
        xp, t = _xp.namespace(M), _xp.at_least(n - 1, 0.0)
        of_m = 1.0 if self.b1 is None else _xp.inverse(weight(self.b1, t))
        root = xp.sqrt(part.v) + self.eps
        A = into(part, M if self.b1 is None else part.m[0]) / _xp.at_least(root, _xp.smallest_normal(root))
        return back(part, A) * (xp.sqrt(weight(self.b2, t)) * of_m)

    def due(self, n: Any, i: int = 0) -> Any:
        """Whether the basis of block i turns, after n samples; n - 1 is the number of directions so far."""
        return (n > 1) & ((n - 1 - (0 if self.turn is None else self.turn + i)) % self.every == 0)

    def _learned(self, i: int, part: SoapBlock, n: Array, S: Array) -> SoapBlock:
        xp, due = _xp.namespace(S), self.due(n, i)
        (part,) = _xp.when(xp.any(n == 1), lambda part: (_where(n == 1, first(part), part),), part)
        (part,) = _xp.when(xp.any(due), lambda part: (_where(due, turned(part), part),), part)
        seen = n > 0
        square = into(part, S) ** 2
        sides = zip((part.left, part.right), self._grams(S), strict=True)
        left, right = (
            tuple(side._replace(G=self._average(self.b2, side.G, G)) for side in old) for old, (_, G) in sides
        )
        return SoapBlock(
            m=tuple(xp.where(seen, self._average(self.b1 or 0.0, m, S), m) for m in part.m),
            v=xp.where(seen, self._average(self.b2, part.v, square), part.v),
            left=left,
            right=right,
        )

    def _average(self, b: float, old: Array, new: Array) -> Array:
        return b * old + (1 - b) * new


def weight(b: float, t: Array) -> Array:
    """1 - b^t, also where it is small."""
    return -_xp.namespace(t).expm1(t * math.log(b)) if b > 0 else _xp.indicator(t > 0, t)


def into(part: SoapBlock, A: Array) -> Array:
    """Q_L^T A Q_R."""
    xp = _xp.namespace(A)
    for side in part.left:
        A = xp.matmul(xp.matrix_transpose(side.Q), A)
    for side in part.right:
        A = xp.matmul(A, side.Q)
    return A


def back(part: SoapBlock, A: Array) -> Array:
    """Q_L A Q_R^T."""
    xp = _xp.namespace(A)
    for side in part.left:
        A = xp.matmul(side.Q, A)
    for side in part.right:
        A = xp.matmul(A, xp.matrix_transpose(side.Q))
    return A


def first(part: SoapBlock) -> SoapBlock:
    """The bases of eigenvectors, the largest eigenvalue first."""
    left, right = (
        tuple(side._replace(Q=_xp.namespace(side.G).flip(_xp.eigh(side.G)[1], axis=-1)) for side in sides)
        for sides in (part.left, part.right)
    )
    return part._replace(left=left, right=right)


def turned(part: SoapBlock) -> SoapBlock:
    """The bases after one power iteration; the squares go with their vectors."""
    v, found = part.v, []
    xp = _xp.namespace(v)
    for sides, axis in ((part.left, -2), (part.right, -1)):
        turned = []
        for G, Q in sides:
            product = xp.matmul(G, Q)
            order = xp.argsort(xp.sum(Q * product, axis=-2), axis=-1, descending=True, stable=True)
            v = _ordered(v, order, axis)
            turned.append(Side(G, xp.linalg.qr(_ordered(product, order, -1))[0]))
        found.append(tuple(turned))
    return part._replace(v=v, left=found[0], right=found[1])


def _ordered(A: Array, order: Array, axis: int) -> Array:
    """The rows (axis -2) or columns (axis -1) of matrices in an order, of shape (..., p)."""
    xp = _xp.namespace(A)
    index = order[..., :, None] if axis == -2 else order[..., None, :]
    return xp.take_along_axis(A, xp.broadcast_to(index, A.shape), axis=axis)


def _where(condition: Array, new: SoapBlock, old: SoapBlock) -> SoapBlock:
    """What is new for the replications for which the condition holds, of shape (..., 1, 1)."""
    where = _xp.namespace(condition).where
    sides = [
        tuple(Side(a.G, where(condition, a.Q, b.Q)) for a, b in zip(*pair, strict=True))
        for pair in ((new.left, old.left), (new.right, old.right))
    ]
    return new._replace(v=where(condition, new.v, old.v), left=sides[0], right=sides[1])


registry.add(
    "soap",
    lambda eps=FLOOR, **options: Soap(fallback=Adam(eps=eps, **options), floor=eps, b1=None, eps=eps, turn=0),
    "Adam in the eigenbasis of Shampoo",
)
