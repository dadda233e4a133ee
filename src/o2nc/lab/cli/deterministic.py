"""``o2nc deterministic``: exact gradients to a small one."""

from typing import Annotated

import typer

from .console import File, command, keeping, progress


@command("deterministic")
def deterministic(
    objective: Annotated[
        list[str] | None, typer.Option(help="cancer-logistic, wine-svm, ...; again for more. All if not given.")
    ] = None,
    tol: Annotated[float, typer.Option(help="The norm of the gradient to reach.")] = 1e-4,
    calls: Annotated[int, typer.Option(help="Gradients that every run may take.")] = 10_000,
    path: File = None,
) -> None:
    """Count the exact gradients that each method needs until one is small: ours, OSGM, L-BFGS and gradient descent."""
    from ..deterministic import experiment, tables
    from ..runner.store import check_file
    from ..runner.tables import text

    check_file(path, "deterministic")
    with progress() as told:
        found = experiment.deterministic(objective or [], tol, calls, told)
    with keeping(path, "deterministic", found):
        for table in tables.tables(found):
            typer.echo(text(table) + "\n")
        for sentence in tables.sentences(found):
            typer.echo(sentence)
