"""Any conversion of the core as a gradient transformation."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from .. import _xp
from ..conversions import Conversion
from ..vectors import leaf
from .coins import first_key, next_key, round_of
from .reports import Report, report_of
from .trees import Form, Tree, check_parameters, like, restored, state_dtype, stored, to_blocks, to_tree


class ConvertState(NamedTuple):
    """What the transformation keeps; in ``conversion`` a vector is `Blocks` of a tree like the parameters."""

    count: jax.Array  # type: ignore[assignment]  # the rounds so far, (); a tuple's own method is hidden, as in Optax
    conversion: Any  # the state of the conversion
    key: jax.Array  # of the coins to come
    report: Report  # weights, regret and certificate after these rounds


def convert(conversion: Conversion, seed: int = 0) -> optax.GradientTransformationExtraArgs:
    r"""A conversion as a gradient transformation: the parameters are one vector, the gradients are one sample.

    $$(\Delta x,\text{state})\leftarrow\text{update}(s,\text{state},x),\qquad x\leftarrow x+\Delta x.$$

    The leaves of the parameters are the `Blocks` of the vector, in the order of ``jax.tree.leaves``. State is kept in
    the widest dtype of the parameters and at least in float32; updates have the dtypes of the gradients.

    Algorithm 2 and its relatives take gradients at one point and output another: `eval_params` gives the latter. Their
    coins, $r_t$ and $\tau$, come from a key in the state.

    Args:
        conversion: one of `o2nc.conversions`, or your own.
        seed: of the coins; an integer array of shape () for ``vmap`` over seeds.

    Reference: Algorithms 1 and 2.

    >>> import jax.numpy as jnp
    >>> import optax
    >>> from o2nc import Smooth, SmoothConversion
    >>> from o2nc.oracles import Constant
    >>> tx = convert(SmoothConversion(Constant(), Smooth(M=2.0, beta=1.0, sigma=0.0, T=1000)))
    >>> params = {"x": jnp.asarray([3.0])}
    >>> state = tx.init(params)
    >>> for _ in range(2):
    ...     updates, state = tx.update({"x": jnp.sin(params["x"])}, state, params)
    ...     params = optax.apply_updates(params, updates)
    >>> bool(params["x"][0] < 3.0), int(state.count)
    (True, 2)
    """
    if isinstance(conversion, type) or not isinstance(conversion, Conversion):
        raise TypeError(f"`conversion` must be a conversion, with init and update; got {conversion!r}.")
    first = first_key(seed)

    def init(params: Tree) -> ConvertState:
        check_parameters(params)
        form = jax.tree.structure(params)
        x, law = to_blocks(params, state_dtype(params)), getattr(conversion, "tau", None)
        place = _xp.device(leaf(x))  # of what is no vector
        key, count = jax.device_put(first, place), jnp.zeros((), jnp.int32, device=place)
        if law is None:
            state = conversion.init(x)
        else:
            key, used = next_key(key)
            state = conversion.init(x, tau=round_of(law, used))  # type: ignore[call-arg]
        first_state = ConvertState(count, stored(state, form), key, report_of(conversion, state, count))
        return jax.tree.map(jnp.copy, first_state)  # the core shares its zeros, which cannot be donated twice

    def update(
        updates: Tree, state: ConvertState, params: Tree | None = None, **extra: Any
    ) -> tuple[Tree, ConvertState]:
        form: Form = jax.tree.structure(updates)
        if form.num_leaves == 0:
            return updates, state
        floating = [a for a in jax.tree.leaves(state.conversion) if jnp.issubdtype(a.dtype, jnp.floating)]
        dtype = state_dtype(floating or updates)
        key, used = next_key(state.key)
        fixed = getattr(conversion, "r", None) is not None
        dx, after = conversion.update(
            to_blocks(updates, dtype),
            restored(state.conversion),
            None if params is None else to_blocks(params, dtype),
            r=None if fixed else jax.random.uniform(used, (1,), dtype),
        )
        count = optax.safe_increment(state.count)
        after_all = ConvertState(count, stored(after, form), key, report_of(conversion, after, count))
        return like(to_tree(dx, form), updates), after_all

    return optax.GradientTransformationExtraArgs(init, update)
