"""``o2nc list``: what there is, from the registries."""

from typing import Annotated

import typer

from ..conversions.base import registry as conversions
from ..directions import registry as directions
from ..experiments.compare.oracles import learners, operator_sets, words
from ..experiments.objectives import registry as objectives
from ..experiments.paper.methods import METHODS
from ..registry import Registry
from .completion import beginning
from .console import command

KINDS = Registry("kind")  # each makes its things: words by name
KINDS.add("objectives", lambda: described(objectives), "what is minimised")
KINDS.add("methods", lambda: {name: words(name) for name in METHODS}, "oracles with set, loss and constants")
KINDS.add("oracles", lambda: {name: words(name) for name in learners()}, "online learners over a set of operators")
KINDS.add("sets", lambda: described(operator_sets()), "operators to learn over")
KINDS.add("directions", lambda: described(directions), "experts for networks")
KINDS.add("conversions", lambda: described(conversions), "algorithms that use an oracle, and rivals")


def described(registry: Registry) -> dict[str, str]:
    """The things of a registry in words, by name in order.

    >>> described(directions)["sign"]
    'its sign, entry by entry'
    """
    return {name: entry.words for name, entry in sorted(registry.items())}


@command("list")
def names(
    kind: Annotated[
        str | None,
        typer.Argument(help=f"{', '.join(KINDS)}; all if not given.", autocompletion=beginning(lambda: KINDS)),
    ] = None,
) -> None:
    """Name the objectives, methods, oracles, sets, directions and conversions."""
    found = {each.name: each.make() for each in (KINDS.values() if kind is None else [KINDS[kind]])}
    width = max(len(name) for things in found.values() for name in things)
    for each, things in found.items():
        if kind is None:
            typer.echo(f"{each}: {KINDS[each].words}")
        for name, what in things.items():
            typer.echo(f"  {name:{width}}  {what}")
