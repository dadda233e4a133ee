"""What a run has to say: arrays, wherever they are inside the states of other transformations."""

import math
import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..certificates import Certificate
from ..conversions import Conversion
from ..guarantees import CLIPPED_LIMIT, Proved, measured, theorem
from .trees import find


class Report(NamedTuple):
    """What is known after a round; what a conversion does not have is None.

    Reference: Theorems 1 and 2.

    >>> Report(weights=None, regret=None, bound=None, clipped=None).bound is None
    True
    """

    weights: jax.Array | None  # of the experts in the next round, (K,)
    regret: jax.Array | None  # sum of L_t(U_t) - L_t(I), (); for `hedge` against each expert, (K,)
    bound: jax.Array | None  # the theorem with this regret once T rounds are over, infinity before and after, ()
    clipped: jax.Array | None  # the share of rounds in which the tracker was projected: large means wrong constants, ()


def report_of(conversion: Conversion, state: Any, count: jax.Array) -> Report:
    """The report of a state of the core after ``count`` rounds."""
    oracle: Any = getattr(conversion, "oracle", None)
    weights = oracle.weights(state.oracle) if hasattr(oracle, "weights") else None
    regret, clipped = (jnp.reshape(getattr(state, name), ()) if hasattr(state, name) else None
        for name in ("regret", "clipped"))  # fmt: skip
    bound = None
    if isinstance(conversion, Proved) and not conversion.constants.practical:
        terms = theorem(conversion, 1.0).terms  # every theorem is affine in the regret
        fixed = sum(value for name, value in terms.items() if name != "regret")
        bound = jnp.where(count == conversion.constants.T, fixed + terms["regret"] * regret, math.inf)  # type: ignore[operator]
    share = None if clipped is None else clipped / jnp.maximum(count, 1)
    return Report(weights=weights, regret=regret, bound=bound, clipped=share)


def report(state: Any) -> Report:
    r"""The report inside a state of Optax: weights, regret and certificate as arrays.

    It works inside ``jit`` and outside, for the state of a chain or of a wrapper, and for the states of paired
    replications, whose arrays have a leading axis. The bound is about your run only if its gradients were fresh samples
    at the points that the transformation left, its updates were applied as they came, and the constants are true.

    Args:
        state: a state with one transformation of this package inside.

    Reference: Theorems 1 and 2.

    >>> import jax.numpy as jnp
    >>> from o2nc import Smooth, SmoothConversion
    >>> from o2nc.operators import Identity
    >>> from o2nc.optax import convert
    >>> from o2nc.oracles import Hedge
    >>> constants = Smooth(M=1.0, beta=1.0, sigma=0.0, T=97)
    >>> tx = convert(SmoothConversion(Hedge([Identity(), Identity()]), constants))
    >>> [float(w) for w in report(tx.init(jnp.zeros(3))).weights]
    [0.5, 0.5]
    """
    found = find(state, Report)
    if len(found) != 1:
        raise ValueError(f"`state` must have one transformation of `o2nc.optax` inside; got {len(found)}.")
    return found[0]


def certificate(conversion: Proved, state: Any) -> Certificate:
    """The certificate of a run, or of paired replications, from its measured regret; not inside ``jit``.

    Args:
        conversion: that of the run.
        state: the state after T rounds, or those of replications, stacked by ``vmap``.

    Reference: Theorems 1 and 2.

    >>> import jax.numpy as jnp
    >>> from o2nc import Smooth, SmoothConversion
    >>> from o2nc.optax import convert
    >>> from o2nc.oracles import Constant
    >>> conversion = SmoothConversion(Constant(), Smooth(M=1.0, beta=1.0, sigma=0.0, T=1))
    >>> tx = convert(conversion)
    >>> updates, state = tx.update(0.5 * jnp.ones(3), tx.init(jnp.zeros(3)))
    >>> certificate(conversion, state).label
    'plug-in'
    """
    if not isinstance(conversion, Proved):
        raise TypeError(f"`conversion` must be one with a theorem, Algorithm 1 or 2; got {type(conversion).__name__}.")
    if conversion.constants.practical:
        raise ValueError(f"`conversion` must have known constants for a certificate; {conversion.constants.practical}.")
    found = report(state)
    if isinstance(found.regret, jax.core.Tracer):
        raise TypeError("`certificate` must be called outside `jit`; inside, `report(state).bound` is an array.")
    if not np.all(np.isfinite(np.asarray(found.bound))):
        raise ValueError(
            f"`state` must be the one after T = {conversion.constants.T} rounds, which the theorem is about; "
            "it has seen another number of rounds."
        )
    share = float(np.mean(np.asarray(found.clipped)))
    if share > CLIPPED_LIMIT:
        warnings.warn(
            f"The projection of the tracker was active in {share:.0%} of the rounds: the constants are too small for "
            "these samples, and the certificate does not hold.",
            stacklevel=2,
        )
    return measured(conversion, [float(regret) for regret in np.ravel(np.asarray(found.regret))])
