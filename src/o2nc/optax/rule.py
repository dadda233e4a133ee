"""The steps of the practical rule on trees: charge, track, and the directions to move along."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from .. import _xp
from ..promises import losses
from .directions import Expert, Tracker, check_uphill, from_tracker, is_adam
from .expert import is_transformation
from .sums import sums
from .trees import Tree


class Trackers(NamedTuple):
    """The `Tracker` of every leaf, as trees like the parameters."""

    m: Tree  # the average gradient
    v: Tree  # the average squared gradient; None if no expert needs it
    q: Tree  # the average mean square of the gradient, one number a leaf
    f: Tree  # the factor of the direction of momentum, one number a leaf
    c1: Tree  # the weight of m, 1 - b1^t with t counted from the first gradient that is not 0, one number a leaf
    c2: Tree  # the weight of v and q

    def leaves(self) -> list[Tracker]:
        """Leaf by leaf."""
        m, v, q, f, c1, c2 = (jax.tree.leaves(tree) for tree in self)
        return [Tracker(*values) for values in zip(m, v or [None] * len(m), q, f, c1, c2, strict=True)]

    @classmethod
    def of(cls, leaves: list[Tracker], form: Any) -> "Trackers":
        """The inverse of ``leaves``, for the structure ``form``."""
        return cls(*(None if None in values else form.unflatten(values) for values in zip(*leaves, strict=True)))


class Scale(NamedTuple):
    """What the charge finds of a leaf for its tracker."""

    square: jax.Array  # the mean of the squares of the gradient, ()
    f: jax.Array  # <m^, d> / <m^, m^> of the last step with the direction d of adam, (); 0 if there is none


@dataclass(frozen=True, eq=False)
class Rule:
    """The part of `hedge` that sees vectors; the learner sees K losses a step and returns K weights.

    Args:
        experts: as in `hedge`, and so are the others.
        b1: the discount of the tracker.
        b2: the discount of the squared gradients.
        eps: that of Adam.
        matrices: which leaves are matrices.

    Reference: ``tests/reference_practical.py``.
    """

    experts: tuple[Expert, ...]
    b1: Any
    b2: Any
    eps: Any
    matrices: Callable[[Tree], Tree] | None

    def init(self, params: Tree, dtype: Any, numbers: Callable[[], jax.Array]) -> tuple[Trackers, tuple, tuple]:
        """Trackers, kept directions and states of transformations before the first step; ``numbers()`` makes a 0."""
        for k, expert in enumerate(self.experts):
            if is_transformation(expert):
                check_uphill(k, expert, params)
        wide = jax.tree.map(lambda p: jnp.asarray(p, dtype), params)
        zeros: Callable[[], Tree] = lambda: jax.tree.map(jnp.zeros_like, wide)
        ones: Callable[[], Tree] = lambda: jax.tree.map(lambda _: numbers(), wide)
        needs_v = any(is_adam(expert, is_matrix=False) for expert in self.experts)
        trackers = Trackers(m=zeros(), v=zeros() if needs_v else None, q=ones(), f=ones(), c1=ones(), c2=ones())
        inner = tuple(expert.init(wide) if is_transformation(expert) else None for expert in self.experts)
        return trackers, tuple(zeros() if self._keeps(k) else None for k in range(len(self.experts))), inner

    def charge(self, s: Tree, trackers: Trackers, d: tuple, played: jax.Array) -> tuple[jax.Array, list[Scale]]:
        """The losses of the experts for the step that led to the gradient ``s``, (K,), and the scale of every leaf."""
        kept = promised = jnp.zeros(len(self.experts), played.dtype)
        scales, last = [], [jax.tree.leaves(tree) for tree in d]
        for i, (a, tracker, matrix) in enumerate(
            zip(jax.tree.leaves(s), trackers.leaves(), self._is_matrix(s), strict=True)
        ):
            whole = [k for k in range(len(self.experts)) if self._keeps(k)]
            ss, mm, *products = sums(
                partial(self._terms, tracker, whole, matrix), a, *tracker.arrays(), *(last[k][i] for k in whole)
            )
            sd, md = products[::2], products[1::2]
            by_adam = next((md[k] for k, expert in enumerate(self.experts) if is_adam(expert, matrix)), 0 * mm)
            scales.append(Scale(square=ss / max(a.size, 1), f=tracker.c1 * by_adam * _xp.inverse(mm)))
            kept = kept + played * jnp.stack(sd)
            promised = promised + played * _xp.inverse(tracker.c1) * jnp.stack(md)
        return losses(kept, promised), scales

    def track(self, s: Tree, scales: list[Scale], trackers: Trackers) -> Trackers:
        """The trackers with the gradient ``s``; they begin with the first that is not 0."""
        b1, b2, new = self.b1, self.b2, []
        for a, scale, (m, v, q, _, c1, c2) in zip(jax.tree.leaves(s), scales, trackers.leaves(), strict=True):
            q = b2 * q + (1 - b2) * scale.square
            c2 = jnp.where(q > 0, b2 * c2 + (1 - b2), 0)
            new.append(
                Tracker(
                    m=b1 * m + (1 - b1) * a,
                    v=None if v is None else b2 * v + (1 - b2) * a * a,
                    q=q,
                    f=jnp.where(scale.f > 0, scale.f, jnp.sqrt(c2 * _xp.inverse(q))),
                    c1=jnp.where(q > 0, b1 * c1 + (1 - b1), 0),
                    c2=c2,
                )
            )
        return Trackers.of(new, jax.tree.structure(s))

    def directions(
        self, s: Tree, trackers: Trackers, inner: tuple, params: Tree, extra: dict
    ) -> tuple[list[Tree], tuple, tuple]:
        """The directions of all experts, those of them to keep, and the new states of transformations."""
        form: Any = jax.tree.structure(s)
        leaves, after = list(zip(trackers.leaves(), self._is_matrix(s), strict=True)), list(inner)
        found = []
        for k, expert in enumerate(self.experts):
            if is_transformation(expert):
                wide = None if params is None else jax.tree.map(lambda p, a: jnp.asarray(p, a.dtype), params, s)
                d, after[k] = optax.with_extra_args_support(expert).update(s, inner[k], wide, **extra)
                if jax.tree.map(jnp.shape, d) != jax.tree.map(jnp.shape, s):
                    raise ValueError(f"`experts[{k}]` must return a tree of the shapes of the gradients; it does not.")
                found.append(jax.tree.map(lambda b, a: b.astype(a.dtype), d, s))
            else:
                found.append(form.unflatten([from_tracker(expert, *leaf, self.eps) for leaf in leaves]))
        return found, tuple(d if self._keeps(k) else None for k, d in enumerate(found)), tuple(after)

    def _terms(self, tracker: Tracker, whole: list[int], matrix: bool, a: jax.Array, *arrays: jax.Array) -> list:
        """What is summed over a leaf with the gradient ``a``: s^2 and m^2, and what each expert kept and promised."""
        own = len(tracker.arrays())
        tracker, kept = tracker.over(*arrays[:own]), dict(zip(whole, arrays[own:], strict=True))
        ds = [kept[k] if k in kept else from_tracker(e, tracker, matrix, self.eps) for k, e in enumerate(self.experts)]
        return [a * a, tracker.m * tracker.m, *(u * d for d in ds for u in (a, tracker.m))]

    def _keeps(self, k: int) -> bool:
        """Whether the direction of expert k is kept; that of the others is computed again where it is needed."""
        return not (isinstance(self.experts[k], str) and self.experts[k] in ("momentum", "adam", "sign"))

    def _is_matrix(self, s: Tree) -> list[bool]:
        if self.matrices is None:
            return [a.ndim >= 2 for a in jax.tree.leaves(s)]
        return [bool(yes) for yes in jax.tree.leaves(self.matrices(s))]
