"""``o2nc run``: one oracle beside SGD."""

from typing import Annotated

import typer

from ..compare.oracles import SPELLING, spelled
from .completion import objectives, oracles
from .console import Backend, Dtype, Iterations, Replications, Seed, command


@command("run")
def run(
    objective: Annotated[
        str, typer.Option(help="f1 to f8, sigmoid, savage, network, dictionary.", autocompletion=objectives)
    ],
    oracle: Annotated[str, typer.Option(help=f"{SPELLING}, see `o2nc list`.", autocompletion=oracles)] = "hedge",
    seed: Seed = 0,
    replications: Replications = 16,
    iterations: Iterations = 3000,
    backend: Backend = "numpy",
    dtype: Dtype = "float64",
) -> None:
    """Run one oracle on one objective beside SGD, with the same noise: a table and a small chart."""
    from ..compare.comparison import run_beside_sgd, run_table
    from ..runner.tables import text
    from ..runner.terminal import chart

    method = spelled(oracle)
    records = run_beside_sgd(
        objective, method, replications, iterations=iterations, seed=seed, backend=backend, dtype=dtype
    )
    typer.echo(text(run_table(records)) + "\n")
    mean = records[method.name].mean
    if "regret" in mean:
        weight = f", weight of P {mean['weight'][-1]:.6f}" if "weight" in mean else ""
        typer.echo(f"{method.label}: regret against I {mean['regret'][-1]:.4g}{weight}")
    typer.echo(chart({name: record.mean["gap"] for name, record in records.items()}, "gap"))
