"""``o2nc nonsmooth``: Algorithm 2 and its rivals."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .codes import Code
from .console import Address, Directory, Engine, Jobs, Replications, Seed, command, progress


@command("nonsmooth")
def nonsmooth(
    directory: Directory = Path("nonsmooth"),
    T: Annotated[int, typer.Option("--T", help="Samples of every method.")] = 2000,
    lam: Annotated[float, typer.Option(help="The paper's lambda, the weight of the spread.")] = 1.0,
    horizon: Annotated[
        list[int] | None, typer.Option(help="A further T for the rate of Algorithm 2; again for more.")
    ] = None,
    seed: Seed = 0,
    replications: Replications = 16,
    jobs: Jobs = None,
    engine: Engine = "joblib",
    address: Address = None,
) -> None:
    """Run Algorithm 2, its rivals and baselines on five nonsmooth objectives: measure, objective, regret, certificate.

    Exit code 0 if every certificate and lemma holds, 1 if one does not.
    """
    from ..nonsmooth.experiment import NonsmoothExperiment
    from ..nonsmooth.findings import failures
    from ..nonsmooth.tables import summary
    from ..runner.tables import text

    given: dict[str, Any] = {} if horizon is None else {"horizons": tuple(horizon)}
    experiment = NonsmoothExperiment(seed, replications, T, lam, **given)
    with progress() as told:
        found = experiment.run(directory, jobs=jobs, engine=engine, address=address, progress=told)
    for table in summary(found):
        typer.echo(text(table) + "\n")
    failed = failures(found)
    for sentence in [*experiment.findings(found), *(f"does not hold: {one}" for one in failed)]:
        typer.echo(sentence)
    typer.echo(f"Report: {directory / 'report.html'}")
    if failed:
        raise typer.Exit(Code.DISAGREES)
