"""The coins of an algorithm, r_t and tau, from a key that is kept in the state."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..checks import brief


def first_key(seed: Any) -> jax.Array:
    """The key of a seed as plain integers, which every checkpoint format can store.

    >>> first_key(-1)
    Traceback (most recent call last):
        ...
    ValueError: `seed` must be a nonnegative whole number; got -1.
    """
    integral = (
        jnp.issubdtype(jnp.result_type(seed), jnp.integer) if isinstance(seed, (int, np.ndarray, jax.Array)) else 0
    )
    if not integral or isinstance(seed, bool) or jnp.ndim(seed) != 0:
        raise TypeError(
            f"`seed` must be a whole number, or an integer array of shape () under `vmap`; got {brief(seed)}."
        )
    if isinstance(seed, int) and seed < 0:
        raise ValueError(f"`seed` must be a nonnegative whole number; got {seed}.")
    return jax.random.key_data(jax.random.key(seed))


def next_key(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The key to keep, and the key of this round."""
    kept, used = jax.random.split(jax.random.wrap_key_data(key))
    return jax.random.key_data(kept), used


def round_of(law: Callable[[float], int], key: jax.Array) -> jax.Array:
    """The round tau = law(u) with u uniform on [0, 1), of shape (1,); also under ``jit`` and ``vmap``.

    >>> int(round_of(lambda u: 1 + int(4 * u), jax.random.key(0))[0]) in (1, 2, 3, 4)
    True
    """

    def on_host(bits: Any) -> Any:
        return np.asarray([law(float(b) / 2**32) for b in np.ravel(bits)], dtype=np.int32).reshape(np.shape(bits))

    bits, like = jax.random.bits(key, (1,), jnp.uint32), jnp.zeros((1,), jnp.int32)
    if not isinstance(bits, jax.core.Tracer):
        return jnp.asarray(on_host(bits))
    return jax.pure_callback(on_host, like, bits, vmap_method="expand_dims")
