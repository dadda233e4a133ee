"""`o2nc list`, `--version`, completion, and `o2nc` alone."""

import os
import subprocess
import sys

import pytest

import o2nc
from o2nc import directions, oracles, sets
from o2nc.conversions.base import registry as conversions
from o2nc.lab.objectives import registry as objectives
from o2nc.lab.paper.methods import METHODS
from reduced import invoke

THINGS = {
    "objectives": set(objectives),
    "methods": set(METHODS),
    "oracles": {name for name, entry in oracles.registry.items() if "circuit" not in entry.facts},
    "sets": {name for name, entry in sets.registry.items() if "cli" in entry.facts},
    "directions": set(directions.registry),
    "conversions": set(conversions),
}


@pytest.mark.parametrize("kind", THINGS)
def test_list_names_the_things_of_a_kind_and_says_what_they_are(kind):
    result = invoke("list", kind)
    assert result.exit_code == 0
    rows = [line.split(maxsplit=1) for line in result.output.splitlines()]
    assert {name for name, _ in rows} == THINGS[kind]


def test_list_names_everything():
    every = invoke("list").output.splitlines()
    assert [line for line in every if line.startswith(" ")] != []
    assert sum(map(len, THINGS.values())) + len(THINGS) == len(every)


def test_a_kind_that_is_not_known_is_a_sentence():
    result = invoke("list", "oracle")
    assert result.exit_code == 2
    assert "`kind` must be one of objectives" in result.stderr
    assert "Did you mean 'oracles'?" in result.stderr


def test_the_version():
    assert invoke("--version").output == f"o2nc {o2nc.__version__}\n"


def test_o2nc_alone_names_three_commands_that_exist():
    result = invoke()
    assert result.exit_code == 0
    tries = [line.split()[1] for line in result.output.splitlines() if line.startswith("  o2nc")]
    assert len(tries) == 3
    assert all(invoke(name, "--help").exit_code == 0 for name in tries)


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("o2nc run --oracle ada", ["adagrad", "adahedge"]),
        ("o2nc compare --objective f8", ["f8"]),
        ("o2nc list set", ["sets"]),
    ],
)
def test_a_shell_completes_names(words, completed):
    typed = {"_O2NC_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "o2nc"], env=os.environ | typed, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == completed
