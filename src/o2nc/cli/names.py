"""``o2nc list``: what there is, from the registries."""

import typer

from .console import command


@command("list")
def names() -> None:
    """Name the objectives, oracles, sets, directions and conversions."""
    from ..conversions.base import registry as conversions
    from ..directions import registry as directions
    from ..experiments.compare.oracles import learners, operator_sets, words
    from ..experiments.objectives import registry as objectives
    from ..experiments.paper.methods import METHODS

    found = {"objective": {name: entry.words for name, entry in sorted(objectives.items())}}
    found["oracle"] = {name: words(name) for name in [*METHODS, *learners()]}
    for kind, registry in (("set", operator_sets()), ("direction", directions), ("conversion", conversions)):
        found[kind] = {name: entry.words for name, entry in sorted(registry.items())}
    width = max(len(name) for things in found.values() for name in things)
    for kind, things in found.items():
        for name, what in things.items():
            typer.echo(f"{kind:10}  {name:{width}}  {what}")
