"""Hedging between optimizers inside Theorem 1."""

from collections.abc import Sequence

import optax

from ..constants import SmoothConstants
from ..conversions import SegmentConversion
from ..directions import Direction, find_all
from ..learners import Learner, ShortMemoryHedge
from ..oracles import Adaptive
from .transformed import with_transformations
from .trees import Tree


def capped(
    constants: SmoothConstants,
    experts: Sequence[str | Direction | optax.GradientTransformation] = ("momentum", "adam", "polar"),
    *,
    params: Tree = None,
    r: float | None = 1.0,
    kappa: float = 0.0,
    learner: Learner | None = None,
) -> SegmentConversion:
    r"""The certified relative of `hedge`: directions shortened to $\|m_t\|$, and the step of the theorem.

    $$x_{t+1}=x_t-\eta\sum_kw_{t,k}d_{t,k},\qquad\|d_{t,k}\|\le\|m_t\|.$$

    `convert` makes a transformation of it, and `certificate` reads the a-posteriori certificate. The default learner
    forgets, so that no bound can be stated before the run; with `o2nc.learners.AdaHedge` and "momentum" there is one.

    Args:
        constants: of the objective; they prescribe the step and the rate of the tracker.
        experts: names and directions of `o2nc.directions`, functions of the tracker of a leaf, or transformations
            of Optax, which become a `Transformed`.
        params: a tree like the parameters, if a transformation knows its structure.
        r: where on the step samples are taken: 1 at its end, 0 at its start, None uniformly.
        kappa: of the descent loss, as in `o2nc.SmoothConversion`.
        learner: over K losses, by default `o2nc.learners.ShortMemoryHedge`.

    Returns:
        An `o2nc.SegmentConversion`.

    Reference: Theorem 1, for other points of the segment.

    >>> import jax.numpy as jnp
    >>> import optax
    >>> from o2nc import Smooth
    >>> from o2nc.optax import certificate, convert
    >>> conversion = capped(Smooth(gap=2.0, beta=1.0, sigma=0.0, T=20), ["momentum", optax.scale_by_adam()])
    >>> tx, x = convert(conversion), jnp.asarray([1.0, 2.0])
    >>> state = tx.init(x)
    >>> for _ in range(20):
    ...     updates, state = tx.update(jnp.sin(x), state, x)
    ...     x = x + updates
    >>> certificate(conversion, state).label
    'plug-in'
    """
    directions = find_all(with_transformations(experts, params, None))
    return SegmentConversion(Adaptive(directions, learner or ShortMemoryHedge()), constants, r=r, kappa=kappa)
