"""``o2nc plot``: a training run as a picture."""

from pathlib import Path
from typing import Annotated

import typer

from .console import command, given


@command("plot")
def plot(
    log: Annotated[Path, typer.Argument(parser=given, metavar="RUN.CSV", help="What `o2nc.torch.log` wrote.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", parser=given, metavar="PATH", help="Name of the files, without ending; that of the log."),
    ] = None,
) -> None:
    """Draw loss, weights, regret and rate of a training run: a PNG, and a page that needs no network."""
    from ..figures.log import Log
    from ..figures.training import sentences, written

    run = Log.read(log)
    found = written(run, log, out)
    for sentence in sentences(run):
        typer.echo(sentence)
    typer.echo(f"Picture: {found[0]}\nPage: {found[1]}")
