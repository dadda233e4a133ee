"""``o2nc run``: one oracle beside SGD."""

from typing import Annotated

import typer

from .console import Backend, Dtype, Iterations, Replications, Seed, command


@command("run")
def run(
    objective: Annotated[str, typer.Option(help="f1 to f8.")],
    oracle: Annotated[str, typer.Option(help="See `o2nc list`.")] = "hedge",
    operators: Annotated[str | None, typer.Option("--set", help="See `o2nc list`; hull if not given.")] = None,
    rate: Annotated[float | None, typer.Option(help="Rate of the learner, where it takes one.")] = None,
    seed: Seed = 0,
    replications: Replications = 16,
    iterations: Iterations = 3000,
    backend: Backend = "numpy",
    dtype: Dtype = "float64",
) -> None:
    """Run one oracle on one objective beside SGD, with the same noise: a table and a small chart."""
    from ..experiments.compare.comparison import run_beside_sgd, run_table
    from ..experiments.compare.oracles import combination
    from ..experiments.runner.tables import text
    from ..experiments.runner.terminal import chart

    method = combination(oracle, operators, rate)
    records = run_beside_sgd(
        objective, method, replications, iterations=iterations, seed=seed, backend=backend, dtype=dtype
    )
    typer.echo(text(run_table(records)) + "\n")
    mean = records[method.name].mean
    if "regret" in mean:
        weight = f", weight of P {mean['weight'][-1]:.6f}" if "weight" in mean else ""
        typer.echo(f"{method.label}: regret against I {mean['regret'][-1]:.4g}{weight}")
    typer.echo(chart({name: record.mean["gap"] for name, record in records.items()}, "gap"))
