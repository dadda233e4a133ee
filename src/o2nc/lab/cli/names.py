"""``o2nc list``: what there is, from the registries."""

from typing import Annotated

import typer

from ..basics import KINDS, listed
from .completion import beginning
from .console import command


@command("list")
def names(
    kind: Annotated[
        str | None,
        typer.Argument(help=f"{', '.join(KINDS)}; all if not given.", autocompletion=beginning(lambda: KINDS)),
    ] = None,
) -> None:
    """Name the objectives, methods, oracles, sets, directions and conversions."""
    for line in listed(kind):
        typer.echo(line)
