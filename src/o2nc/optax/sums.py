"""Many sums in one pass over the memory."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

LANES = 2048  # how many sums a CPU makes side by side: enough for its vector units, and they stay in its cache


def sums(terms: Callable[..., Sequence[jax.Array]], *arrays: jax.Array) -> list[jax.Array]:
    """The sum of each of the ``terms``, which are computed entry by entry from arrays of one shape.

    On a CPU, XLA does not vectorise a sum into one number; so there the terms are added in many lanes first.

    >>> a = jnp.arange(6.0).reshape(2, 3)
    >>> [float(total) for total in sums(lambda a, b: (a, a * b), a, 2 * a)]
    [15.0, 110.0]
    """
    plain: Any = lambda *arrays: [jnp.sum(term) for term in terms(*arrays)]
    if arrays[0].size < 2 * LANES:
        return plain(*arrays)
    return jax.lax.platform_dependent(*arrays, cpu=lambda *arrays: _in_lanes(terms, arrays), default=plain)


def _in_lanes(terms: Callable[..., Sequence[jax.Array]], arrays: Sequence[jax.Array]) -> list[jax.Array]:
    flat = [a.reshape(-1) for a in arrays]
    whole = flat[0].size // LANES * LANES
    rest = [jnp.sum(term) for term in terms(*(a[whole:] for a in flat))]
    rows = [a[:whole].reshape(-1, LANES) for a in flat]

    def add(lanes: Any, row: Any) -> tuple[Any, None]:
        return [lane + term for lane, term in zip(lanes, terms(*row), strict=True)], None

    lanes, _ = jax.lax.scan(add, [jnp.zeros(LANES, total.dtype) for total in rest], rows)
    return [total + jnp.sum(lane) for total, lane in zip(rest, lanes, strict=True)]
