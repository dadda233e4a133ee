"""Buckets: how the tensors of a model are cut and packed for the cache.

Every operation of an optimizer is short and elementwise, so its cost is that of moving memory. A large tensor is taken
in pieces that stay in the cache through all operations of a step; small ones are packed, since each call has a price.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

Tensor = torch.Tensor
SIZE = 2**17  # entries of a bucket


class Bucket(NamedTuple):
    """A piece of one tensor, or several whole ones; tensors are known by their number.

    >>> bucket = Bucket((0,), slice(1, 3))
    >>> x = torch.arange(4.0)
    >>> bucket.take([x]).mul_(10)
    tensor([10., 20.])
    >>> x
    tensor([ 0., 10., 20.,  3.])
    """

    rows: tuple[int, ...]
    piece: slice | None = None
    owner: Tensor | None = None  # of each entry, which of several rows it belongs to

    def take(self, tensors: Sequence[Tensor]) -> Tensor:
        """The entries, flat: a view of a piece, or a copy of whole tensors."""
        if self.piece is not None:
            return tensors[self.rows[0]].view(-1)[self.piece]
        return _flatten_dense_tensors([tensors[row] for row in self.rows])  # type: ignore[no-untyped-call]

    def put(self, flat: Tensor, tensors: Sequence[Tensor]) -> None:
        """Bring back what was taken, and changed."""
        if self.piece is None:
            whole = [tensors[row] for row in self.rows]
            pieces = _unflatten_dense_tensors(flat, whole)  # type: ignore[no-untyped-call]
            torch._foreach_copy_(whole, list(pieces))

    def numbers(self, values: Any, like: Tensor) -> Any:
        """The value of each tensor where its entries are: one float if it is the same for all, else a flat tensor."""
        chosen = [values[row] for row in self.rows]
        if self.owner is None or len(set(chosen)) == 1:
            return chosen[0]
        return torch.tensor(chosen, dtype=like.dtype, device=like.device)[self.owner]


def buckets(rows: Iterable[int], tensors: Sequence[Tensor], size: int, piece: int) -> Iterator[Bucket]:
    """All of the given tensors: those below ``size`` entries packed up to that many, others in pieces of ``piece``.

    Reference: none; measured in benchmarks/torch_step.py.

    >>> for bucket in buckets([0, 1, 2], [torch.zeros(3), torch.zeros(5), torch.zeros(1)], size=4, piece=4):
    ...     print(bucket)
    Bucket(rows=(1,), piece=slice(0, 4, None), owner=None)
    Bucket(rows=(1,), piece=slice(4, 5, None), owner=None)
    Bucket(rows=(0, 2), piece=None, owner=tensor([0, 0, 0, 1]))
    """
    pack: list[int] = []
    packed = 0
    for row in rows:
        tensor, n = tensors[row], tensors[row].numel()
        if n >= size and tensor.is_contiguous():
            yield from (Bucket((row,), slice(k, min(k + piece, n))) for k in range(0, n, piece))
            continue
        if pack and packed + n > size:
            yield _packed(pack, tensors)
            pack, packed = [], 0
        pack.append(row)
        packed += n
    if pack:
        yield _packed(pack, tensors)


def _packed(rows: list[int], tensors: Sequence[Tensor]) -> Bucket:
    if len(rows) == 1:
        return Bucket(tuple(rows))
    counts = torch.tensor([tensors[row].numel() for row in rows], device=tensors[rows[0]].device)
    return Bucket(tuple(rows), owner=torch.arange(len(rows), device=counts.device).repeat_interleave(counts))
