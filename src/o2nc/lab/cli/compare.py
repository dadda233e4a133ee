"""``o2nc compare``: oracles and baselines."""

from typing import Annotated

import typer

from ..compare.oracles import SPELLING
from .completion import objectives, oracles
from .console import Backend, Dtype, File, Iterations, Jobs, Replications, Seed, command, keeping


@command("compare")
def compare(
    objective: Annotated[
        list[str] | None,
        typer.Option(
            help="f1 to f8, sigmoid, savage, network, dictionary; again for more. f1 to f8 if not given.",
            autocompletion=objectives,
        ),
    ] = None,
    oracle: Annotated[
        list[str] | None,
        typer.Option(help=f"A further oracle, {SPELLING}; again for more.", autocompletion=oracles),
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
    from ..compare import comparison
    from ..paper.experiment import Reproduction
    from ..runner.store import check_file
    from ..runner.tables import text
    from ..runner.terminal import MARKS, chart

    settings = Reproduction(seed, replications, iterations, backend, dtype)
    check_file(path, "compare")
    found, lines = comparison.compare(objective or [], oracle or [], settings, jobs)
    shown = [*comparison.CHARTED, *(oracle or [])][: len(MARKS)]
    with keeping(path, "compare", found):
        for name in found["results"]:
            typer.echo(text(comparison.comparison_table(name, found)) + "\n")
            typer.echo(f"best fixed expert in hindsight: {found['hindsight'][name]}")
            typer.echo(chart({key: lines[name][key] for key in shown}, f"{name}: gap") + "\n")
        for sentence in comparison.SENTENCES:
            typer.echo(sentence)
