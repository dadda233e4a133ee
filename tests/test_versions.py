"""The one table of versions that are tested has every package of the extras of trainers, and their floors."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).parents[1]
TABLES = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = TABLES["project"]["optional-dependencies"] | TABLES["dependency-groups"]
FLOORS = dict(
    match
    for extra in ("torch", "jax", "trainers", "timm", "benchopt")
    for need in EXTRAS[extra]
    for match in re.findall(r"^([\w-]+)(?:\[\w+\])?>=([\d.]+)$", need)
)
SECTION = (ROOT / "docs" / "trainers.md").read_text().split("\n## Versions\n")[1].split("\n## ")[0]
TABLE = {
    name: (tested, least)
    for name, tested, least in re.findall(r"^\| ([\w-]+) \| ([\d.]+) \| ?([\d.]*) \|", SECTION, re.M)
}


@pytest.mark.parametrize("name", sorted(FLOORS.keys() - {"scikit-learn"}))
def test_every_package_is_in_the_table(name):
    tested, least = TABLE[name]
    assert least == FLOORS[name]
    assert Version(tested) >= Version(least)


def test_the_table_has_no_package_that_no_extra_brings():
    """But Flax, which tests bring, and torchtitan, which nothing does."""
    assert TABLE.keys() - FLOORS.keys() == {"flax", "torchtitan"}
