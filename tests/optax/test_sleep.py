"""Directions of matrices that sleep are not computed under ``jit``, and the numbers are those of the core."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from o2nc import Blocks
from o2nc.conversions import LearnedScale, PracticalConversion
from o2nc.directions import OnMatrices
from o2nc.learners import ShortMemoryHedge
from o2nc.optax import hedge, report

STEPS = 40
RNG = np.random.default_rng(4)
X = {"b": RNG.normal(size=3), "v": RNG.normal(size=(3, 3)), "w": RNG.normal(size=(3, 4))}
CALLS = []


class Against(OnMatrices):
    """Goes uphill, so that it falls asleep; a call is noted when it is run."""

    name: ClassVar[str] = "against"

    def matrix(self, M):
        if not isinstance(M, jax.Array):
            return -M

        def noted(size):
            CALLS.append(1)
            return size

        return -M * jax.pure_callback(noted, jax.ShapeDtypeStruct((), M.dtype), jnp.ones((), M.dtype))


def runs(experts):
    """The steps of Optax and of the core: the largest difference, the weights, and how often the expert was run."""
    tx, x = hedge(0.05, experts, c=30.0), jax.tree.map(jnp.asarray, X)
    conversion = PracticalConversion(
        experts, lr=0.05, learner=ShortMemoryHedge(rho=0.997, c=30.0), scale=LearnedScale()
    )
    core = Blocks(tuple(X.values()))
    state, memory, step = tx.init(x), conversion.init(core), jax.jit(tx.update)
    counts = []
    for _ in range(STEPS):
        CALLS.clear()
        s = jax.tree.map(lambda a: 2 * a, x)
        updates, state = jax.block_until_ready(step(s, state, x))
        counts.append(len(CALLS))
        x = jax.tree.map(jnp.add, x, updates)
        dx, memory = conversion.update(core * 2.0, memory)
        core = core + dx
        for a, b in zip(x.values(), core.arrays, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
        np.testing.assert_allclose(report(state).weights, conversion.weights(memory), atol=1e-11)
    return np.asarray(report(state).weights), counts


@pytest.mark.slow
def test_what_sleeps_is_not_computed():
    weights, counts = runs(["adam", Against()])
    assert weights[1] < 0.01 * weights[0]
    matrices = 2
    asleep = [k for k, count in enumerate(counts) if not count]
    assert len(asleep) > STEPS // 2
    late = [k for k in range(asleep[0], STEPS) if counts[k]]
    assert all((k + 1) % 10 == 0 and counts[k] == matrices for k in late)  # every tenth step of a leaf
    assert len(late) >= 2
