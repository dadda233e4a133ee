"""SOAP: Adam in the eigenbasis of Shampoo."""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
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

RIDGE = 1e-4  # the part of the mean eigenvalue that an iteration adds to all of them
ANCHOR = 0.1  # the part of the identity that it adds to the basis
LEAST = 0.01  # the part of the root mean square of all divisors that is added to each
SETTLING, ITERATIONS = 3, 4  # the samples after each of which a basis takes so many iterations; later it takes one


class Side(NamedTuple):
    """What `Soap` remembers of the rows or the columns of a matrix."""

    G: Array  # the average of S S^T, or of S^T S, (..., p, p)
    Q: Array  # an orthogonal basis, in columns, that tends to the eigenvectors of G


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
    r"""SOAP's direction of each matrix block: Adam's in bases that tend to the eigenvectors of Shampoo's L and R.

    $$d=\frac{\sqrt{1-b_2^t}}{1-b_1^t}\,Q_L\,\frac{Q_L^\top MQ_R}{\sqrt V+\delta+\epsilon}\,Q_R^\top,\qquad
    V\leftarrow b_2V+(1-b_2)(Q_L^\top SQ_R)^2,\qquad L\leftarrow b_2L+(1-b_2)SS^\top,$$

    $M\leftarrow b_1M+(1-b_1)S$ an average of its own, R as L from $S^\top S$, and $\delta$ a hundredth of the root mean
    square of $\sqrt V$ over the matrix. The bases start at the identity and follow by orthogonal iteration,

    $$Q\leftarrow\mathrm{qr}\bigl((L+10^{-4}\,\bar\lambda I)(Q+\tfrac1{10}I)\bigr),\qquad\bar\lambda=\mathrm{tr}L/p,$$

    where R has a positive diagonal: four times after each of the first three samples, and once after every ``every``
    rounds. The first sample gives bases, and no direction; so no sample is seen in a basis that it has made. A side
    longer than ``limit`` has no basis: it is that of the coordinates.

    So d is a continuous function of the samples, also where they have fewer dimensions than a side, or equal singular
    values: a change in the last digit, as from another number of processes, stays one. The ridge bounds how far the
    directions turn in which there were no samples yet. The tenth of the identity leads a column to its new place when
    the order of eigenvalues changes; without it, what rounding has left would. And no factorisation can fail.

    The code of the paper differs in four things: it finds the first bases by eigenvalues, which are arbitrary in such
    cases and may not converge; it sorts the columns; it has no ridge and no identity; and it has no $\delta$.

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
        turn: None if all bases turn in the same rounds; a number if those of another shape turn in others, so that no
            round is slow: all turn so many rounds later.
        limit: the longest side that gets a basis.
        length: the root mean square of the direction; None for its own, about that of Adam.
        stacks: whether a block with three axes is a stack; if not, it is a convolution.

    Reference: Vyas et al., SOAP (2024), Algorithm 3; Golub and Van Loan, section 8.2, for orthogonal iteration.

    >>> import numpy as np
    >>> from o2nc import Blocks
    >>> expert, m = Soap(), Blocks((np.asarray([[3.0, 0.0], [0.0, -4.0]]),))
    >>> state = expert.learn(expert.learn(expert.init(m), m), m)
    >>> expert.direction(state, m).arrays[0].round(2) + 0.0
    array([[ 0.99,  0.  ],
           [ 0.  , -0.99]])
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
        blocks = tuple(part if S is None else self._learned(part, n, S) for part, n, S in triples)
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
        root = xp.sqrt(part.v) + LEAST * xp.sqrt(xp.mean(part.v, axis=(-2, -1), keepdims=True)) + self.eps
        A = into(part, M if self.b1 is None else part.m[0]) / _xp.at_least(root, _xp.smallest_normal(root))
        return back(part, A) * (xp.sqrt(weight(self.b2, t)) * of_m)

    def due(self, n: Any, shape: Sequence[int]) -> Any:
        """Whether the bases of a matrix turn after n samples, which are more than it needs to settle."""
        later = 0 if self.turn is None else (self.turn + zlib.crc32(repr(tuple(shape)).encode())) % self.every
        return (n > SETTLING) & ((n - 1 - later) % self.every == 0)  # n - 1 directions so far

    def _learned(self, part: SoapBlock, n: Array, S: Array) -> SoapBlock:
        xp = _xp.namespace(S)
        for where, iterations in ((settles(n), ITERATIONS), (self.due(n, S.shape[-2:]), 1)):
            (part,) = _xp.when(xp.any(where), partial(_turned_where, where, iterations), part)
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


def settles(n: Any) -> Any:
    """Whether the bases of a matrix take several iterations after n samples, as in the beginning."""
    return (n >= 1) & (n <= SETTLING)


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


def turned(part: SoapBlock, iterations: int = 1) -> SoapBlock:
    """The bases after so many orthogonal iterations; a basis of a G that is 0 stays."""
    left, right = (
        tuple(side._replace(Q=_iterated(side, iterations)) for side in sides) for sides in (part.left, part.right)
    )
    return part._replace(left=left, right=right)


def _iterated(side: Side, iterations: int) -> Array:
    xp, (G, Q) = _xp.namespace(side.G), side
    mean = xp.mean(xp.linalg.diagonal(G), axis=-1, keepdims=True)[..., None]
    eye = _xp.eye(G.shape[-1], G)
    A = G * _xp.inverse(mean) + RIDGE * eye
    for _ in range(iterations):
        Q, R = xp.linalg.qr(xp.matmul(A, Q + ANCHOR * eye))
        Q = Q * (1 - 2 * _xp.indicator(xp.linalg.diagonal(R) < 0, G))[..., None, :]
    return Q


def _turned_where(condition: Array, iterations: int, part: SoapBlock) -> tuple[SoapBlock]:
    """The bases turned in the replications for which the condition holds, of shape (..., 1, 1)."""
    new, where = turned(part, iterations), _xp.namespace(condition).where
    pairs = ((part.left, new.left), (part.right, new.right))
    left, right = (
        tuple(a._replace(Q=where(condition, b.Q, a.Q)) for a, b in zip(*pair, strict=True)) for pair in pairs
    )
    return (part._replace(left=left, right=right),)


registry.add(
    "soap",
    lambda eps=FLOOR, **options: Soap(fallback=Adam(eps=eps, **options), floor=eps, b1=None, eps=eps, turn=0),
    "Adam in the eigenbasis of Shampoo",
)
