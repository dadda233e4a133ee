"""Hedging between optimizers: the practical rule on trees."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax

from .. import _xp
from ..checks import brief, check_number, check_share
from ..conversions import PracticalConversion
from ..directions import Direction
from ..learners import ShortMemoryHedge
from ..operators import trusted
from ..vectors import Blocks
from .converted import transformation
from .transformed import Shown, check_uphill, is_transformation, with_transformations
from .trees import Tree


def hedge(
    learning_rate: float | jax.Array | Callable[[jax.Array], Any],
    experts: Sequence[str | Direction | Callable | optax.GradientTransformation] = ("momentum", "adam", "polar"),
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

    It is `convert` of `o2nc.conversions.PracticalConversion`: state is kept in the widest dtype of the parameters and
    at least in float32, and updates have the dtypes of the gradients. `report` gives the weights, and the regret
    against each expert.

    Args:
        learning_rate: that of AdamW; a number, an array, or a schedule.
        experts: names and directions of `o2nc.directions`; functions from u of a leaf to a direction; or gradient
            transformations of Optax that point uphill, such as ``optax.scale_by_adam()``. What functions and
            transformations return is played as it is.
        b1: the discount of the tracker.
        b2: the discount of the squared gradients.
        eps: that of Adam.
        weight_decay: $\lambda$, decoupled.
        rho: the discount of the learner.
        c: the factor of its rate.
        matrices: a function from a tree like the parameters to a tree of booleans: which leaves "polar" takes as
            matrices, by default those with two axes or more. For the others it is "adam".

    Reference: `o2nc.conversions.PracticalConversion`, and the rule in plain loops in ``tests/reference_practical.py``.

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
    check_learning_rate(learning_rate)
    for name, value in {"b1": b1, "b2": b2, "rho": rho}.items():
        check_hyperparameter(name, value, check_share)
    for name, value in {"eps": eps, "weight_decay": weight_decay}.items():
        check_hyperparameter(name, value, check_number)
    check_hyperparameter("c", c, lambda name, value: check_number(name, value, positive=True))
    if matrices is not None and not callable(matrices):
        raise TypeError(f"`matrices` must be a function from a tree to a tree of booleans; got {brief(matrices)}.")
    learner = trusted(ShortMemoryHedge, rho=rho, c=c)

    def conversion(tree: Tree, x: Blocks | None, extra: Mapping[str, Any]) -> PracticalConversion:
        chosen = jax.tree.leaves(tree) and matrices is not None
        return PracticalConversion(
            with_transformations(experts, tree, Shown(x, extra)),
            lr=learning_rate,
            b1=b1,
            b2=b2,
            eps=eps,
            weight_decay=weight_decay,
            learner=learner,
            matrices=[bool(yes) for yes in jax.tree.leaves(matrices(tree))] if chosen else None,  # type: ignore[misc]
        )

    decays = bool(conversion(None, None, {}).needs)  # raises if an argument is wrong
    inner = transformation(conversion, 0)

    def init(params: Tree) -> Any:
        for k, expert in enumerate(experts):
            if is_transformation(expert):
                check_uphill(k, expert, params)
        return inner.init(params)

    def update(updates: Tree, state: Any, params: Tree = None, **extra: Any) -> tuple[Tree, Any]:
        if params is None and decays and jax.tree.leaves(updates):
            raise ValueError("`update` must be given `params` for the weight decay; got none.")
        return inner.update(updates, state, params, **extra)

    return optax.GradientTransformationExtraArgs(init, update)


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
