"""``o2nc reproduce``: the paper's numerical section."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .codes import Code
from .console import Address, Backend, Directory, Dtype, Engine, Iterations, Jobs, Replications, Seed, command, progress


@command("reproduce")
def reproduce(
    directory: Directory = Path("results"),
    seed: Seed = 0,
    replications: Replications = 128,
    iterations: Iterations = 3000,
    jobs: Jobs = None,
    engine: Engine = "joblib",
    address: Address = None,
    backend: Backend = "numpy",
    dtype: Dtype = "float64",
    seeds: Annotated[int, typer.Option(help="Further seeds whose agreement is counted.")] = 0,
) -> None:
    """Run the paper's numerical section with its controls and compare every published cell.

    Exit code 0 if every cell agrees and every certificate holds, 1 if one does not, 4 if some cells were not reached.
    """
    from ..paper.experiment import Reproduction
    from ..paper.findings import failures, verdicts
    from ..paper.tables import summary
    from ..runner.tables import text

    experiment = Reproduction(seed, replications, iterations, backend, dtype)
    with progress() as told:
        options: dict[str, Any] = {"jobs": jobs, "engine": engine, "address": address, "progress": told}
        found = experiment.run(directory, seeds=seeds, **options)
    for table in summary(found):
        typer.echo(text(table) + "\n")
    for sentence in verdicts(found):
        typer.echo(sentence)
    typer.echo(f"Report: {directory / 'report.html'}")
    if found["summary"]["disagree"] or failures(found):
        raise typer.Exit(Code.DISAGREES)
    if found["summary"]["not_reached"]:
        raise typer.Exit(Code.NOT_REACHED)
