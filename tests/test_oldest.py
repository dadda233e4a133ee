"""`constraints-oldest.txt` has the floors of pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLES = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, GROUPS = TABLES["project"], TABLES["dependency-groups"]
EXTRAS = ("torch", "jax", "lab", "dask")  # what `make test-oldest` installs, and of "dev" what its tests need
UNUSED = {"mypy", "ruff", "playwright", "nbclient", "ipykernel"}
PINS = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "constraints-oldest.txt").read_text(), flags=re.MULTILINE))
FLOORS = {
    name: version
    for need in [
        *PROJECT["dependencies"],
        *(need for extra in EXTRAS for need in PROJECT["optional-dependencies"][extra]),
        *GROUPS["dev"],
    ]
    for name, version in re.findall(r"^([\w-]+)>=([\d.]+)", need)
    if name not in UNUSED
}


def release(version):
    """1.7 and 1.7.0 are one version."""
    return [int(part) for part in re.sub(r"(\.0)+$", "", version).split(".")]


def test_every_floor_has_its_pin():
    assert PINS.keys() == FLOORS.keys()


@pytest.mark.parametrize("name", sorted(FLOORS.keys() - {"torch"}))
def test_the_pin_is_the_floor(name):
    assert release(PINS[name]) == release(FLOORS[name])


def test_torch_is_the_cpu_build_of_the_other_constraints():
    assert f"torch=={PINS['torch']}\n" in (ROOT / "constraints.txt").read_text()
    assert release(PINS["torch"]) >= release(FLOORS["torch"])
