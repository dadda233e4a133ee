"""A toy oracle, added the way CONTRIBUTING.md says, is found by everything that reads the registry."""

import doctest
import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

from conftest import BACKENDS
from o2nc.oracles import registry

ROOT = Path(__file__).parents[2]


def loaded(path, monkeypatch):
    """A file as a module; one that sets the number of threads is not to set it here."""
    spec = importlib.util.spec_from_file_location(f"anew_{Path(path).stem}", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    monkeypatch.setattr("os.environ", dict(os.environ))
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """The file of CONTRIBUTING.md, as a module of `o2nc.oracles`, for the time of a test."""
    section = (ROOT / "CONTRIBUTING.md").read_text().split("## How to add an oracle")[1].split("\n## ")[0]
    path = tmp_path / "zinkevich.py"
    path.write_text(re.search(r"```python\n(.*?)```", section, re.DOTALL)[1])
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    spec = importlib.util.spec_from_file_location("o2nc.oracles.zinkevich", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_it_is_in_the_registry_and_in_the_contract_test(toy, monkeypatch):
    assert "zinkevich" in registry
    contract = loaded("tests/oracles/test_contract.py", monkeypatch)
    kinds = [kind for name, kind in contract.cases() if name == "zinkevich"]
    assert kinds == ["hull", "box", "spectral", "positive", "varying"]
    for kind in kinds:
        contract.check_registered(BACKENDS[0], "zinkevich", kind)


def test_it_has_a_picture(toy, monkeypatch):
    gallery = loaded("docs/gallery.py", monkeypatch)
    assert isinstance(gallery.CASES["Zinkevich"].oracle, toy.Zinkevich)
    assert gallery.png("Zinkevich").startswith(b"\x89PNG")


def test_it_has_a_row_of_costs(toy, monkeypatch):
    growth = loaded("benchmarks/growth.py", monkeypatch)
    monkeypatch.setattr(growth, "LEAST", 0.0)
    name, kinds = growth.ORACLES["Zinkevich"]
    assert (name, kinds) == ("zinkevich", ("Hull", "Box", "PositiveContractions"))
    grid = growth.measured(name, "Box", [(n, growth.Size(d=n)) for n in (8, 16, 32, 64)])
    assert min(grid.seconds) > 0


def test_its_docstring_runs(toy):
    assert doctest.testmod(toy) == (0, 5)


def test_a_name_is_taken_once(toy):
    with pytest.raises(ValueError, match="'zinkevich' is taken"):
        registry.add("zinkevich", toy.Zinkevich, "again")
