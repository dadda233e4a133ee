"""What the compiler of JAX does slowly on a CPU, written so that it does not; for other libraries as usual."""

from collections.abc import Callable, Sequence
from typing import Any

import array_api_compat

from .._array import Array
from . import gathered, is_traced, namespace, scalar_shape

Terms = Callable[..., Sequence[Array]]  # of the numbers of a block, and of its arrays or pieces of them
CHUNK, LANES = 32768, 2048  # entries that stay in the cache of a CPU; sums that its vector units make side by side
SMALL = 4096  # the largest block that is stacked with others


def sums(terms: Terms, blocks: Sequence[Sequence[Array]], numbers: Sequence[Array] = ()) -> list[Array]:
    """For each term its sums over the entries of n blocks, (n,).

    On a CPU, XLA makes a loop of every sum, and a call for every block. So there all terms are added in one loop, a
    chunk of the entries at a time, and small blocks of one size are stacked.

    Args:
        terms: computed entry by entry, ``terms(numbers, *arrays)``; a term may be there twice.
        blocks: of each the arrays, which have one shape.
        numbers: what there is once a block, (n,) each; terms see them in a shape that broadcasts.
    """
    first = blocks[0][0]
    if not array_api_compat.is_jax_array(first) or not is_traced(first):
        return _plain(terms, blocks, numbers)
    import jax

    by_cpu: Any = lambda blocks, numbers: _on_cpu(terms, blocks, numbers)
    plain: Any = lambda blocks, numbers: _plain(terms, blocks, numbers)
    return list(jax.lax.platform_dependent(list(blocks), list(numbers), cpu=by_cpu, default=plain))


def _plain(terms: Terms, blocks: Sequence[Sequence[Array]], numbers: Sequence[Array]) -> list[Array]:
    xp, found = namespace(blocks[0][0]), []
    for i, arrays in enumerate(blocks):
        beside = [xp.reshape(c[i : i + 1], scalar_shape(arrays[0])) for c in numbers]
        found.append([gathered(xp.reshape(xp.sum(term), (1,))) for term in terms(beside, *arrays)])
    return [each[0] if len(each) == 1 else xp.concat(each) for each in zip(*found, strict=True)]


def _on_cpu(terms: Terms, blocks: Sequence[Sequence[Any]], numbers: Sequence[Any]) -> list[Array]:
    import jax.numpy as jnp

    groups: dict[int, list[int]] = {}  # the blocks of each size
    for i, arrays in enumerate(blocks):
        groups.setdefault(arrays[0].size, []).append(i)
    found = []
    for size, rows in groups.items():
        own, flat = [c[jnp.asarray(rows)] for c in numbers], [[a.reshape(-1) for a in blocks[i]] for i in rows]
        if size <= SMALL:
            found.append(_added(terms([c[:, None] for c in own], *map(jnp.stack, zip(*flat, strict=True))), 1))
        else:
            each = [_in_chunks(terms, arrays, [c[k : k + 1] for c in own]) for k, arrays in enumerate(flat)]
            found.append([jnp.stack(totals) for totals in zip(*each, strict=True)])
    order = [i for rows in groups.values() for i in rows]
    back = jnp.asarray(sorted(range(len(order)), key=order.__getitem__))
    return [each[0] if len(groups) == 1 else jnp.concat(each)[back] for each in zip(*found, strict=True)]


def _in_chunks(terms: Terms, arrays: Sequence[Any], numbers: Sequence[Any]) -> list[Array]:
    """The sums of the terms of a large block, of shape ()."""
    import jax

    def lanes_of(start: Any, entries: int) -> list[Any]:
        pieces = (jax.lax.dynamic_slice_in_dim(a, start, entries).reshape(-1, LANES) for a in arrays)
        return _added(terms([c[:, None] for c in numbers], *pieces), 0)

    def both(lanes: Sequence[Any], more: Sequence[Any]) -> list[Any]:
        return [a + b for a, b in zip(lanes, more, strict=True)]

    size, chunks = arrays[0].size, arrays[0].size // CHUNK
    whole = size // LANES * LANES
    found = _added(terms(numbers, *(a[whole:] for a in arrays)), 0)
    if whole > chunks * CHUNK:
        found = both(found, [lane.sum() for lane in lanes_of(chunks * CHUNK, whole - chunks * CHUNK)])
    if chunks:
        add: Any = lambda lanes, k: (both(lanes, lanes_of(k * CHUNK, CHUNK)), None)
        lanes, _ = jax.lax.scan(add, [jax.numpy.zeros(LANES, total.dtype) for total in found], jax.numpy.arange(chunks))
        found = both(found, [lane.sum() for lane in lanes])
    return found


def _added(terms: Sequence[Any], axis: int) -> list[Any]:
    """The sums of arrays of one shape over an axis, in one loop."""
    import jax

    once = list({id(term): term for term in terms}.values())
    add: Any = lambda a, b: tuple(p + q for p, q in zip(a, b, strict=True))
    found = jax.lax.reduce(tuple(once), tuple(jax.numpy.zeros((), term.dtype) for term in once), add, (axis,))
    of = dict(zip(map(id, once), found, strict=True))
    return [of[id(term)] for term in terms]


def again(*arrays: Array) -> tuple[Array, ...]:
    """The same arrays; under a JAX trace, what is computed of them is computed again where it is needed.

    XLA computes what is there twice once, and keeps it in memory that is asked of the system in every call. On a CPU it
    was quicker to compute a few operations of each entry again.
    """
    if not array_api_compat.is_jax_array(arrays[0]) or not is_traced(arrays[0]):
        return arrays
    import jax

    return tuple(jax.lax.optimization_barrier(arrays))  # type: ignore[no-untyped-call]
