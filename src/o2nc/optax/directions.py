r"""What the experts of `hedge` play: a direction for each leaf, from its tracker or from a transformation of Optax.

All see the tracker through $\hat m=m/c_1$, without the weight of its zero start, and through $u=\hat m\,e/q$, at the
length at which it promises what the sign of a constant gradient would.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from ..constants import brief
from ..operators import newton_schulz
from .expert import is_transformation
from .trees import Tree

LENGTH = 0.2  # the root mean square of a direction that has no length of its own: about that of Adam's


class Tracker(NamedTuple):
    """What is tracked of one leaf."""

    m: jax.Array  # the average gradient
    v: jax.Array | None  # the average squared gradient, if an expert needs it
    q: jax.Array  # the average mean square of the gradient, ()
    e: jax.Array  # the average mean absolute value of the gradient, ()
    c1: jax.Array  # the weight of m, 1 - b1^t, ()
    c2: jax.Array  # the weight of v, q and e, 1 - b2^t, ()

    def arrays(self) -> tuple[jax.Array, ...]:
        """What there is entry by entry: m, and v if there is one."""
        return (self.m,) if self.v is None else (self.m, self.v)

    def over(self, m: jax.Array, v: jax.Array | None = None) -> "Tracker":
        """The tracker of other entries of the leaf."""
        return self._replace(m=m, v=v)

    def u(self) -> jax.Array:
        """m^ e / q, and 0 before the first gradient."""
        return self.m * (inverse(self.c1) * self.e * inverse(self.q))

    def adam(self, eps: float) -> jax.Array:
        """m^ / (sqrt(v^) + eps)."""
        return self.m * inverse(self.c1) / (jnp.sqrt(self.v) * jnp.sqrt(inverse(self.c2)) + eps)  # type: ignore[arg-type]


def inverse(a: jax.Array) -> jax.Array:
    """1 / a, and 0 for 0."""
    return jnp.where(a > 0, 1 / jnp.where(a > 0, a, 1), 0)


def at_length(d: jax.Array) -> jax.Array:
    """``d`` at the root mean square 0.2; 0 stays 0."""
    return d * (LENGTH * jnp.sqrt(inverse(jnp.mean(d * d))))


def polar(m: jax.Array) -> jax.Array:
    """The polar factor of m as a matrix (first axis, all others)."""
    return at_length(newton_schulz(m.reshape(m.shape[0], -1)).reshape(m.shape))


NAMES = ("momentum", "adam", "polar", "sign")

Expert = Any  # a name, a function of u, or a transformation of Optax


def check_experts(experts: Any) -> tuple[Expert, ...]:
    """The experts as a tuple; raise unless there is one, and each is a name, a function or a transformation.

    >>> check_experts(["adam", "adem"])
    Traceback (most recent call last):
        ...
    ValueError: `experts[1]` must be 'momentum', 'adam', 'polar', 'sign', a function or a transformation; got 'adem'.
    """
    if isinstance(experts, str) or not isinstance(experts, Sequence) or not experts:
        raise ValueError(f"`experts` must be a sequence of at least one expert; got {brief(experts)}.")
    for k, expert in enumerate(experts):
        known = expert in NAMES if isinstance(expert, str) else is_transformation(expert) or callable(expert)
        if not known or isinstance(expert, type):
            names = ", ".join(map(repr, NAMES))
            raise ValueError(f"`experts[{k}]` must be {names}, a function or a transformation; got {brief(expert)}.")
    return tuple(experts)


def from_tracker(expert: Expert, tracker: Tracker, is_matrix: bool, eps: float) -> jax.Array:
    """The direction of a named expert, or of a function of u, for one leaf.

    >>> one = jnp.ones(())
    >>> tracker = Tracker(m=jnp.asarray([3.0, -4.0]), v=jnp.asarray([9.0, 4.0]), q=4 * one, e=2 * one, c1=one, c2=one)
    >>> [[float(a) for a in from_tracker(expert, tracker, False, 0.0)] for expert in ("momentum", "adam")]
    [[1.5, -2.0], [1.0, -2.0]]
    """
    if expert == "momentum":
        return tracker.u()
    if expert == "adam" or (expert == "polar" and not is_matrix):
        return tracker.adam(eps)
    if expert == "polar":
        return polar(tracker.m)
    if expert == "sign":
        return at_length(jnp.sign(tracker.m))
    u = tracker.u()
    d = expert(u)
    if jnp.shape(d) != u.shape:
        raise ValueError(f"An expert must return an array in the shape of u, {u.shape}; got {jnp.shape(d)}.")
    return d


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
