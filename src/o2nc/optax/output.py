"""The point that an algorithm outputs, which need not be the one where gradients are taken."""

from typing import Any

import jax
import jax.numpy as jnp
import optax

from .converted import ConvertState
from .trees import Tree, find


def eval_params(state: Any, params: Tree) -> Tree:
    r"""The output point of Algorithm 2, $\bar y_\tau$, once round $\tau$ is over, and $\bar y_t$ before.

    Parameters without such a point, and all of them before the first round, are those of ``params``. The relatives of
    Algorithm 2 have their own averages.

    Args:
        state: a state with transformations of this package anywhere inside.
        params: the current parameters, where gradients are taken.

    Reference: Algorithm 2, line 12.

    >>> import jax.numpy as jnp
    >>> import o2nc
    >>> from o2nc.optax import convert
    >>> constants = o2nc.Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=100)
    >>> tx = convert(o2nc.NonsmoothConversion(o2nc.oracles.Constant(), constants))
    >>> y = jnp.asarray([0.5])
    >>> state = tx.init(y)
    >>> for _ in range(100):
    ...     updates, state = tx.update(jnp.sign(y), state, y)
    ...     y = y + updates
    >>> bool(eval_params(state, y)[0] < 0.5)
    True
    """
    for found in find(state, ConvertState):
        if hasattr(found.conversion, "output"):
            params = _merged(found.conversion.output.arrays, params, found.count > 0)
    return params


def _merged(output: Tree, params: Tree, begun: jax.Array) -> Tree:
    def merge(y: Any, p: Any) -> Any:
        return p if _is_masked(y) else jnp.where(begun, y, p).astype(jnp.result_type(p))

    return jax.tree.map(merge, output, params, is_leaf=_is_masked)


def _is_masked(node: Any) -> bool:
    return isinstance(node, optax.MaskedNode)
