"""Any gradient transformation of Optax as a predictable direction of the core."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from ..checks import brief
from ..vectors import Blocks, Vector, leaf, zeros_like
from .trees import Tree, to_blocks, to_tree


class ExpertState(NamedTuple):
    """What an expert remembers."""

    inner: Any  # the state of the transformation
    d: Vector  # its output for the last sample


@dataclass(frozen=True, eq=False)
class Expert:
    r"""The output of a transformation for the samples so far, $d_t=\text{update}(s_{t-1})$, as a direction.

    It contains the sample of the last round and not that of its own, so it is predictable: `o2nc.oracles.Adaptive`
    shortens it to the length of the tracker and makes it a legal preconditioner, for samples at any point of the step.
    It must point uphill, as ``optax.scale_by_adam()`` does, unlike a whole optimizer such as ``optax.adam(0.1)``.

    Args:
        transformation: what turns samples into directions; it is not shown the parameters.
        params: a tree like the parameters, for transformations that know its structure, such as
            ``optax.masked`` with a tree of masks; without it they see a tuple of the leaves.

    Reference: the set-up of Algorithm 1, which lets the set change with t.

    >>> import jax.numpy as jnp
    >>> import optax
    >>> expert, m = Expert(optax.scale_by_sign()), Blocks((jnp.asarray([3.0, -4.0]),))
    >>> state = expert.learn(expert.init(m), m)
    >>> [float(a) for a in expert.direction(state, m).arrays[0]]
    [1.0, -1.0]
    """

    transformation: optax.GradientTransformation
    params: Tree = None

    def __post_init__(self) -> None:
        if not is_transformation(self.transformation):
            got = brief(self.transformation)
            raise TypeError(f"`Expert(transformation=...)` must be a gradient transformation of Optax; got {got}.")

    def init(self, x: Blocks) -> ExpertState:
        """No sample so far: 0."""
        form = self._form(x)
        if form.num_leaves not in (0, len(x.arrays)):
            raise ValueError(
                f"`Expert(params=...)` must have as many leaves as the vector, {len(x.arrays)}; got {form.num_leaves}."
            )
        tree = to_tree(x, form)
        inner = self.transformation.init(tree)
        check_keeps("Expert(transformation=...)", self.transformation, inner, tree)
        return ExpertState(inner=inner, d=zeros_like(x))

    def direction(self, state: ExpertState, m: Vector) -> Vector:
        """The last output."""
        return state.d

    def learn(self, state: ExpertState, s: Blocks) -> ExpertState:
        """The output for this sample, to be played in the next round."""
        d, inner = self.transformation.update(to_tree(s, self._form(s)), state.inner)
        return ExpertState(inner=inner, d=to_blocks(d, leaf(s).dtype))

    def _form(self, x: Blocks) -> Any:
        return jax.tree.structure(x.arrays if self.params is None else self.params)


def is_transformation(value: Any) -> bool:
    """Whether ``value`` is a gradient transformation: the class of Optax, or anything with ``init`` and ``update``."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in ("init", "update"))


def check_keeps(name: str, transformation: Any, inner: Any, tree: Tree, *more: Any, **extra: Any) -> None:
    """Raise unless the transformation maps trees like ``tree`` to such trees, without running it."""
    try:
        found = jax.eval_shape(lambda t, i: transformation.update(t, i, *more, **extra)[0], tree, inner)
    except (TypeError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split("\n")[0].split())
        raise ValueError(
            f"`{name}` must take gradients like the parameters; it says: {reason.rstrip(' .')}."
        ) from error
    shapes = [jax.tree.map(jnp.shape, one) for one in (found, tree)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"`{name}` must return the shapes of the parameters, {shapes[1]}; got {shapes[0]}.")
