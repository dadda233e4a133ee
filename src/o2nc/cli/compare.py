"""``o2nc compare``: oracles and baselines."""

from typing import Annotated

import typer

from .console import Backend, Dtype, File, Iterations, Jobs, Replications, Seed, command


@command("compare")
def compare(
    objective: Annotated[list[str] | None, typer.Option(help="f1 to f8; again for more. All if not given.")] = None,
    oracle: Annotated[
        list[str] | None,
        typer.Option(help="A further oracle, name[:set][:rate=...][:kappa=...][:r=...]; again for more."),
    ] = None,
    seed: Seed = 0,
    replications: Replications = 16,
    iterations: Iterations = 3000,
    jobs: Jobs = None,
    backend: Backend = "numpy",
    dtype: Dtype = "float64",
    path: File = None,
) -> None:
    """Compare oracles with SGD, heavy ball, Adam and fixed experts, with the same noise and number of samples."""
    from ..experiments.compare import comparison
    from ..experiments.paper.experiment import Reproduction
    from ..experiments.runner.store import check_file, marked, write_json
    from ..experiments.runner.tables import text
    from ..experiments.runner.terminal import MARKS, chart

    settings = Reproduction(seed, replications, iterations, backend, dtype)
    check_file(path, "compare")
    found, lines = comparison.compare(objective or [], oracle or [], settings, jobs)
    if path is not None:
        write_json(path, marked("compare", found))
    shown = [*comparison.CHARTED, *(oracle or [])][: len(MARKS)]
    for name in found["results"]:
        typer.echo(text(comparison.comparison_table(name, found)) + "\n")
        typer.echo(f"best fixed expert in hindsight: {found['hindsight'][name]}")
        typer.echo(chart({key: lines[name][key] for key in shown}, f"{name}: gap") + "\n")
    for sentence in comparison.SENTENCES:
        typer.echo(sentence)
