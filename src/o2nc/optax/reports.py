"""What a run has to say: arrays, wherever they are inside the states of other transformations."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..conversions import Conversion
from ..conversions.tracked import CLIPPED_LIMIT, TrackedConversion
from .trees import find


class Report(NamedTuple):
    """What is known after a round; what a conversion does not have is None.

    Reference: Theorems 1 and 2.

    >>> Report(*[None] * len(Report._fields)).bound is None
    True
    """

    weights: jax.Array | None  # of the experts in the next round, (K,)
    regret: jax.Array | None  # sum of L_t(U_t) - L_t(I), (); for `hedge` against each expert, (K,)
    bound: jax.Array | None  # the theorem after T rounds, infinity before, after, and if a hypothesis is not met, ()
    clipped: jax.Array | None  # the share of rounds in which the tracker was projected: large means wrong constants, ()
    scale: jax.Array | None  # of `hedge`, the factor of the learning rate in the next round, ()
    error: jax.Array | None  # of `hedge`, the standard error of the regret by the noise of the gradients, (K,)
    skipped: jax.Array | None  # of `hedge`, the updates that were 0 as gradients or directions were not finite, ()
    capped: jax.Array | None  # of a learned scale, the rounds in which weight decay has kept it smaller, ()


def report_of(conversion: Conversion, state: Any, count: jax.Array, is_followed: jax.Array | bool = True) -> Report:
    """The report of a state of the core after ``count`` rounds, which has a bound if the points were followed."""
    sums: dict[str, Any] = dict(conversion.sums(state))
    weights: Any = conversion.weights(state)
    factor: Any = conversion.factor(state)
    T, theorem, bound = conversion.horizon, conversion.theorem(1.0), None
    number: Any = lambda name: jnp.reshape(sums[name], ()) if name in sums else None
    regret, clipped = number("regret"), number("clipped")
    if T is not None and not isinstance(theorem, str):
        terms = theorem.terms  # every theorem is affine in the regret
        fixed = sum(value for name, value in terms.items() if name != "regret")
        total = fixed + (0.0 if regret is None else terms.get("regret", 0.0) * regret)
        met = (count == T) & is_followed
        if clipped is not None:
            met = met & (clipped <= CLIPPED_LIMIT * count)
        if "longer" in sums:
            met = met & (number("longer") == 0)
        if isinstance(conversion, TrackedConversion) and (suspicion := conversion.suspicion(state)) is not None:
            met = met & (suspicion < 0)
        bound = jnp.where(met, total, math.inf)
    return Report(
        weights=weights,
        regret=sums.get("regrets") if regret is None else regret,
        error=sums.get("errors"),
        bound=bound,
        clipped=None if clipped is None else clipped / jnp.maximum(count, 1),
        scale=None if factor is None else jnp.reshape(0 * weights[..., :1] + factor, ()),  # where the weights are
        skipped=count - jnp.reshape(sums["steps"], ()) if "steps" in sums else None,
        capped=number("capped"),
    )


def report(state: Any) -> Report:
    r"""The report inside a state of Optax: weights, regret, certificate and learned scale as arrays.

    It works inside ``jit`` and outside, for the state of a chain or of a wrapper, and for the states of paired
    replications, whose arrays have a leading axis. The bound is about your run only if its gradients were fresh samples
    at the points that the transformation left, and the constants are true. It is infinite if ``update`` found the
    parameters elsewhere than its updates had put them, or was not given them; `certificate` says in which round.

    Args:
        state: a state with one transformation of this package inside.

    Reference: Theorems 1 and 2.

    >>> import jax.numpy as jnp
    >>> from o2nc import Smooth, SmoothConversion
    >>> from o2nc.operators import Identity
    >>> from o2nc.optax import convert
    >>> from o2nc.oracles import Hedge
    >>> constants = Smooth(gap=1.0, beta=1.0, sigma=0.0, T=97)
    >>> tx = convert(SmoothConversion(Hedge([Identity(), Identity()]), constants))
    >>> [float(w) for w in report(tx.init(jnp.zeros(3))).weights]
    [0.5, 0.5]
    """
    found = find(state, Report)
    if len(found) != 1:
        raise ValueError(f"`state` must have one transformation of `o2nc.optax` inside; got {len(found)}.")
    return found[0]
