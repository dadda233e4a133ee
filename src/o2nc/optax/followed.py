"""Whether the parameters are where the updates put them: a run that someone else moved has no certificate."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .. import _xp
from ..vectors import Blocks
from .trees import Form, Tree

ROUNDINGS = 4  # in units of the machine: compilers fuse x + u with what u is computed from


class Followed(NamedTuple):
    """Where the parameters must be in the next round, and in which round they were not.

    Reference: none; the theorems are about samples at the points that the updates make.

    >>> state = begun({"x": jnp.ones(2)})
    >>> state = follow(state, {"x": jnp.ones(2)}, {"x": -0.5 * jnp.ones(2)}, jax.tree.structure({"x": 0}), 1)
    >>> objection(follow(state, {"x": jnp.ones(2)}, {"x": jnp.zeros(2)}, jax.tree.structure({"x": 0}), 2))
    'the parameters of round 2 were not those that the updates before had made: both must go as they come'
    """

    x: Blocks  # of a tree like the parameters: those before the updates, plus the updates
    rounding: jax.Array  # by how much the entries of each leaf may differ from it, (leaves,)
    moved: jax.Array  # the first round in which they differed by more, or 0, ()
    unseen: jax.Array  # the first round in which `update` was not given the parameters, or 0, ()
    narrow: jax.Array  # 1 if parameters are narrower than float32, so that rounding moves the points, else 0, ()


def begun(params: Tree, place: Any = None) -> Followed:
    """Before round 1; the parameters of its update are x_1, whatever they are. Numbers are put in ``place``."""
    x = jax.tree.map(lambda p: jnp.asarray(p, jnp.promote_types(jnp.result_type(p), jnp.float32)), params)
    narrow = any(jnp.result_type(p).itemsize < 4 for p in jax.tree.leaves(params))
    zero = jnp.zeros((), jnp.int32, device=place)
    rounding = jnp.zeros(len(jax.tree.leaves(x)), jnp.float32, device=place)
    return Followed(Blocks(x), rounding, zero, zero, zero + narrow)


def follow(now: Followed, params: Tree | None, updates: Tree, form: Form, t: Any) -> Followed:
    """Look where the parameters of round t are, and where its updates will put them."""
    if params is None:
        return now._replace(unseen=jnp.where(now.unseen == 0, t, now.unseen))
    found, steps = ([jnp.asarray(a) for a in jax.tree.leaves(tree)] for tree in (params, updates))
    wanted, away = jax.tree.leaves(now.x), jnp.asarray(False)
    for p, x, allowed in zip(found, wanted, now.rounding, strict=True):
        away |= jnp.any(~(jnp.abs(p.astype(x.dtype) - x) <= allowed.astype(x.dtype)))
    is_first = away & (t > 1) & (now.moved == 0)
    rounding = [_largest(p) * _eps(p) + _largest(u) * (_eps(p) + _eps(u)) for p, u in zip(found, steps, strict=True)]
    after = [(p + u).astype(p.dtype).astype(x.dtype) for p, u, x in zip(found, steps, wanted, strict=True)]
    return now._replace(
        x=Blocks(form.unflatten(after)),
        rounding=ROUNDINGS * jnp.stack(rounding),
        moved=jnp.where(is_first, t, now.moved),
    )


def _largest(a: jax.Array) -> jax.Array:
    return jnp.max(jnp.abs(a), initial=0).astype(jnp.float32)


def _eps(a: jax.Array) -> float:
    return float(_xp.machine_eps(a))


def is_followed(now: Followed) -> jax.Array:
    """Whether the parameters were given, and where they should be, in every round; ()."""
    return (now.moved == 0) & (now.unseen == 0) & (now.narrow == 0)


def objection(now: Followed) -> str:
    """Why the run is not the one that the theorem is about, in words; nothing if it is. Also for replications."""
    moved, unseen = (sorted(set(np.ravel(rounds).tolist()) - {0}) for rounds in (now.moved, now.unseen))
    if unseen:
        return f"`update` was not given `params` in round {unseen[0]}, and without them the points are not followed"
    if moved:
        return (
            f"the parameters of round {moved[0]} were not those that the updates before had made: "
            "both must go as they come"
        )
    return "samples were taken at points rounded to less than float32" if np.any(now.narrow) else ""
