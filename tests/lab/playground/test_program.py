"""The copied program is one of the library's own, and gives the same numbers."""

import os
import subprocess
import sys

import numpy as np
import pytest

import o2nc
from o2nc.lab.playground import Method, Noise, Settings, code, run
from o2nc.lab.playground.landscapes import registry as landscapes
from o2nc.lab.playground.methods import playable, players
from o2nc.lab.playground.program import spelled


def remade(conversion):
    return eval(spelled(conversion), {"o2nc": o2nc, "np": np})


def ran(program, end=""):
    """What a fresh interpreter prints."""
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-c", program + end], capture_output=True, text=True, check=False, env=environment
    )
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.parametrize("oracle", players())
def test_every_oracle_is_spelled_so_that_it_runs_alike(oracle, a_set):
    loss = "prediction" if players()[oracle].facts.get("any_size") else "descent"  # a contraction, or any operator
    settings, method = Settings(T=10), Method(oracle=oracle, set=a_set(oracle), loss=loss, step=0.5)
    f, conversion = settings.f, remade(method.made(settings))
    again = o2nc.minimize(
        lambda x, rng: f.gradient(x) + settings.noise(rng), f.start, conversion, rounds=10, record=True
    )
    np.testing.assert_array_equal(again.trajectory, run(settings, method).x)


@pytest.mark.parametrize("conversion", playable())
def test_every_conversion_is_spelled(conversion):
    settings = Settings("bowl" if conversion == "nonsmooth" else "f1", T=10)
    for constants in ("sharp", "paper"):
        made = Method(conversion, constants, oracle="ogd", set="positive").made(settings)
        assert repr(remade(made)) == repr(made)


@pytest.mark.parametrize("landscape", landscapes)
def test_every_landscape_is_one_of_a_program(landscape):
    program = code(Settings(landscape, T=5), {"A": Method("sgd", step=0.01)})
    assert f'playground.landscape("{landscape}")' in program
    compile(program, "copied", "exec")


@pytest.mark.slow
def test_a_fresh_interpreter_gives_the_same_numbers():
    settings = Settings("f2", Noise("gaussian", sigma=0.7, on="both"), T=60, seed=5)
    methods = {"A": Method(loss="descent", kappa=1.5), "B": Method("segment", oracle="ogd", set="spectral")}
    end = "print(*[x.hex() for r in results.values() for x in r.trajectory.ravel().tolist()])"
    printed = ran(code(settings, methods), end).split("\n")
    expected = [value.hex() for method in methods.values() for value in run(settings, method).x.ravel().tolist()]
    assert printed[-2].split() == expected
    assert "A: SmoothConversion" in printed


def test_what_is_not_public_is_refused():
    with pytest.raises(TypeError, match="public class"):
        spelled(Settings())
