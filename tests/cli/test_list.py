"""`o2nc list`: all that is registered."""

from o2nc import directions, oracles, sets
from o2nc.conversions.base import registry as conversions
from o2nc.experiments.objectives import registry as objectives
from o2nc.experiments.paper.methods import METHODS
from reduced import invoke


def test_list_names_everything():
    result = invoke("list")
    assert result.exit_code == 0
    listed = {tuple(line.split()[:2]) for line in result.output.splitlines()}
    assert {("objective", name) for name in objectives} <= listed
    assert {("oracle", name) for name, entry in oracles.registry.items() if "circuit" not in entry.facts} <= listed
    assert {("oracle", name) for name in METHODS} <= listed
    assert {("set", name) for name, entry in sets.registry.items() if "cli" in entry.facts} <= listed
    assert {("direction", name) for name in directions.registry} <= listed
    assert {("conversion", name) for name in conversions} <= listed
    assert all(len(line.split()) > 2 or line.endswith("Adam") for line in result.output.splitlines())
