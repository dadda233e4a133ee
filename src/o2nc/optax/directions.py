r"""What the experts of `hedge` play: a direction for each leaf, from its tracker or from a transformation of Optax.

All see the tracker through $\hat m=m/c_1$, without the weight of its zero start, and through $u=f\hat m$, with the
factor f of the leaf at which it would have promised, to first order, what "adam" did in the last step. In the first
step, and where "adam" is not among the experts, $f=1/\sqrt{\hat q}$, with the average $\hat q$ of $s^2$ over the leaf
and its past.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from .. import _xp
from ..checks import brief
from ..operators import newton_schulz
from ..promises import LENGTH, at_length
from .expert import is_transformation
from .trees import Tree


class Tracker(NamedTuple):
    """What is tracked of one leaf."""

    m: jax.Array  # the average gradient
    v: jax.Array | None  # the average squared gradient, if an expert needs it
    q: jax.Array  # the average mean square of the gradient, ()
    f: jax.Array  # the factor of m^ in u, ()
    c1: jax.Array  # the weight of m, 1 - b1^t, ()
    c2: jax.Array  # the weight of v and q, 1 - b2^t, ()

    def arrays(self) -> tuple[jax.Array, ...]:
        """What there is entry by entry: m, and v if there is one."""
        return (self.m,) if self.v is None else (self.m, self.v)

    def over(self, m: jax.Array, v: jax.Array | None = None) -> "Tracker":
        """The tracker of other entries of the leaf."""
        return self._replace(m=m, v=v)

    def u(self) -> jax.Array:
        """f m^, and 0 before the first gradient."""
        return self.m * (_xp.inverse(self.c1) * self.f)

    def adam(self, eps: float) -> jax.Array:
        """m^ / (sqrt(v^) + eps), and 0 where the gradient was always 0."""
        root = jnp.sqrt(self.v) * jnp.sqrt(_xp.inverse(self.c2))  # type: ignore[arg-type]
        return self.m * _xp.inverse(self.c1) / _xp.at_least(root + eps, _xp.smallest_normal(root))


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


def is_adam(expert: Expert, is_matrix: bool) -> bool:
    """Whether the direction of the expert is that of the named "adam", as that of "polar" is where there is no matrix.

    >>> is_adam("polar", is_matrix=False), is_adam(optax.scale_by_adam(), is_matrix=False)
    (True, False)
    """
    return isinstance(expert, str) and (expert == "adam" or (expert == "polar" and not is_matrix))


def from_tracker(expert: Expert, tracker: Tracker, is_matrix: bool, eps: float) -> jax.Array:
    """The direction of a named expert, or of a function of u, for one leaf.

    >>> one = jnp.ones(())
    >>> tracker = Tracker(m=jnp.asarray([3.0, -4.0]), v=jnp.asarray([9.0, 4.0]), q=one, f=one / 2, c1=one, c2=one)
    >>> [[float(a) for a in from_tracker(expert, tracker, False, 0.0)] for expert in ("momentum", "adam")]
    [[1.5, -2.0], [1.0, -2.0]]
    """
    if expert == "momentum":
        return tracker.u()
    if is_adam(expert, is_matrix):
        return tracker.adam(eps)
    if expert == "polar":
        return polar(tracker.m)
    if expert == "sign":
        return LENGTH * jnp.sign(tracker.m)
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
