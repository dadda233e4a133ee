"""Hedging between optimizers: the practical rule of the front ends."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from .. import _xp
from ..checks import brief, check_number, check_share
from ..operators import Identity, trusted
from ..oracles.short_memory import ShortMemoryHedge, ShortMemoryState
from ..sets import Hull
from .directions import Expert, check_experts
from .reports import Report
from .rule import Rule, Trackers
from .trees import Tree, check_parameters, like, state_dtype


class HedgeState(NamedTuple):
    """What the rule remembers between two steps."""

    count: jax.Array  # type: ignore[assignment]  # the steps so far, (); it hides a method of tuples, as in Optax
    trackers: Trackers  # averages of the gradients, in trees like the parameters
    d: tuple[Tree, ...]  # the directions of the last step, in trees; None for those that the trackers give
    inner: tuple[Any, ...]  # the states of the experts that are transformations; None for others
    played: jax.Array  # the learning rate of the last step, ()
    learner: ShortMemoryState  # the state of the learner
    report: Report  # the weights, and the regret against each expert


def hedge(
    learning_rate: float | jax.Array | Callable[[jax.Array], Any],
    experts: Sequence[Expert] = ("momentum", "adam", "polar"),
    *,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    rho: float = 0.99,
    c: float = 10.0,
    matrices: Callable[[Tree], Tree] | None = None,
) -> optax.GradientTransformationExtraArgs:
    r"""Weighs the directions of other optimizers by how well they keep what they promise.

    $$x\leftarrow(1-lr\,\lambda)\,x-lr\sum_kw_kd_k,\qquad w=\mathrm{softmax}\bigl(-c\sqrt{\log K}\,C/\sqrt V\bigr),$$

    $d_k$ the direction of expert k. The gradient at the end point of a step judges the step: expert k had promised a
    decrease of $p_k=lr\langle\hat m,d_k\rangle$ with the tracker $m\leftarrow b_1m+(1-b_1)s$, of which the new gradient
    finds $g_k=lr\langle s,d_k\rangle$, cut to $\pm p_k$. What was kept counts, and what was not costs two fifths of
    itself on top: $\ell_k=-(g_k-\frac25(p_k-g_k))/\max_jp_j$. And $C\leftarrow\rho C+\ell$,
    $V\leftarrow\rho^2V+\mathrm{range}(\ell)^2$. This is practical: it has no certificate; `capped` has one.

    Momentum is played at the length at which it would have promised what "adam" did in the last step, leaf by leaf:
    $u=f\hat m$, $f=\langle\hat m,d\rangle/\langle\hat m,\hat m\rangle$ with the tracker and adam's d of that step. In
    the first step, and where neither "adam" is among the experts nor "polar" for a leaf that is no matrix,
    $f=1/\sqrt{\hat q}$, with the average $\hat q$ of $s^2$ over the leaf and its past.

    State is kept in the widest dtype of the parameters and at least in float32; updates have the dtypes of the
    gradients. `report` gives the weights, and the regret against each expert.

    Args:
        learning_rate: that of AdamW; a number, an array, or a schedule.
        experts: names among "momentum", "adam", "polar" and "sign"; functions from u of a leaf to a direction; or
            gradient transformations of Optax that point uphill, such as ``optax.scale_by_adam()``. What functions and
            transformations return is played as it is.
        b1: the discount of the tracker.
        b2: the discount of the squared gradients.
        eps: that of Adam.
        weight_decay: $\lambda$, decoupled.
        rho: the discount of the learner.
        c: the factor of its rate.
        matrices: a function from a tree like the parameters to a tree of booleans: which leaves "polar" takes as
            matrices, by default those with two axes or more. For the others it is "adam".

    Reference: `o2nc.oracles.ShortMemoryHedge`, and the rule in plain loops in ``tests/reference_practical.py``.

    >>> import jax.numpy as jnp
    >>> import optax
    >>> tx, x = hedge(0.1, experts=["momentum", "adam", optax.scale_by_lion()]), jnp.asarray([2.0, -1.0])
    >>> state = tx.init(x)
    >>> for _ in range(50):
    ...     updates, state = tx.update(2 * x, state, x)
    ...     x = optax.apply_updates(x, updates)
    >>> bool(jnp.max(jnp.abs(x)) < 0.3), state.report.weights.shape
    (True, (3,))
    """
    rule = Rule(check_experts(experts), b1, b2, eps, matrices)
    check_learning_rate(learning_rate)
    for name, value in {"b1": b1, "b2": b2, "rho": rho}.items():
        check_hyperparameter(name, value, check_share)
    for name, value in {"eps": eps, "weight_decay": weight_decay}.items():
        check_hyperparameter(name, value, check_number)
    check_hyperparameter("c", c, lambda name, value: check_number(name, value, positive=True))
    if matrices is not None and not callable(matrices):
        raise TypeError(f"`matrices` must be a function from a tree to a tree of booleans; got {brief(matrices)}.")
    K = len(rule.experts)
    learner = trusted(ShortMemoryHedge, experts=Hull((Identity(),) * K), rho=rho, c=c)
    decays = not isinstance(weight_decay, (int, float)) or weight_decay > 0

    def init(params: Tree) -> HedgeState:
        check_parameters(params)
        leaves, dtype = jax.tree.leaves(params), state_dtype(params)
        place = _xp.device(jnp.asarray(leaves[0])) if leaves else None
        numbers: Callable[..., jax.Array] = lambda *shape: jnp.zeros(shape, dtype, device=place)
        trackers, d, inner = rule.init(params, dtype, numbers)
        return HedgeState(
            count=jnp.zeros((), jnp.int32, device=place),
            trackers=trackers,
            d=d,
            inner=inner,
            played=numbers(),
            learner=ShortMemoryState(C=numbers(K), V=numbers(1), t=jnp.ones((1,), jnp.int32, device=place)),
            report=Report(weights=numbers(K) + 1 / K, regret=numbers(K), bound=None, clipped=None),
        )

    def update(updates: Tree, state: HedgeState, params: Tree = None, **extra: Any) -> tuple[Tree, HedgeState]:
        if not jax.tree.leaves(updates):
            return updates, state
        if decays and params is None:
            raise ValueError("`update` must be given `params` for the weight decay; got none.")
        s = jax.tree.map(lambda a: jnp.asarray(a, state.played.dtype), updates)
        losses, scales = rule.charge(s, state.trackers, state.d, state.played)
        learned = learner.observe(state.learner, losses)
        w, lr = learner.weights(learned), _at(learning_rate, state.count, s)
        s = jax.tree.map(lambda a: a + 0 * w[0], s)  # after the charge: now donated trackers can change in place
        trackers = rule.track(s, scales, state.trackers)
        directions, d, inner = rule.directions(s, trackers, state.inner, params, extra)
        steps = jax.tree.map(lambda *ds: -lr * sum(w[k] * d for k, d in enumerate(ds)), *directions)
        if decays:
            steps = jax.tree.map(lambda step, p: step - lr * weight_decay * p, steps, params)
        before: Any = state.report
        regret = before.regret + before.weights @ losses - losses
        return like(steps, updates), HedgeState(
            count=optax.safe_increment(state.count),
            trackers=trackers,
            d=d,
            inner=inner,
            played=lr,
            learner=learned,
            report=Report(weights=w, regret=regret, bound=None, clipped=None),
        )

    return optax.GradientTransformationExtraArgs(init, update)


def _at(learning_rate: Any, count: jax.Array, s: Tree) -> jax.Array:
    lr = learning_rate(count) if callable(learning_rate) else learning_rate
    return jnp.asarray(lr, jax.tree.leaves(s)[0].dtype)


def check_learning_rate(value: Any) -> None:
    """Raise unless ``value`` is a number, an array with one entry, or a schedule."""
    if not callable(value):
        try:
            check_hyperparameter("learning_rate", value, check_number)
        except TypeError:
            raise TypeError(f"`learning_rate` must be a number or a schedule; got {brief(value)}.") from None


def check_hyperparameter(name: str, value: Any, check: Callable[[str, Any], None]) -> None:
    """Raise unless a number passes ``check``; the arrays of ``optax.inject_hyperparams`` may have no value yet."""
    if not (_xp.is_array(value) and value.shape == () and jnp.issubdtype(value.dtype, jnp.number)):
        check(name, value)
