"""What the commands share: the app, options, errors that are sentences, a bar of progress."""

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from ..experiments.runner.engine import EngineError
from ..experiments.runner.experiment import Progress
from ..experiments.runner.store import StoreError
from .codes import EPILOG, Code, sentence

app = typer.Typer(
    help="Turn any online learner with static regret into an optimizer for stochastic nonconvex problems.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Seed = Annotated[int, typer.Option(help="Seed of the noise.")]
Replications = Annotated[int, typer.Option(help="Paired replications.")]
Iterations = Annotated[int, typer.Option(help="Rounds; 20000 is the whole declared horizon.")]
Backend = Annotated[str, typer.Option(help="numpy, torch or jax.")]
Dtype = Annotated[str, typer.Option(help="float64 or float32.")]
Jobs = Annotated[int | None, typer.Option(help="Processes; as many as processors if not given.")]
Engine = Annotated[str, typer.Option(help="joblib (this machine), dask or ray.")]
Address = Annotated[str | None, typer.Option(help="Address of the Dask or Ray cluster.")]
Directory = Annotated[Path, typer.Option("--out", help="Directory of the results; start again to resume.")]
File = Annotated[Path | None, typer.Option("--out", help="File for the numbers as JSON.")]


def command(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function as a command; its errors are one sentence, with the exit code of their kind."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def told(*arguments: Any, **options: Any) -> None:
            try:
                function(*arguments, **options)
            except ModuleNotFoundError as error:
                needs = f"this needs the package {error.name}: pip install 'o2nc[experiments]'."
                fail(str(error) if str(error).startswith("`") else needs, Code.FAILED)
            except (ValueError, TypeError) as error:
                fail(str(error), Code.USAGE)
            except (StoreError, EngineError) as error:
                fail(str(error), Code.FAILED)
            except BrokenPipeError:
                raise
            except OSError as error:
                fail(sentence(error), Code.FAILED)
            except KeyboardInterrupt:
                fail("interrupted.", Code.INTERRUPTED)

        return app.command(name)(told)

    return add


def fail(why: str, code: Code) -> None:
    """Say why a run could not be done and end with the code."""
    typer.secho(f"o2nc: {why}", fg="red", err=True)
    raise typer.Exit(code)


@contextmanager
def progress() -> Iterator[Progress]:
    """A bar of the cells, shown once there is something to run: an error before has the screen for itself."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    bar = Bar(TextColumn("{task.description}"), *columns, console=Console(stderr=True, soft_wrap=True))
    task = bar.add_task("cells")
    with ExitStack() as shown:

        def start(total: int, done: int) -> None:
            shown.enter_context(bar)
            bar.update(task, total=total, completed=done)

        yield Progress(
            start=start, advance=lambda cell: bar.advance(task), stage=lambda name: bar.update(task, description=name)
        )
