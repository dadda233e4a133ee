"""Any gradient transformation of Optax as a direction of the core."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax

from ..checks import brief
from ..vectors import Blocks, Vector, leaf, shape_of, zeros_like
from .trees import Tree, to_blocks, to_tree


class Shown(NamedTuple):
    """What a transformation is shown besides the gradients."""

    x: Blocks | None  # the parameters, if there are any
    extra: Mapping[str, Any]  # the extra arguments of ``update``


class TransformedState(NamedTuple):
    """What is remembered of a transformation."""

    inner: Any  # its own state
    d: Vector  # its output for the last sample


@dataclass(frozen=True, eq=False)
class Transformed:
    r"""The output of a transformation for the samples so far, $d_t=\text{update}(s_{t-1})$, as a direction.

    It contains the sample of the last round and not that of its own, so it is predictable: `o2nc.oracles.Adaptive`
    shortens it to the length of the tracker and makes it a legal preconditioner, for samples at any point of the step.
    It must point uphill, as ``optax.scale_by_adam()`` does, unlike a whole optimizer such as ``optax.adam(0.1)``.

    Args:
        transformation: what turns samples into directions.
        params: a tree like the parameters, for transformations that know its structure, such as
            ``optax.masked`` with a tree of masks; without it they see a tuple of the leaves.
        shown: what `hedge` shows it in this round; nothing in certified use.

    Reference: the set-up of Algorithm 1, which lets the set change with t.

    >>> import jax.numpy as jnp
    >>> import optax
    >>> expert, m = Transformed(optax.scale_by_sign()), Blocks((jnp.asarray([3.0, -4.0]),))
    >>> state = expert.learn(expert.init(m), m)
    >>> [float(a) for a in expert.direction(state, m).arrays[0]]
    [1.0, -1.0]
    """

    transformation: optax.GradientTransformation
    params: Tree = None
    shown: Shown | None = None
    name: ClassVar[str] = "transformation"
    scale_free: ClassVar[bool] = False
    whole: ClassVar[bool] = False  # what it plays is read from its state, entry by entry

    def __post_init__(self) -> None:
        if not is_transformation(self.transformation):
            got = brief(self.transformation)
            raise TypeError(f"`Transformed(transformation=...)` must be a gradient transformation of Optax; got {got}.")

    def init(self, x: Blocks) -> TransformedState:
        """No sample so far: 0."""
        form = self._form(x)
        if form.num_leaves not in (0, len(x.arrays)):
            raise ValueError(
                f"`Transformed(params=...)` must have as many leaves as the vector, {len(x.arrays)}; "
                f"got {form.num_leaves}."
            )
        state = TransformedState(inner=self.transformation.init(to_tree(x, form)), d=zeros_like(x))
        if self.shown is None:
            self._check(state, x)
        return state

    def direction(self, state: TransformedState, m: Vector) -> Vector:
        """The last output."""
        return state.d

    def learn(self, state: TransformedState, s: Blocks) -> TransformedState:
        """The output for this sample."""
        form, (x, extra) = self._form(s), self.shown or Shown(None, {})
        params = None if x is None else to_tree(x, form)
        update = optax.with_extra_args_support(self.transformation).update
        d, inner = update(to_tree(s, form), state.inner, params, **extra)
        out = to_blocks(d, leaf(s).dtype)
        if form.num_leaves and shape_of(out) != shape_of(s):
            raise ValueError(
                f"A transformation must return the shapes of the parameters, {shape_of(s)}; got {shape_of(out)}."
            )
        return TransformedState(inner=inner, d=out)

    def _form(self, x: Blocks) -> Any:
        return jax.tree.structure(x.arrays if self.params is None else self.params)

    def _check(self, state: TransformedState, x: Blocks) -> None:
        """Raise unless it takes trees like ``x`` without anything else, without running it."""
        try:
            jax.eval_shape(self.learn, state, x)
        except (TypeError, ValueError, KeyError) as error:
            reason = " ".join(str(error).split("\n")[0].split())
            raise ValueError(
                "`Transformed(transformation=...)` must take gradients like the parameters, and nothing else; it says: "
                f"{reason.rstrip(' .')}."
            ) from error


def with_transformations(experts: Any, params: Tree, shown: Shown | None) -> Any:
    """The experts, with a `Transformed` in the place of each transformation of Optax; what is no sequence as it is."""
    if isinstance(experts, str) or not isinstance(experts, Sequence):
        return experts
    return [Transformed(expert, params, shown) if is_transformation(expert) else expert for expert in experts]


def is_transformation(value: Any) -> bool:
    """Whether ``value`` is a gradient transformation: the class of Optax, or anything with ``init`` and ``update``."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in ("init", "update"))


def check_uphill(k: int, transformation: Any, params: Tree) -> None:
    """Raise if a transformation turns a gradient of ones into a descent, as whole optimizers do."""

    def probe(ones: Tree) -> Tree:
        return optax.with_extra_args_support(transformation).update(ones, transformation.init(ones), ones)[0]

    try:
        with jax.ensure_compile_time_eval():
            ones = jax.tree.map(lambda p: jnp.ones((1,) * jnp.ndim(p)), params)
            found = [float(a.sum()) for a in jax.tree.leaves(jax.jit(probe)(ones))]
    except Exception:  # one that needs more than this: extra arguments, larger leaves
        return
    if found and max(found) <= 0 and min(found) < 0:
        raise ValueError(
            f"`experts[{k}]` must point uphill, as `optax.scale_by_adam()` does; got one that points downhill, as a "
            "whole optimizer such as `optax.adam(0.1)` does. `optax.chain(expert, optax.scale(-1.0))` turns it."
        )
