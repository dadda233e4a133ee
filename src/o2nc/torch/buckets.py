"""Buckets: how the tensors of a model are cut and packed for the cache.

Every operation of an optimizer is short and elementwise, so its cost is that of moving memory. A large tensor is taken
in pieces that stay in the cache through all operations of a step; small ones are packed, since each call has a price.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

from .kernels import Kernel

Tensor = torch.Tensor
SIZE = 2**17  # entries of a bucket
UNCUT = 2**62  # no tensor has so many entries
FACTORS = ("one", "hat", "adam")  # of the arrays of kernels


class Entries(NamedTuple):
    """A piece of one tensor, or several tensors; they are known by their number, their row.

    >>> entries = Entries((0,), slice(1, 3))
    >>> x = torch.arange(4.0)
    >>> entries.take([x]).mul_(10)
    tensor([10., 20.])
    >>> x
    tensor([ 0., 10., 20.,  3.])
    """

    rows: tuple[int, ...]
    piece: slice | None = None
    owner: Tensor | None = None  # of each entry, which of several rows it belongs to

    def take(self, tensors: Sequence[Tensor] | Mapping[int, Tensor]) -> Tensor:
        """The entries, flat: a view of a piece, or a copy of several tensors."""
        if self.piece is not None:
            return tensors[self.rows[0]].view(-1)[self.piece]
        return _flatten_dense_tensors([tensors[row] for row in self.rows])  # type: ignore[no-untyped-call]

    def put(self, flat: Tensor, tensors: Sequence[Tensor]) -> None:
        """Bring back what was taken, and changed."""
        if self.piece is None:
            mine = [tensors[row] for row in self.rows]
            pieces = _unflatten_dense_tensors(flat, mine)  # type: ignore[no-untyped-call]
            torch._foreach_copy_(mine, list(pieces))

    def numbers(self, values: Any, like: Tensor) -> Any:
        """The value of each tensor where its entries are: one float if it is the same for all, else a flat tensor."""
        chosen = [values[row] for row in self.rows]
        if self.owner is None or len(set(chosen)) == 1:
            return chosen[0]
        return torch.tensor(chosen, dtype=like.dtype, device=like.device)[self.owner]


def cut(rows: Iterable[int], tensors: Sequence[Tensor], size: int, piece: int) -> Iterator[Entries]:
    """All of the given tensors: those below ``size`` entries packed up to that many, others in pieces of ``piece``.

    Reference: none; measured in benchmarks/torch_step.py.

    >>> for entries in cut([0, 1, 2], [torch.zeros(3), torch.zeros(5), torch.zeros(1)], size=4, piece=4):
    ...     print(entries)
    Entries(rows=(1,), piece=slice(0, 4, None), owner=None)
    Entries(rows=(1,), piece=slice(4, 5, None), owner=None)
    Entries(rows=(0, 2), piece=None, owner=tensor([0, 0, 0, 1]))
    """
    pack: list[int] = []
    packed = 0
    for row in rows:
        tensor, n = tensors[row], tensors[row].numel()
        if n >= size and tensor.is_contiguous():
            yield from (Entries((row,), slice(k, min(k + piece, n))) for k in range(0, n, piece))
            continue
        if pack and packed + n > size:
            yield _packed(pack, tensors)
            pack, packed = [], 0
        pack.append(row)
        packed += n
    if pack:
        yield _packed(pack, tensors)


def _packed(rows: list[int], tensors: Sequence[Tensor]) -> Entries:
    if len(rows) == 1:
        return Entries(tuple(rows))
    counts = torch.tensor([tensors[row].numel() for row in rows], device=tensors[rows[0]].device)
    return Entries(tuple(rows), owner=torch.arange(len(rows), device=counts.device).repeat_interleave(counts))


class Bucket:
    """Entries of parameters of one group that have the same kernels.

    Args:
        entries: which.
        kernels: of the experts, each once, though several may be the same for these parameters.
        group: the number of the group.
        traces: the keys of the traces of the kernels; none if nobody asks for them.

    Reference: none.
    """

    def __init__(self, entries: Entries, kernels: Sequence[Kernel], group: int, traces: Sequence[str]):
        self.entries, self.kernels, self.group, self.traces = entries, tuple(dict.fromkeys(kernels)), group, traces
        keys = [kernel.key for kernel in self.kernels if kernel.key]
        self.kept = [kernel.key for kernel in self.kernels if kernel.key and kernel.key != "root"]
        self.tracked = ("m", "root") if "root" in keys else ("m",)
        self._views: dict[str, Tensor] = {}

    @property
    def is_mixed(self) -> bool:
        """Whether there are several directions, whose lengths must be known before they can be played."""
        return len(self.kernels) > 1

    def take(self, key: str, tensors: Sequence[Tensor]) -> Tensor:
        """The entries of state tensors; those of a piece are always the same view."""
        if self.entries.piece is None:
            return self.entries.take(tensors)
        if key not in self._views:
            self._views[key] = self.entries.take(tensors)
        return self._views[key]


class Layout(NamedTuple):
    """The buckets of the parameters that have gradients, and how to bring together what is found on each."""

    buckets: list[Bucket]
    choice: Tensor  # for each row and expert of its group, which of the kernels of its buckets
    factor: Tensor  # for each row and kernel of its buckets, which of the `FACTORS`
    differing: Tensor  # for each row, how many kernels there are
    judged: tuple[Tensor, ...]  # the places of the sums of `judge`
    measured: tuple[Tensor, ...]  # ... and of `measure`


def places(buckets: Sequence[Bucket], count: Callable[[Bucket], int]) -> tuple[Tensor, ...]:
    """Row and column of sums that are found bucket by bucket, ``count`` of them in each.

    >>> places([Bucket(Entries((0, 2)), [], 0, [])], lambda bucket: 2)
    (tensor([0, 2, 0, 2]), tensor([0, 0, 1, 1]))
    """
    found = [(row, column) for each in buckets for column in range(count(each)) for row in each.entries.rows]
    return torch.tensor(found, dtype=torch.long).reshape(-1, 2).unbind(-1)
