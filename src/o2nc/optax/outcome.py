"""What a run has found: the output point, which need not be the one where gradients are taken, and the certificate."""

from typing import Any

import jax
import jax.numpy as jnp
import optax

from ..certificates import Certificate
from ..conversions import Conversion
from ..conversions.base import check_is_conversion
from .converted import ConvertState
from .followed import objection
from .reports import report
from .trees import Tree, find, restored


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
    is_masked: Any = lambda node: isinstance(node, optax.MaskedNode)
    for found in find(state, ConvertState):
        if found.output is not None:
            merge: Any = lambda y, p, begun=found.count > 0: (
                p if is_masked(y) else jnp.where(begun, y, p).astype(jnp.result_type(p))
            )
            params = jax.tree.map(merge, found.output.arrays, params, is_leaf=is_masked)
    return params


def certificate(conversion: Conversion, state: Any) -> Certificate:
    """The certificate of a run, or of paired replications, from its measured regret; not inside ``jit``.

    Args:
        conversion: that of the run.
        state: the state after T rounds, or those of replications, stacked by ``vmap``.

    Reference: Theorems 1 and 2.

    >>> import jax.numpy as jnp
    >>> from o2nc import Smooth, SmoothConversion
    >>> from o2nc.optax import convert
    >>> from o2nc.oracles import Constant
    >>> conversion = SmoothConversion(Constant(), Smooth(gap=1.0, beta=1.0, sigma=0.0, T=1))
    >>> tx = convert(conversion)
    >>> updates, state = tx.update(0.5 * jnp.ones(3), tx.init(jnp.zeros(3)), jnp.zeros(3))
    >>> certificate(conversion, state).label
    'plug-in'
    """
    check_is_conversion(conversion)
    report(state)
    (found,) = find(state, ConvertState)
    if isinstance(found.count, jax.core.Tracer):
        raise TypeError("`certificate` must be called outside `jit`; inside, `report(state).bound` is an array.")
    answer = found.followed and objection(found.followed)
    answer = answer or conversion.certificate(restored(found.conversion))
    if isinstance(answer, str):
        raise ValueError(f"`conversion` must have a certificate for `state`; {answer}.")
    return answer
