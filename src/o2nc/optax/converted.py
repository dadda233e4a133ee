"""Any conversion of the core as a gradient transformation."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from .. import _xp
from ..conversions import Conversion
from ..conversions.base import check_can_have, check_is_conversion, check_knows_output
from ..vectors import Blocks, leaf
from .coins import first_key, next_key, round_of
from .followed import Followed, begun, follow, is_followed
from .reports import Report, report_of
from .trees import Form, Tree, check_parameters, like, restored, state_dtype, stored, to_blocks, to_tree


class ConvertState(NamedTuple):
    """What the transformation keeps; in ``conversion`` a vector is `Blocks` of a tree like the parameters."""

    count: jax.Array  # type: ignore[assignment]  # the updates so far, (); a tuple's own method is hidden, as in Optax
    conversion: Any  # the state of the conversion
    key: jax.Array  # of the coins to come
    output: Blocks | None  # the output point, if it is not that where gradients are taken
    report: Report  # weights, regret and certificate after these rounds
    followed: Followed | None  # where the parameters must be; None without a theorem


def convert(conversion: Conversion, seed: int = 0) -> optax.GradientTransformationExtraArgs:
    r"""A conversion as a gradient transformation: the parameters are one vector, the gradients are one sample.

    $$(\Delta x,\text{state})\leftarrow\text{update}(s,\text{state},x),\qquad x\leftarrow x+\Delta x.$$

    The leaves of the parameters are the `Blocks` of the vector, in the order of ``jax.tree.leaves``. State is kept in
    the widest dtype of the parameters and at least in float32; updates have the dtypes of the gradients.

    Algorithm 2 and its relatives take gradients at one point and output another: `eval_params` gives the latter. Their
    coins, $r_t$ and $\tau$, come from a key in the state.

    A certificate is about gradients at the points that the updates make. So the state keeps where the parameters must
    be in the next round, one more vector, and if the ``params`` of an update are elsewhere by more than rounding, or
    are not given, there is no certificate. It cannot see what is done to gradients before they get here, as by a
    clipping that stands before it in a chain.

    Args:
        conversion: one of `o2nc.conversions`, or your own.
        seed: of the coins; an integer array of shape () for ``vmap`` over seeds.

    Reference: Algorithms 1 and 2.

    >>> import jax.numpy as jnp
    >>> import optax
    >>> from o2nc import Smooth, SmoothConversion
    >>> from o2nc.oracles import Constant
    >>> tx = convert(SmoothConversion(Constant(), Smooth(gap=2.0, beta=1.0, sigma=0.0, T=1000)))
    >>> params = {"x": jnp.asarray([3.0])}
    >>> state = tx.init(params)
    >>> for _ in range(2):
    ...     updates, state = tx.update({"x": jnp.sin(params["x"])}, state, params)
    ...     params = optax.apply_updates(params, updates)
    >>> bool(params["x"][0] < 3.0), int(state.count)
    (True, 2)
    """
    check_is_conversion(conversion)
    check_can_have(conversion, frozenset({"tau", "x", "r", "value"}), "`convert`")
    check_knows_output(conversion)
    return transformation(lambda tree, x, extra: conversion, seed, is_proved=not conversion.hypothesis())


def transformation(
    conversion_for: Callable[[Tree, Blocks | None, Mapping[str, Any]], Conversion], seed: int, is_proved: bool = False
) -> optax.GradientTransformationExtraArgs:
    """The transformation of a conversion that may know of the tree, the parameters and the extra arguments.

    Where a theorem ``is_proved`` of it, the parameters are followed.
    """
    first = first_key(seed)

    def kept(
        conversion: Conversion,
        state: Any,
        x: Blocks | None,
        form: Form,
        count: jax.Array,
        key: jax.Array,
        followed: Followed | None,
    ) -> ConvertState:
        y = conversion.output(state, x)
        output = stored(y, form) if conversion.has_output else None
        report = report_of(conversion, state, count, True if followed is None else is_followed(followed))
        return ConvertState(count, stored(state, form), key, output, report, followed)

    def init(params: Tree) -> ConvertState:
        check_parameters(params)
        x = to_blocks(params, state_dtype(params))
        conversion, tau = conversion_for(params, x, {}), None
        place = _xp.device(leaf(x))  # of what is no vector
        key, count = jax.device_put(first, place), jnp.zeros((), jnp.int32, device=place)
        if "tau" in conversion.needs and (T := conversion.horizon) is not None:
            key, used = next_key(key)
            tau = round_of(lambda u: conversion.tau(u, T), used)
        followed = begun(params, place) if is_proved else None
        state = kept(conversion, conversion.init(x, tau=tau), x, jax.tree.structure(params), count, key, followed)
        return jax.tree.map(jnp.copy, state)  # the core shares its zeros, which cannot be donated twice

    def update(
        updates: Tree, state: ConvertState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, ConvertState]:
        form: Form = jax.tree.structure(updates)
        if form.num_leaves == 0:
            return updates, state
        floating = [a for a in jax.tree.leaves(state.conversion) if jnp.issubdtype(a.dtype, jnp.floating)]
        dtype = state_dtype(floating or updates)
        x, key, r = None if params is None else to_blocks(params, dtype), state.key, None
        conversion = conversion_for(updates, x, extra)
        if "r" in conversion.needs:
            key, used = next_key(key)
            r = jax.random.uniform(used, (1,), dtype)
        s, before = to_blocks(updates, dtype), restored(state.conversion)
        dx, after = conversion.update(s, before, x, r=r, value=extra.get("value"))
        given, count, followed = like(to_tree(dx, form), updates), optax.safe_increment(state.count), state.followed
        if followed is not None:
            followed = follow(followed, params, given, form, count)
        return given, kept(conversion, after, x, form, count, key, followed)

    return optax.GradientTransformationExtraArgs(init, update)
