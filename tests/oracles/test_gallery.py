"""Every oracle has its picture and its row in the table of costs."""

import importlib.util
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from o2nc import oracles, sets

ROOT = Path(__file__).parents[2]
OTHERS = {
    "BinaryEntropic",
    "Entropic",
    "Euclidean",
    "Oracle",
    "OverExperts",
    "registry",
}  # no oracles of their own
LEARNERS = [name for name in oracles.__all__ if name not in OTHERS]
SETS = [name for name in sets.__all__ if name not in ("OperatorSet", "registry")]


def loaded(path, monkeypatch):
    """A script as a module; one that sets the number of threads is not to set it here."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    monkeypatch.setattr("os.environ", dict(os.environ))
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def gallery(monkeypatch):
    return loaded("docs/gallery.py", monkeypatch)


@pytest.fixture
def growth(monkeypatch):
    return loaded("benchmarks/growth.py", monkeypatch)


def test_every_oracle_has_a_picture_and_a_caption(gallery):
    page = (ROOT / "docs" / "gallery.md").read_text()
    assert sorted(gallery.CASES) == sorted(LEARNERS)
    assert sorted(re.findall(r"^!\[(\w+)\]\(assets/gallery/\1\.png\)\n\n\*\*\1\*\*", page, re.MULTILINE)) == sorted(
        LEARNERS
    )
    for name, case in gallery.CASES.items():
        assert gallery.title(case.oracle) == name


@pytest.mark.parametrize("name", ["AdaHedge", "OGD"])
def test_pictures_are_made(gallery, name):
    assert gallery.png(name).startswith(b"\x89PNG")
    path = gallery.run(gallery.CASES[name])
    assert path.x.shape == (301, 2)
    assert path.U.shape == (300, 2, 2)
    assert np.linalg.norm(path.U, ord=2, axis=(1, 2)).max() <= 1 + 1e-12
    spread = [np.std(x[150:] @ gallery.ACROSS) for x in (path.x, gallery.still().x)]
    assert spread[0] < spread[1] / 2  # it has learned to damp the walls


def test_the_gradient_of_the_landscape_is_that_of_its_height(gallery):
    x, h = np.asarray([0.7, -1.3]), 1e-6
    f = lambda x: gallery.height(x @ gallery.ALONG, x @ gallery.ACROSS)
    slopes = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(gallery.gradient(x), slopes, rtol=1e-8)


def test_every_oracle_and_every_set_has_a_row_in_the_table_of_costs(growth):
    table = (ROOT / "docs" / "growth.md").read_text().partition(f"| {' | '.join(growth.HEADER)} |")[2]
    rows = re.findall(r"^\| (\w+)(.*?) \| (\w+) \|", table, re.MULTILINE)
    printed = {(name + rest, kind) for name, rest, kind in rows}
    assert printed == {(name, kind) for name, (_, kinds) in growth.ORACLES.items() for kind in kinds}
    assert {name for name, _, _ in rows} >= set(LEARNERS)
    assert {kind for _, _, kind in rows} >= set(SETS)


def test_growth_is_measured(growth, monkeypatch):
    monkeypatch.setattr(growth, "LEAST", 0.0)
    name, _ = growth.ORACLES["OGD"]
    grid = growth.measured(name, "PositiveContractions", [(n, growth.Size(d=n)) for n in (8, 16, 32, 64)])
    # tracker and last sample; sums of rounds, what rounding took from them, and the bets; rounds, the next pair, a mark
    matrix, vectors, numbers, counters = 64 * 64, 2 * 64, 24, 4
    assert grid.kept[-1] == 8 * (matrix + vectors + numbers) + 4 * counters
    assert grid.numbers([24 * n**2 for n in grid.sizes]) == "3 d^2"
    assert grid.power([n**3 for n in grid.sizes]) == pytest.approx(3)
    assert grid.last([1.0, 1.0, 2.0, 8.0]) == pytest.approx(2)
    assert min(grid.seconds) > 0
