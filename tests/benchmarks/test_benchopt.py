"""benchmarks/benchopt: benchopt accepts it without a network, and a solver may be put beside ours."""

import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "benchopt"


def problem_class():
    spec = importlib.util.spec_from_file_location("problem", FOLDER / "benchmark_utils" / "problem.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Problem


def test_the_problem_is_what_it_says():
    """Gradient against differences, the mean of samples, and both constants, by many points."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], size=40)
    problem = problem_class()(X, y, batch_size=4)
    assert problem.value_and_gradient(problem.start)[0] == 0.5
    points = 3 * rng.normal(size=(50, 3))
    for w, v in itertools.pairwise(points):
        value, g = problem.value_and_gradient(w)
        assert value == pytest.approx(np.mean(1 / (1 + np.exp(y * (X @ w)))), rel=1e-12)
        ahead, behind = (problem.value_and_gradient(w + h * np.eye(3)[0])[0] for h in (1e-5, -1e-5))
        assert g[0] == pytest.approx((ahead - behind) / 2e-5, abs=1e-9)
        other = problem.value_and_gradient(v)[1]
        assert np.linalg.norm(g - other) <= problem.smoothness() * np.linalg.norm(w - v)
        rows = np.stack([problem._on(w, X[i : i + 1], y[i : i + 1])[1] for i in range(40)])
        assert np.sqrt(np.mean(np.sum((rows - g) ** 2, axis=1)) / 4) <= problem.noise()
    draws = np.stack([problem.sample(points[0], rng) for _ in range(2000)])
    assert np.abs(draws.mean(axis=0) - problem.value_and_gradient(points[0])[1]).max() < 0.02


@pytest.fixture
def benchopt(tmp_path):
    """Runs benchopt on a copy, which it fills with results."""
    pytest.importorskip("benchopt", reason="pip install --group benchopt")
    folder = tmp_path / "benchopt"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("outputs", "__cache__", "__pycache__"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}

    def run(*arguments):
        command = [sys.executable, "-m", "benchopt", arguments[0], str(folder), *arguments[1:]]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run.folder = folder
    return run


@pytest.mark.slow
def test_benchopt_accepts_it(benchopt):
    out = benchopt("test", "--", "--skip-install", "-q")
    passed, skipped = (int(re.search(rf"(\d+) {word}", out)[1]) for word in ("passed", "skipped"))
    assert skipped == 8  # those that make a conda environment, for each of two datasets and six solvers
    assert passed >= 3 * skipped


@pytest.mark.slow
def test_a_run_with_a_solver_of_your_own(benchopt):
    """All of ours, an oracle by name, one that does not fit, and the solver of the page, which is dropped in."""
    import pandas as pd

    page = (FOLDER / "README.md").read_text()
    (benchopt.folder / "solvers" / "heavy_ball.py").write_text(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1])
    small = ("-d", "Simulated[n_samples=60,n_features=4]", "-d", "Noisy features[n_samples=60,n_features=6]")
    options = ("--local", "-n", "6", "-r", "1", "--seed", "0", "--no-plot", "--no-display")
    solvers = ("o2nc Algorithm 1", "o2nc untuned", "o2nc practical", "SGD", "Adam", "L-BFGS exact", "Heavy ball")
    pairs = ("omd-binary,operators=positive", "squint,operators=box")
    names = [*solvers, *(f"o2nc Algorithm 1[oracle={pair}]" for pair in pairs)]
    output = benchopt.folder / "outputs" / "run.parquet"
    chosen = itertools.chain.from_iterable(("-s", name) for name in names)
    out = benchopt("run", *small, *chosen, *options, "--output", str(output))
    assert "`Squint(experts=...)` must be a sequence of operators" in out
    found = pd.read_parquet(output)
    ran = {name.split("[")[0] for name in found["solver_name"]}
    assert ran == set(solvers)
    assert any("omd-binary" in name for name in found["solver_name"])
    assert len(set(found["dataset_name"])) == 2
    first = found[found["stop_val"] == 0]
    assert (first["objective_value"] == 0.5).all()
    best = found.groupby(["dataset_name", "solver_name"])["objective_value"].min()
    assert (best < 0.5).all()
