"""The command line: parsing and printing only."""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from . import certificates
from .constants import Nonsmooth, Smooth

app = typer.Typer(
    help="Turn any online learner with static regret into an optimizer for stochastic nonconvex problems.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out, err = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)
wide = Console(soft_wrap=True, width=1000)  # for tables of numbers, which are printed in full on any screen

Seed = Annotated[int, typer.Option(help="Seed of the noise.")]
Replications = Annotated[int, typer.Option(help="Paired replications.")]
Iterations = Annotated[int, typer.Option(help="Rounds; 20000 is the whole declared horizon.")]
Backend = Annotated[str, typer.Option(help="numpy, torch or jax.")]
Dtype = Annotated[str, typer.Option(help="float64 or float32.")]


def _fail(error: Exception) -> typer.Exit:
    err.print(f"o2nc: {error}", style="red", markup=False, highlight=False)
    return typer.Exit(2)


def _missing(error: ModuleNotFoundError) -> ModuleNotFoundError:
    if str(error).startswith("`"):
        return error
    return ModuleNotFoundError(f"this needs the package {error.name}: pip install 'o2nc[experiments]'.")


@app.command()
def reproduce(
    directory: Annotated[Path, typer.Option("--out", help="Directory of the results; start again to resume.")] = Path(
        "results"
    ),
    seed: Seed = 0,
    replications: Replications = 128,
    iterations: Iterations = 3000,
    jobs: Annotated[int | None, typer.Option(help="Processes; as many as processors if not given.")] = None,
    engine: Annotated[str, typer.Option(help="joblib (this machine), dask or ray.")] = "joblib",
    address: Annotated[str | None, typer.Option(help="Address of the Dask or Ray cluster.")] = None,
    backend: Backend = "numpy",
    dtype: Dtype = "float64",
    seeds: Annotated[int, typer.Option(help="Further seeds whose agreement is counted.")] = 0,
) -> None:
    """Run the paper's numerical section with its controls and compare every published cell.

    Exit code 0 if every cell agrees, 1 if one does not or was not reached, 2 if the run could not be done.
    """
    try:
        from .experiments import reproduce as whole
        from .experiments.engine import EngineError
        from .experiments.settings import Settings
        from .experiments.store import StoreError
    except ModuleNotFoundError as error:
        raise _fail(_missing(error)) from None
    try:
        settings = Settings(seed, replications, iterations, backend, dtype)
        with _told() as progress:
            options: dict[str, Any] = {"jobs": jobs, "engine": engine, "address": address, "progress": progress}
            found = whole.reproduce(directory, settings, seeds=seeds, **options)
    except (StoreError, EngineError, ValueError, OSError) as error:
        raise _fail(error) from None
    except ModuleNotFoundError as error:
        raise _fail(_missing(error)) from None
    _summary(found, directory)
    if found["summary"]["disagree"] or found["summary"]["not_reached"]:
        raise typer.Exit(1)


def _table(first: str, *columns: str, align: Any = "right") -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column(first)
    for name in columns:
        table.add_column(name, justify=align)
    return table


def _number(metric: str, value: float) -> str:
    return f"{value:.6f}" if metric == "average" else f"{value:.4e}"


def _half(interval: list[float]) -> float:
    return (interval[1] - interval[0]) / 2


def _summary(found: dict[str, Any], directory: Path) -> None:
    """One screen: the results beside the published ones, the parts of the gain, the verdict."""
    from .experiments import paper
    from .experiments.tables import TIGHT, tight_ratios

    t = found["iteration"]
    table = _table(f"t = {t}", "gap", "paper", "average", "paper", "instant", "paper")
    for name, methods in found["results"].items():
        for method, row in methods.items():
            published = paper.RESULTS[name].get(method, {}) if t == paper.ITERATIONS else {}
            cells = [text for k in paper.METRICS for text in (_number(k, row[k]), published.get(k, ""))]
            table.add_row(f"{name} {method}", *cells)
    wide.print(table)
    parts = _table("gain %", "tracker", "prior", "learning", "total", "weight of P", "certificate")
    for method, end in (("hedge", ""), ("learned", "_learned")):
        for name, gain in found[f"decomposition{end}"].items():
            percent = {step: f"{share:.3g}" for step, share in gain["percent"].items()}
            to_percent = 100 / found["results"][name]["sgd"]["gap"]
            error = to_percent * _half(gain["intervals"]["learning"])
            tight = found["certificates_by_method"][name][method]["tight"]
            parts.add_row(
                f"{name} {method}",
                percent["tracker"],
                percent["prior"],
                f"{gain['percent']['learning']:.2g}+-{error:.1g}",
                percent["total"],
                f"{found[f'learner{end}'][name]['weight']:.7f}",
                f"{tight['bound']:.4f}+-{_half(tight['interval']):.4f}",
            )
    wide.print(parts)
    out.print("gain %: of SGD's gap, in steps that add up: SGD -> I -> (I + P)/2 -> learner; +- is half a 95% interval")
    ratios = [ratio for methods in tight_ratios(found).values() for ratio in methods.values()]
    out.print(
        f"tight certificate / measured average, all methods: {min(ratios):.4f} to {max(ratios):.4f}, "
        f"{'within' if max(ratios) <= TIGHT else 'NOT within'} {TIGHT}"
    )
    for entry in found["agreement"]:
        if entry["agrees"] is False:
            out.print(
                f"disagrees: {entry['table']}, {entry['cell']}: published {entry['printed']}, "
                f"measured {entry['measured']:.6g} +- {entry['stderr']:.2g}"
            )
    summary = found["summary"]
    out.print(
        f"{summary['agree']} published cells agree, {summary['disagree']} disagree"
        + (f", {summary['not_reached']} were not reached (they are at t = 3000)" if summary["not_reached"] else "")
        + f". Seed {found['settings']['seed']}, {found['settings']['replications']} replications."
    )
    further = found["further_seeds"]
    if further["seeds"]:
        out.print(f"All cells agree in {further['agree']} of {further['seeds']} further seeds.")
    out.print(f"Report: {directory / 'report.html'}")


@app.command()
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
    try:
        from .experiments.chart import chart
        from .experiments.combination import combination, run_combination

        if replications < 1:
            raise ValueError(f"`replications` must be at least 1; got {replications}.")
        how = combination(oracle, operators, rate)
        records = run_combination(
            objective, how, start=0, stop=replications, iterations=iterations, seed=seed, backend=backend, dtype=dtype
        )
    except (ValueError, TypeError) as error:
        raise _fail(error) from None
    except ModuleNotFoundError as error:
        raise _fail(_missing(error)) from None
    table = _table("t", *(f"{metric}\n{name}" for metric in ("gap", "average", "instant") for name in records))
    first = next(iter(records.values()))
    for t in first.checkpoints:
        means = [_number(k, r.mean[k][t - 1]) for k in ("gap", "average", "instant") for r in records.values()]
        table.add_row(f"{t}", *means)
    wide.print(table)
    record = records[how.name]
    if "regret" in record.mean:
        weight = f", weight of P {record.mean['weight'][-1]:.6f}" if "weight" in record.mean else ""
        out.print(f"{how.label}: regret against I {record.mean['regret'][-1]:.4g}{weight}")
    out.print(chart({name: r.mean["gap"] for name, r in records.items()}, "gap"), markup=False, highlight=False)


@app.command()
def compare(
    objective: Annotated[list[str] | None, typer.Option(help="f1 to f8; again for more. All if not given.")] = None,
    oracle: Annotated[
        list[str] | None,
        typer.Option(help="A further oracle, name[:set][:rate=...][:kappa=...][:r=...]; again for more."),
    ] = None,
    seed: Seed = 0,
    replications: Replications = 16,
    iterations: Iterations = 3000,
    jobs: Annotated[int | None, typer.Option(help="Processes; as many as processors if not given.")] = None,
    backend: Backend = "numpy",
    dtype: Dtype = "float64",
    path: Annotated[Path | None, typer.Option("--out", help="File for the numbers as JSON.")] = None,
) -> None:
    """Compare oracles with SGD, heavy ball, Adam and fixed experts, with the same noise and number of samples."""
    try:
        from .experiments import compare as comparing
        from .experiments.chart import MARKS, chart
        from .experiments.objectives import MORE_OBJECTIVES, OBJECTIVES
        from .experiments.settings import Settings
        from .experiments.store import StoreError, write_json

        settings = Settings(seed, replications, iterations, backend, dtype)
        _check_folder(path)
        names = objective or list(OBJECTIVES | MORE_OBJECTIVES)
        comparison = comparing.compare(names, oracle or [], settings, jobs)
        if path is not None:
            write_json(path, comparison.found)
    except (StoreError, ValueError, TypeError) as error:
        raise _fail(error) from None
    except ModuleNotFoundError as error:
        raise _fail(_missing(error)) from None
    found = comparison.found
    for name, results in found["results"].items():
        table = _table(f"{name}, t = {iterations}", "gap", "/ best", "average", "regret", "certificate", "rate")
        for key, row in results.items():
            table.add_row(key, *_comparison_row(row))
        wide.print(table)
        out.print(f"best fixed expert in hindsight: {found['hindsight'][name]}")
        lines = {key: comparison.lines[name][key] for key in ("sgd", "adam", "hedge", "learned", "blind")}
        lines |= {key: comparison.lines[name][key] for key in (oracle or [])[: len(MARKS) - len(lines)]}
        out.print(chart(lines, f"{name}: gap"), markup=False, highlight=False)
        out.print()
    out.print("/ best: the gap over the smaller of those of SGD and the tracker with I, +- its standard error")
    out.print("certificate: the tight one over the average; regret: against I, on the loss that was revealed")
    out.print(f"rates of SGD and heavy ball: {', '.join(f'{v:g}' for v in comparing.FACTORS)} times the paper's step")
    out.print(f"rates of Adam: {', '.join(f'{v:g}' for v in comparing.RATES)}; ! is an end of the grid")


def _check_folder(path: Path | None) -> None:
    """Said before the run and not after it."""
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"Cannot write {path}: {path.parent} is not a directory.")


def _comparison_row(row: dict[str, Any]) -> list[str]:
    regret = f"{row['regret']:.3g}" if "regret" in row else ""
    bound = f"{row['certificates']['tight']['bound'] / row['average']:.3f}" if "certificates" in row else ""
    rate = f"{row['chosen']:g}{'!' if row['at_an_end_of_the_grid'] else ''}" if "chosen" in row else ""
    ratio = f"{row['ratio']:.3f}+-{row['ratio_stderr']:.3f}"
    return [f"{row['gap']:.3e}", ratio, f"{row['average']:.5f}", regret, bound, rate]


@contextmanager
def _told() -> Iterator[Any]:
    """A bar of the cells, shown once there is something to run: an error before has the screen for itself."""
    from .experiments.reproduce import Progress as Told

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=err)
    task = bar.add_task("cells")
    with ExitStack() as shown:

        def start(total: int, done: int) -> None:
            shown.enter_context(bar)
            bar.update(task, total=total, completed=done)

        yield Told(
            start=start,
            advance=lambda cell: bar.advance(task),
            stage=lambda name: bar.update(task, description=name),
        )


@app.command()
def nonsmooth(
    directory: Annotated[Path, typer.Option("--out", help="Directory of the results; start again to resume.")] = Path(
        "nonsmooth"
    ),
    T: Annotated[int, typer.Option("--T", help="Samples of every method.")] = 2000,
    lam: Annotated[float, typer.Option(help="The paper's lambda, the weight of the spread.")] = 1.0,
    horizon: Annotated[
        list[int] | None, typer.Option(help="A further T for the rate of Algorithm 2; again for more.")
    ] = None,
    seed: Seed = 0,
    replications: Replications = 16,
    jobs: Annotated[int | None, typer.Option(help="Processes; as many as processors if not given.")] = None,
    engine: Annotated[str, typer.Option(help="joblib (this machine), dask or ray.")] = "joblib",
    address: Annotated[str | None, typer.Option(help="Address of the Dask or Ray cluster.")] = None,
) -> None:
    """Run Algorithm 2, its rivals and baselines on five nonsmooth objectives: measure, objective, regret, certificate.

    Exit code 0 if every certificate and lemma holds, 1 if one does not, 2 if the run could not be done.
    """
    try:
        from .experiments.engine import EngineError
        from .experiments.nonsmooth.settings import NonsmoothSettings
        from .experiments.nonsmooth.whole import nonsmooth as whole
        from .experiments.nonsmooth.words import failures, nonsmooth_findings
        from .experiments.store import StoreError

        given = {} if horizon is None else {"horizons": tuple(horizon)}
        settings = NonsmoothSettings(seed, replications, T, lam, **given)
        with _told() as progress:
            found = whole(directory, settings, jobs=jobs, engine=engine, address=address, progress=progress)
    except (StoreError, EngineError, ValueError, OSError) as error:
        raise _fail(error) from None
    except ModuleNotFoundError as error:
        raise _fail(_missing(error)) from None
    for name, results in found["results"].items():
        table = _table(f"{name}, T = {T}", "measure", "sharper", "f, output", "regret", "tight / measure", "best step")
        for key, row in results.items():
            table.add_row(key, *_nonsmooth_row(row))
        wide.print(table)
    for sentence in nonsmooth_findings(found):
        out.print(sentence, markup=False, highlight=False)
    for sentence in (failed := failures(found)):
        out.print(f"does not hold: {sentence}", markup=False, highlight=False)
    out.print(f"Report: {directory / 'report.html'}")
    if failed:
        raise typer.Exit(1)


def _nonsmooth_row(row: dict[str, Any]) -> list[str]:
    regret, tight = "", ""
    if "certificate" in row:
        regret, tight = f"{row['regret']:.2f}", f"{row['certificate']['tight']['bound'] / row['measure']:.3f}"
    best = f"{row['best']['measure']:.4f} (x{row['best']['factor']:g})"
    measure = f"{row['measure']:.4f}+-{row['measure_stderr']:.4f}"
    return [measure, f"{row['sharper']:.4f}", f"{row['output']:.4f}", regret, tight, best]


@app.command()
def deterministic(
    objective: Annotated[
        list[str] | None, typer.Option(help="cancer-logistic, wine-svm, ...; again for more. All if not given.")
    ] = None,
    tol: Annotated[float, typer.Option(help="The norm of the gradient to reach.")] = 1e-4,
    calls: Annotated[int, typer.Option(help="Gradients that every run may take.")] = 10_000,
    path: Annotated[Path | None, typer.Option("--out", help="File for the numbers as JSON.")] = None,
) -> None:
    """Count the exact gradients to a small one: ours, online scaled gradient methods, L-BFGS and gradient descent."""
    try:
        from .experiments.deterministic.tables import sentences, tables
        from .experiments.deterministic.whole import deterministic as whole
        from .experiments.objectives.convex import CONVEX
        from .experiments.store import StoreError, write_json

        _check_folder(path)
        with _told() as progress:
            found = whole(objective or list(CONVEX), tol, calls, progress)
        if path is not None:
            write_json(path, found)
    except (StoreError, ValueError) as error:
        raise _fail(error) from None
    except ModuleNotFoundError as error:
        raise _fail(_missing(error)) from None
    for title, columns, rows in tables(found, tol):
        table = _table(title, *columns)
        for row in rows:
            table.add_row(*row)
        wide.print(table)
    for sentence in sentences(found, calls):
        out.print(sentence, markup=False, highlight=False)


@app.command("list")
def list_names() -> None:
    """Name the objectives, oracles and sets."""
    try:
        from .experiments.combination import LEARNERS, SETS, describe, words
        from .experiments.methods import METHODS
        from .experiments.objectives import MORE_OBJECTIVES, OBJECTIVES
    except ModuleNotFoundError as error:
        raise _fail(_missing(error)) from None
    table = _table("", "name", "what it is", align="left")
    for name, f in (OBJECTIVES | MORE_OBJECTIVES).items():
        table.add_row("objective", name, describe(f))
    for name in [*METHODS, *LEARNERS]:
        table.add_row("oracle", name, words(name))
    for name in SETS:
        table.add_row("set", name, words(name))
    out.print(table)


@app.command()
def certify(
    M: Annotated[float, typer.Option("--M", help="Range of the objective.")],
    sigma: Annotated[float, typer.Option("--sigma", help="Root of the variance of a sample.")],
    T: Annotated[int, typer.Option("--T", help="Rounds.")],
    regret: Annotated[float, typer.Option("--regret", help="Expected static regret against the identity.")],
    beta: Annotated[float | None, typer.Option("--beta", help="Smoothness, for Theorem 1.")] = None,
    nonsmooth: Annotated[bool, typer.Option("--nonsmooth", help="Theorem 2 instead of Theorem 1.")] = False,
    L: Annotated[float | None, typer.Option("--L", help="Bound on the gradient, for Theorem 2.")] = None,
    lam: Annotated[float | None, typer.Option("--lam", help="The paper's lambda, for Theorem 2.")] = None,
) -> None:
    """Print Theorem 1 term by term, or Theorem 2 with --nonsmooth."""
    try:
        if not all(map(math.isfinite, (M, sigma, regret))):
            raise ValueError("`M`, `sigma` and `regret` must be finite.")
        if nonsmooth:
            if L is None or lam is None:
                raise ValueError("`--nonsmooth` needs `--L` and `--lam`.")
            if beta is not None:
                raise ValueError(f"`--beta` must not be given with `--nonsmooth`: Theorem 2 has none; got {beta:g}.")
            constants = Nonsmooth(L=L, M=M, sigma=sigma, lam=lam, T=T)
            found = [certificates.theorem2(constants, regret), certificates.theorem2_tuned(constants, regret)]
        else:
            if beta is None:
                raise ValueError("Theorem 1 needs `--beta`; use `--nonsmooth --L --lam` for Theorem 2.")
            if L is not None or lam is not None:
                raise ValueError("`--L` and `--lam` must not be given without `--nonsmooth`: Theorem 1 has neither.")
            smooth = Smooth(M=M, beta=beta, sigma=sigma, T=T)
            found = [certificates.theorem1(smooth, regret), certificates.theorem1_sharp(smooth, regret)]
    except (ValueError, TypeError) as error:
        raise _fail(error) from None
    for certificate in found:
        out.print(str(certificate), markup=False, highlight=False)
