"""The JAX examples run, in tiny form, and say what they should."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_digits(capsys):
    pytest.importorskip("sklearn")
    example("jax_digits").main(steps=40, width=16, batch=32)
    hedged, weights, adamw = capsys.readouterr().out.splitlines()
    assert float(hedged.split()[3].rstrip(",")) < 2.0  # log 10 = 2.3 knows nothing
    assert adamw.startswith("adamw")
    weights, scale = weights.split("; learning rate times ")
    assert sum(float(word) for word in weights.split()[::2]) == pytest.approx(1.0, abs=0.02)
    assert float(scale) > 0


def test_flax(capsys):
    """Its steps are those of a plain loop with Optax."""
    pytest.importorskip("sklearn")
    flax = example("flax_nnx")
    flax.main(steps=40, width=16, batch=32)
    weights, accuracy = capsys.readouterr().out.splitlines()
    assert weights.startswith("weights [0.")
    assert float(accuracy.split()[-1]) > 0.3
    nnx, tx = flax.nnx, flax.hedge(1e-2, ("momentum", "adam"))  # of which rounding makes nothing large
    model, other = (flax.Classifier(8, nnx.Rngs(0)) for _ in range(2))
    graph, params = nnx.split(other)
    opt, state = nnx.Optimizer(model, tx, wrt=nnx.Param), tx.init(params)
    for k in range(3):
        x, y = jax.random.normal(jax.random.key(k), (16, 64)), jnp.arange(16) % 10
        flax.step(model, opt, x, y)
        gradients = jax.grad(lambda params: flax.loss(nnx.merge(graph, params), x, y))(params)  # noqa: B023
        updates, state = tx.update(gradients, state, params)
        params = optax.apply_updates(params, updates)
    for mine, theirs in zip(jax.tree.leaves(nnx.state(model)), jax.tree.leaves(params), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-6 * float(jnp.max(jnp.abs(theirs))))


def test_replications(capsys):
    example("jax_replications").main(rounds=300, replications=4)
    out = capsys.readouterr().out
    assert out.count("(a-posteriori)") == 2
    difference, error = (float(word) for word in out.splitlines()[-1].split(": ")[1].split(" +- "))
    assert difference < -3 * error  # the learner switches the noise off
