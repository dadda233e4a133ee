"""Trees of parameters as vectors of the core.

The vector is the `Blocks` of the leaves, in the order of ``jax.tree.leaves``. In a state that Optax keeps, a vector is
`Blocks` of the whole tree instead, so that whatever looks for trees like the parameters (``optax.tree_map_params``,
sharding rules, checkpoints) finds them.
"""

from typing import Any

import jax
import jax.numpy as jnp

from ..states import ByBlock
from ..vectors import Blocks

Tree = Any  # any pytree
Form = Any  # the PyTreeDef of the parameters


def check_parameters(params: Tree) -> None:
    """Raise unless every leaf is an array of real floating numbers.

    >>> check_parameters({"w": jnp.zeros(2), "n": jnp.zeros(2, dtype=jnp.int32)})
    Traceback (most recent call last):
        ...
    TypeError: `params` must have real floating leaves; ['n'] has dtype int32. `optax.masked` leaves it out.
    """
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        dtype = jnp.result_type(leaf) if isinstance(leaf, (int, float, complex)) or hasattr(leaf, "dtype") else None
        if dtype is None or not jnp.issubdtype(dtype, jnp.floating):
            name = jax.tree_util.keystr(path) or "the only leaf"
            found = f"dtype {dtype}" if dtype is not None else f"the type {type(leaf).__name__}"
            raise TypeError(
                f"`params` must have real floating leaves; {name} has {found}. `optax.masked` leaves it out."
            )


def state_dtype(tree: Tree) -> Any:
    """The dtype of a state for these parameters: the widest of the leaves, and at least float32.

    >>> state_dtype({"w": jnp.zeros(2, dtype=jnp.bfloat16)})
    dtype('float32')
    """
    return jnp.result_type(jnp.float32, *jax.tree.leaves(tree))


def to_blocks(tree: Tree, dtype: Any) -> Blocks:
    """The leaves of a tree as one vector; a tree without leaves is a vector without coordinates.

    >>> to_blocks({"b": jnp.ones(2), "a": jnp.zeros(1)}, jnp.float32)
    Blocks(arrays=(Array([0.], dtype=float32), Array([1., 1.], dtype=float32)))
    """
    return Blocks(tuple(jnp.asarray(leaf, dtype) for leaf in jax.tree.leaves(tree)) or (jnp.zeros((0,), dtype),))


def to_tree(vector: Blocks, form: Form) -> Tree:
    """The inverse of `to_blocks`, for the structure ``form``."""
    return form.unflatten(vector.arrays[: form.num_leaves])


def like(tree: Tree, example: Tree) -> Tree:
    """``tree`` with the dtypes of ``example``."""
    return jax.tree.map(lambda a, b: a.astype(jnp.result_type(b)), tree, example)


def _is_vector(value: Any) -> bool:
    return isinstance(value, Blocks)


def _is_apart(value: Any) -> bool:
    return isinstance(value, (Blocks, ByBlock))  # vectors inside `ByBlock` are single leaves, and stay as they are


def stored(state: Any, form: Form) -> Any:
    """A state of the core as Optax keeps it: vectors are trees.

    What is kept by block has another structure for every tree. For a tree without leaves one number is in its place,
    so that ``optax.tree_map_params``, which asks for the state of such a tree, takes all of it for one thing that is
    not like the parameters.

    >>> x = {"b": jnp.ones(1), "a": None}
    >>> stored((to_blocks(x, jnp.float32),), jax.tree.structure(x))
    (Blocks(arrays={'a': None, 'b': Array([1.], dtype=float32)}),)
    """

    def kept(v: Any) -> Any:
        if isinstance(v, ByBlock) and form.num_leaves == 0:
            return ByBlock(jnp.zeros(()))  # type: ignore[arg-type]
        return Blocks(to_tree(v, form)) if _is_vector(v) else v

    return jax.tree.map(kept, state, is_leaf=_is_apart)


def restored(state: Any) -> Any:
    """The inverse of `stored`."""
    return jax.tree.map(
        lambda v: Blocks(tuple(jax.tree.leaves(v.arrays))) if _is_vector(v) else v, state, is_leaf=_is_apart
    )


def find(state: Any, kind: type) -> list[Any]:
    """The states of a kind inside any state of Optax, in their order.

    >>> import optax
    >>> find((optax.EmptyState(), (optax.TraceState(trace=None),)), optax.TraceState)
    [TraceState(trace=None)]
    """
    nodes = jax.tree.leaves(state, is_leaf=lambda node: isinstance(node, kind))
    return [node for node in nodes if isinstance(node, kind)]
