"""Hedging between optimizers: the practical rule on trees."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax

from .. import _xp
from ..checks import brief, check_decay, check_number, check_share, known_keywords
from ..conversions import PracticalConversion
from ..conversions.practical import RATE, RHO, SIGHT, START
from ..conversions.scales import SCALES
from ..directions import Direction
from ..directions.matrices import is_table
from ..learners import ShortMemoryHedge
from ..operators import trusted
from ..vectors import Blocks
from .converted import transformation
from .traces import PracticalOnTrees
from .transformed import Shown, check_uphill, is_transformation, with_transformations
from .trees import Tree


@known_keywords("`hedge`")
def hedge(
    learning_rate: float | jax.Array | Callable[[jax.Array], Any] | None = None,
    experts: Sequence[str | Direction | Callable | optax.GradientTransformation] = ("muon", "soap"),
    *,
    b1: float = 0.95,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    scale: str = "learned",
    sight: float | None = SIGHT,
    rho: float = RHO,
    c: float = RATE,
    matrices: Callable[[Tree], Tree] | None = None,
) -> optax.GradientTransformationExtraArgs:
    r"""Weighs the directions of other optimizers by what their last steps would still be worth, and learns its scale.

    $$x\leftarrow(1-\eta\lambda)\,x-\eta\,u,\qquad u\propto\sum_kw_kd_k,\qquad\eta=lr\,\sigma,\qquad
    w=\mathrm{softmax}\bigl(-c\sqrt{\log K}\,C/\sqrt V\bigr),$$

    $d_k$ the direction of expert k, a function of the tracker $m\leftarrow b_1m+(1-b_1)s$ and its past. Every expert
    has a trace $e_k\leftarrow\gamma_te_k+d_k$, and a new gradient charges it $\ell_k=-\eta\langle s,e_k\rangle$: to
    first order what its last steps would change now. $C\leftarrow\rho C+\ell$ and
    $V\leftarrow\rho^2V+\mathrm{range}(\ell)^2$; and $\log\sigma$ grows while the mixture would still help, see
    `o2nc.conversions.LearnedScale`. Weights and scale serve the next step. This is practical: it has no certificate;
    `capped` has one.

    If all experts have one direction on a leaf, u is that one, at its own length. If not, each is brought to a root
    mean square of 0.2, and so is their mixture.

    It is `convert` of `o2nc.conversions.PracticalConversion`: state is kept in the widest dtype of the parameters and
    at least in float32, and updates have the dtypes of the gradients. `report` gives the weights, the regret against
    each expert, and the scale $\sigma$.

    A step is all or nothing. If the squares of a leaf of the gradients sum to more than a millionth of the largest
    number of the state's dtype, or to no number, updates are 0 and the state stays as it was, bit by bit, but for its
    ``count``; ``report(state).skipped`` counts such updates. So ``optax.apply_if_finite`` need not be around it.

    Args:
        learning_rate: that of AdamW; a number, an array, or a schedule. A learned scale starts there; None is 0.01. A
            schedule multiplies what is learned.
        experts: names and directions of `o2nc.directions`; functions from the tracker of a leaf to a direction; or
            gradient transformations of Optax that point uphill, such as ``optax.scale_by_adam()``. What one alone
            returns is played as it is; beside others its length does not count.
        b1: the discount of the tracker.
        b2: the discount of the squared gradients of Adam.
        eps: that of Adam, and the size of a tracker below which mixtures fade.
        weight_decay: $\lambda$, decoupled, and times the learned scale as the step is.
        scale: "learned", or "fixed" for exactly the learning rate.
        sight: the part of the steps so far that traces see, $\gamma_t=1-1/(10+\mathrm{sight}\cdot t)$ in step t;
            None for the last step only, $\gamma_t=0$.
        rho: the discount of the learner.
        c: the factor of its rate; with 0 weights stay equal for ever.
        matrices: a function from a tree like the parameters to a tree of booleans: which leaves directions of matrices,
            as "muon", take as such; by default those with two axes or more but tables, which have two and are at least
            eight times as long as wide. On others they are "adam".

    Reference: `o2nc.conversions.PracticalConversion`, and the rule in plain loops in ``tests/reference_practical.py``.

    >>> import jax.numpy as jnp
    >>> import optax
    >>> tx, x = hedge(experts=["adam", optax.scale_by_lion()]), jnp.asarray([2.0, -1.0])
    >>> state, step = tx.init(x), jax.jit(tx.update)
    >>> for _ in range(300):
    ...     updates, state = step(2 * x, state, x)
    ...     x = optax.apply_updates(x, updates)
    >>> bool(jnp.max(jnp.abs(x)) < 0.1), bool(state.report.scale > 1), state.report.weights.shape
    (True, True, (2,))
    """
    learning_rate = START if learning_rate is None else learning_rate
    check_learning_rate(learning_rate)
    for name, value in {"b1": b1, "b2": b2, "rho": rho}.items():
        check_hyperparameter(name, value, check_share)
    numbers = {"eps": eps, "weight_decay": weight_decay, "c": c, **({} if sight is None else {"sight": sight})}
    for name, value in numbers.items():
        check_hyperparameter(name, value, check_number)
    if isinstance(learning_rate, (int, float)) and isinstance(weight_decay, (int, float)):
        check_decay("learning_rate", learning_rate, weight_decay)
    if not isinstance(scale, str) or scale not in SCALES:
        raise ValueError(f"`scale` must be {' or '.join(map(repr, SCALES))}; got {brief(scale)}.")
    if matrices is not None and not callable(matrices):
        raise TypeError(f"`matrices` must be a function from a tree to a tree of booleans; got {brief(matrices)}.")
    learner = trusted(ShortMemoryHedge, rho=rho, c=c)

    def conversion(tree: Tree, x: Blocks | None, extra: Mapping[str, Any]) -> PracticalConversion:
        return PracticalOnTrees(
            with_transformations(experts, tree, Shown(x, extra)),
            lr=learning_rate,
            b1=b1,
            b2=b2,
            eps=eps,
            weight_decay=weight_decay,
            sight=sight,
            learner=learner,
            scale=SCALES[scale](),
            matrices=told(matrices, tree),
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


def told(matrices: Callable[[Tree], Tree] | None, tree: Tree) -> list[bool] | None:
    """For each leaf of a tree, whether it may be taken as a matrix: told by a function, or by its shape.

    >>> told(None, {"bias": jnp.zeros(2), "kernel": jnp.zeros((3, 4)), "table": jnp.zeros((16, 2))})
    [True, True, False]
    """
    leaves = jax.tree.leaves(tree)
    if not leaves:
        return None
    if matrices is None:
        return [not is_table(jnp.shape(leaf)) for leaf in leaves]
    found = [bool(yes) for yes in jax.tree.leaves(matrices(tree))]
    if len(found) != len(leaves):
        raise ValueError(
            f"`matrices` must return a tree of one boolean a leaf, of which there are {len(leaves)}; got {len(found)}."
        )
    return found


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
