"""What a user adds to a registry is known wherever the library computes."""

import importlib.util
import subprocess
import sys

import cloudpickle
import pytest

import o2nc.lab.deterministic.methods
import o2nc.lab.nonsmooth.methods
import o2nc.lab.playground.noise  # noqa: F401
from o2nc.registry import Registry, additions, restore

REGISTRIES = {
    f"{name}.{variable}": value
    for name, module in sorted(sys.modules.items())
    if name.startswith("o2nc.")
    for variable, value in vars(module).items()
    if isinstance(value, Registry)
}
EVERY = {id(registry): name for name, registry in REGISTRIES.items()}


def test_all_kinds_are_there():
    kinds = {registry.kind for registry in REGISTRIES.values()}
    assert kinds >= {"objective", "oracle", "learner", "direction", "set", "conversion", "method", "landscape", "noise"}


def test_nothing_of_the_library_is_an_addition():
    assert additions() == []


@pytest.mark.parametrize("name", EVERY.values())
def test_an_addition_to_any_registry_is_restored_from_its_pickle(name, monkeypatch):
    registry = REGISTRIES[name]
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    known, factor = list(registry), 3
    registry.add("mine", lambda x: factor * x, "threefold", sides=4)
    sent = cloudpickle.dumps(additions())
    del registry._entries["mine"]
    for _ in range(2):  # a worker does several tasks
        restore(cloudpickle.loads(sent))
    assert list(registry) == [*known, "mine"]
    assert registry["mine"].make(2) == 6
    assert registry["mine"].facts == {"sides": 4}
    with pytest.raises(ValueError, match="taken"):
        registry.add("mine", None, "again")


MINE = """
from o2nc import oracles
from o2nc.lab.objectives.double_well import DoubleWell
from o2nc.lab.objectives.registry import registry


class Mine(DoubleWell):
    name = "mine"


registry.add("mine", Mine, "f2 with other noise", kind="smooth")
oracles.registry.add("same", lambda S, rate, bound: oracles.AdaHedge(S), "AdaHedge by another name")
"""
SCRIPT = """
from o2nc.lab.compare.comparison import compare
from o2nc.lab.paper.experiment import Reproduction, ReproductionCell
from o2nc.lab.runner.engine import compute


class Store:
    def __init__(self):
        self.found = {}

    def write(self, cell, records):
        self.found[cell.start] = records["sgd"].mean["gap"][-1]


def gaps(**how):
    store = Store()
    compute(store, [ReproductionCell("mine", ("sgd",), k, k + 2, iterations=5) for k in range(2)], **how)
    return store.found


if __name__ == "__main__":
    settings = Reproduction(replications=2, iterations=5)
    alone, two = (compare(["mine", "f8"], ["same"], settings, jobs=jobs).found["results"] for jobs in (1, 2))
    assert two == alone
    assert two["mine"]["same"]["gap"] > 0
    assert all(gaps(jobs=2, engine=engine) == gaps(jobs=1) for engine in ENGINES)
    print("they agree")
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["joblib", "dask", "ray"])
@pytest.mark.parametrize("place", ["module", "script"])
def test_workers_know_what_was_added(engine, place, tmp_path):
    if importlib.util.find_spec({"dask": "distributed"}.get(engine, engine)) is None:
        pytest.skip(f"needs the package of {engine}")
    (tmp_path / "own.py").write_text(MINE)
    start = "import own" if place == "module" else MINE
    (tmp_path / "script.py").write_text(f"ENGINES = ({engine!r},)\n{start}\n{SCRIPT}")
    command = [sys.executable, "script.py"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=170, check=False, cwd=tmp_path)
    assert result.stdout == "they agree\n", result.stderr[-3000:]


@pytest.mark.slow
def test_workers_know_what_a_notebook_added(tmp_path):
    """Where there is no file that could be read again."""
    command = [sys.executable, "-c", f"ENGINES = ('joblib',)\n{MINE}\n{SCRIPT}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=170, check=False, cwd=tmp_path)
    assert result.stdout == "they agree\n", result.stderr[-3000:]
