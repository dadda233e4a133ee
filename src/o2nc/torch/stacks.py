"""Stacks: where the state of tensors lies, and the buckets in which a step goes over it.

Every operation of an optimizer is short and elementwise, so its cost is that of moving memory, and of calls. The state
of small tensors of one shape is one array, so that a call serves all of them. A large tensor is alone, and is taken in
pieces: they need little memory besides, and may stay in a cache through the operations of a pass.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from .kernels import Kernel
from .weights import Floats

Tensor = torch.Tensor
SIZE = 2**20  # entries of a bucket, at most
LARGE = 2**15  # entries of a tensor that is alone
PART = 8  # a stack has at most this part of the entries of a model, since a step copies it ...
FEW, SMALL = 32, 2**12  # ... or so many tensors, or entries, since fewer are slow
BATCH = 4  # buckets of one shape for a call of compiled code
SHORT, LINE = 2**6, 2**12  # entries of a line: Inductor is slow at longer sums


class Stack:
    """Tensors of one shape, group and dtype, known by their numbers (their rows), that have the same kernels.

    Args:
        rows: which.
        held: the parameters, as far as this process holds them.
        kernels: of the experts, each once, though several may be the same for these parameters.
        group: the number of the group.
        traces: the keys of the traces of the kernels, None for one that is not kept; none if nobody asks for them.
        arrays: the state by key, each of shape (rows, ...).
        directions: of the kernels, by the name of the expert.

    Reference: none.
    """

    def __init__(
        self,
        rows: Sequence[int],
        held: Sequence[Tensor],
        kernels: Sequence[Kernel],
        group: int,
        traces: Sequence[str | None],
        arrays: dict[str, Tensor],
        directions: dict[str, Any],
    ):
        self.rows, self.group, self.traces, self.arrays = list(rows), group, traces, arrays
        self.directions = directions
        self.states: dict[Any, Any] = {}  # of directions, as views of the arrays
        self.kernels = tuple(dict.fromkeys(kernels))
        self.shape, self.n = tuple(held[0].shape), held[0].numel()
        self.is_packed = len(rows) > 1 or not held[0].is_contiguous()
        self.needs = (self.is_packed, *(kernel.is_computed for kernel in self.kernels))  # memory for these, in a step
        keys = [kernel.key for kernel in self.kernels if kernel.key]
        self.masks = [key for key in keys if key in arrays and key != "root"]
        self.stored = [kernel.key for kernel in self.kernels if kernel.is_stored]

    def flat(self, key: str) -> Tensor:
        """State like the parameters, of shape (rows, entries)."""
        return self.arrays[key].view(len(self.rows), self.n)


class Bucket:
    """Some rows of a stack, or some entries of one row, with views of their state.

    Args:
        stack: of the rows.
        where: which of its rows.
        entries: which of their entries.
        is_lined: whether all is cut into lines of one length, as compiled code wants it.

    Reference: none.

    >>> stack = Stack([7, 3], [torch.zeros(2)] * 2, [], 0, [], {"m": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}, {})
    >>> bucket = Bucket(stack, slice(1, 2), slice(0, 2))
    >>> bucket.rows, bucket.m
    ([3], tensor([[3., 4.]]))
    """

    def __init__(self, stack: Stack, where: slice, entries: slice, is_lined: bool = False):
        self.stack, self.where, self.entries, self.rows = stack, where, entries, stack.rows[where]
        self.line, self.lines = None, self.rows  # of each line its row
        if is_lined:
            self.line = line(stack.n)
            self.lines = [row for row in self.rows for _ in range(stack.n // self.line)]
        self.is_piece = (entries.start, entries.stop) != (0, stack.n)
        self.m = self.of(stack.flat("m"))
        self.root = self.of(stack.flat("root")) if "root" in stack.arrays else None
        self.traces = [None if key is None else self.of(stack.flat(key)) for key in stack.traces]
        self.masks = {key: self.of(stack.flat(key)) for key in stack.masks}

    def of(self, array: Tensor) -> Tensor:
        """The part of an array, of shape (rows, entries), flat if the stack has one row; it shares its memory.

        It does not know the array: code would be compiled anew for views of arrays of other shapes.
        """
        return self._lined(array[self.where] if self.stack.is_packed else array[0, self.entries]).data

    def take(self, tensors: Sequence[Tensor], out: Tensor | None) -> Tensor:
        """The entries of tensors that lie apart: a view of one, or a copy of several, in ``out`` if it is given."""
        if not self.stack.is_packed:
            flat = tensors[self.rows[0]].view(-1)
            return self._lined(flat[self.entries] if self.is_piece else flat)
        out = None if out is None else out.view(len(self.rows), *self.stack.shape)
        return self._lined(torch.stack([tensors[row] for row in self.rows], out=out).view(len(self.rows), self.stack.n))

    def by_row(self, array: Tensor) -> Tensor:
        """What was taken, without its lines."""
        if self.line is None:
            return array
        return array.view(len(self.rows), -1) if self.stack.is_packed else array.view(-1)

    def _lined(self, array: Tensor) -> Tensor:
        return array if self.line is None else array.view(-1, self.line)

    def put(self, flat: Tensor, tensors: Sequence[Tensor]) -> None:
        """Bring back what was taken, and changed."""
        if self.stack.is_packed:
            back = flat.view(len(self.rows), *self.stack.shape).unbind()
            torch._foreach_copy_([tensors[row] for row in self.rows], back)


class Part(NamedTuple):
    """Buckets that are looked at before any of them is moved."""

    buckets: list[Bucket]
    batches: list[slice]  # of buckets for which one call serves
    rows: NDArray[np.int_]  # of all buckets, one after the other
    order: NDArray[np.int_]  # ... and of their lines
    places: NDArray[np.int_]  # of the sums that are found, in a table with ``columns``
    columns: int  # for what is found with traces, of m, and of pairs of kernels

    def numbers(self, table: Floats, is_compiled: bool) -> list[Any]:
        """For each bucket the numbers of a table that has a column a row: of shape (lines, 1), floats where it is flat.

        Compiled code never gets floats, nor views of a large table: it would be compiled anew for every other one, and
        for other places in the table.
        """
        table, found, k = table[:, self.order], list[Any](), 0
        floats, cast = list[Any](), dict[Any, Tensor]()
        for bucket in self.buckets:
            m, n = bucket.m, len(bucket.lines)
            if m.ndim == 1:
                floats = floats or table.T.tolist()
                found.append(floats[k])
            else:
                if (m.dtype, m.device) not in cast:
                    cast[m.dtype, m.device] = torch.from_numpy(table[..., None]).to(m.device, m.dtype)
                mine = cast[m.dtype, m.device][:, k : k + n]
                found.append(mine.clone() if is_compiled else mine.unbind())
            k += n
        return found

    def table(self, sums: Sequence[Tensor], rows: int) -> Floats:
        """The sums in a table of so many rows."""
        found: Any = np.bincount(self.places, flat(sums), rows * self.columns)
        return found.reshape(rows, self.columns)


class Layout(NamedTuple):
    """How a step goes over the parameters that have gradients."""

    rows: NDArray[np.int_]
    chosen: set[int]  # the same
    narrow: list[int]  # those whose points are kept beside them
    parts: list[Part]


def flat(sums: Sequence[Tensor]) -> Floats:
    """Sums one after the other, those of single rows too; there may be none."""
    if not sums:
        return np.zeros(0)
    found: Floats = torch.cat([a.reshape(-1) for a in sums]).to("cpu", torch.float64).numpy()
    return found


def parts(stacks: Sequence[Stack], rows: Sequence[int], piece: int | None, limit: float, K: int) -> list[Part]:
    """The tensors of the stacks that are in ``rows``, in buckets; large ones are cut into pieces.

    Args:
        stacks: of the table.
        rows: of the parameters that have gradients.
        piece: how many entries one has at most; None if all is cut into lines.
        limit: the entries of a part for which directions are in memory that have no kernel.
        K: the most experts that a parameter has.

    Reference: none; measured in benchmarks/torch_step.py.
    """
    chosen, found, count = set(rows), [list[Bucket]()], 0
    for stack in stacks:
        places = [k for k, row in enumerate(stack.rows) if row in chosen]
        if stack.stored and places:
            if count and count + len(places) * stack.n > limit:
                found.append([])
                count = 0
            count += len(places) * stack.n
        if stack.is_packed:
            found[-1] += [Bucket(stack, where, slice(0, stack.n), piece is None) for where in runs(places)]
        elif places:
            size = piece or max(stack.n, 1)
            cuts = [slice(k, min(k + size, stack.n)) for k in range(0, max(stack.n, 1), size)]
            found[-1] += [Bucket(stack, slice(0, 1), cut, piece is None) for cut in cuts]
    return [part(each, K) for each in found if each]


def part(buckets: list[Bucket], K: int) -> Part:
    """A part of these buckets."""
    order, places, columns = list[int](), list[int](), K + 1 + K * (K + 1) // 2
    for bucket in buckets:
        J, rows = len(bucket.stack.kernels), bucket.lines
        sums = (*range(len(bucket.stack.traces)), *range(K, K + 1 + J * (J + 1) // 2))
        places += [row * columns + column for column in sums for row in rows]
        order += rows
    held = np.asarray([row for bucket in buckets for row in bucket.rows])
    return Part(buckets, batches(buckets), held, np.asarray(order, int), np.asarray(places, int), columns)


def batches(buckets: Sequence[Bucket]) -> list[slice]:
    """Large tensors with lines that follow each other and have one shape, by `BATCH`; all else is one by one."""
    found, k = list[slice](), 0
    kinds = [(b.stack.kernels, b.stack.group, b.m.shape, b.m.dtype) for b in buckets]
    while k < len(buckets):
        is_single = buckets[k].line is None or buckets[k].stack.is_packed
        count = 1 if is_single or kinds[k : k + BATCH] != [kinds[k]] * BATCH else BATCH
        found.append(slice(k, k + count))
        k += count
    return found


def runs(places: Sequence[int], key: Callable[[int], Any] = lambda _: None) -> Iterator[slice]:
    """Numbers that grow, as slices without gaps in which ``key`` is the same.

    >>> list(runs([0, 1, 2, 4]))
    [slice(0, 3, None), slice(4, 5, None)]
    """
    for _, run in groupby(enumerate(places), lambda each: (each[1] - each[0], key(each[1]))):
        found = [place for _, place in run]
        yield slice(found[0], found[-1] + 1)


def line(n: int) -> int:
    """The length of the lines into which n entries are cut: the longest that leaves nothing over, if it is not short.

    >>> line(300), line(50_257 * 384), line(10_007)
    (300, 3712, 10007)
    """
    longest = next(k for k in range(max(min(n, LINE), 1), 0, -1) if n % k == 0)
    return longest if longest >= SHORT else max(n, 1)
