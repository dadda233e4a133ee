"""The JAX examples run, in tiny form, and say what they should."""

import importlib.util
from pathlib import Path

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


def test_replications(capsys):
    example("jax_replications").main(rounds=300, replications=4)
    out = capsys.readouterr().out
    assert out.count("(a-posteriori)") == 2
    difference, error = (float(word) for word in out.splitlines()[-1].split(": ")[1].split(" +- "))
    assert difference < -3 * error  # the learner switches the noise off
