"""Many sums in one pass over the memory."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp


def sums(terms: Sequence[jax.Array]) -> list[jax.Array]:
    """The sum of each array, all of one shape: one reduction, so that what they are made of is read once.

    >>> a = jnp.ones((2, 3))
    >>> [float(total) for total in sums([a, 2 * a])]
    [6.0, 12.0]
    """
    zeros = tuple(jnp.zeros((), term.dtype) for term in terms)
    return list(jax.lax.reduce(tuple(terms), zeros, _add, tuple(range(terms[0].ndim))))


def _add(u: Sequence[jax.Array], v: Sequence[jax.Array]) -> tuple[jax.Array, ...]:
    return tuple(a + b for a, b in zip(u, v, strict=True))
