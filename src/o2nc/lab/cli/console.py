"""What the commands share: the app, options, errors that are sentences, a bar of progress."""

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from ... import __version__
from ..runner.engine import EngineError
from ..runner.experiment import Progress
from ..runner.store import StoreError, check_file, marked, write_json
from .codes import EPILOG, Code, sentence

app = typer.Typer(
    epilog=EPILOG,
    pretty_exceptions_enable=False,
)
FIRST = """\
Three things to try:

  o2nc run --objective f4 --oracle learned   a learned preconditioner beside SGD, in seconds
  o2nc reproduce                             the paper's experiments with their controls, in a minute
  o2nc list oracles                          the online learners, by name

`o2nc --help` names all commands."""


@app.callback(invoke_without_command=True)
def first(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Turn any online learner with static regret into an optimizer for stochastic nonconvex problems."""
    if version:
        typer.echo(f"o2nc {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(FIRST)


def given(path: str | Path) -> Path:
    """The path of an option, unless it is empty, as a variable of the shell is that was never set.

    >>> given("results").name
    'results'
    """
    if not str(path):
        raise typer.BadParameter("it is empty.")
    return Path(path)


Seed = Annotated[int, typer.Option(help="Seed of the noise.")]
Replications = Annotated[int, typer.Option(help="Paired replications.")]
Iterations = Annotated[int, typer.Option(help="Rounds; 20000 is the whole declared horizon.")]
Backend = Annotated[str, typer.Option(help="numpy, torch or jax.")]
Dtype = Annotated[str, typer.Option(help="float64 or float32.")]
Jobs = Annotated[int | None, typer.Option(help="Processes; as many as processors if not given.")]
Engine = Annotated[str, typer.Option(help="joblib (this machine), dask or ray.")]
Address = Annotated[str | None, typer.Option(help="Address of the Dask or Ray cluster.")]
Directory = Annotated[
    Path,
    typer.Option("--out", parser=given, metavar="PATH", help="Directory of the results; start again to resume."),
]
File = Annotated[Path | None, typer.Option("--out", parser=given, metavar="PATH", help="File for the numbers as JSON.")]


def command(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function as a command; its errors are one sentence, with the exit code of their kind."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def told(*arguments: Any, **options: Any) -> None:
            try:
                function(*arguments, **options)
            except ModuleNotFoundError as error:
                needs = f"this needs the package {error.name}: pip install 'o2nc[lab]'."
                fail(str(error) if str(error).startswith("`") else needs, Code.FAILED)
            except (ValueError, TypeError) as error:
                fail(typed(str(error), options_of(function)), Code.USAGE)
            except ArithmeticError as error:
                fail(
                    f"a number that was given, or one made of it, is out of the range of float64 ({error}).", Code.USAGE
                )
            except (StoreError, EngineError) as error:
                fail(str(error), Code.FAILED)
            except MemoryError as error:
                fail(f"not enough memory: {str(error) or 'none is left'}.", Code.FAILED)
            except BrokenPipeError:
                raise
            except OSError as error:
                fail(sentence(error), Code.FAILED)
            except KeyboardInterrupt:
                fail("interrupted.", Code.INTERRUPTED)

        return app.command(name)(told)

    return add


def typed(message: str, options: dict[str, str]) -> str:
    """A message in which arguments have the names of the options that set them.

    >>> typed("`rounds` must be at least 1; got 0.", {"rounds": "--T"})
    '`--T` must be at least 1; got 0.'
    """
    return re.sub(r"`(\w+)`", lambda found: f"`{options.get(found[1], found[1])}`", message)


def options_of(function: Callable[..., None]) -> dict[str, str]:
    """What a user types for each argument of a command."""
    found = {}
    for name, hint in get_type_hints(function, include_extras=True).items():
        info = next(iter(getattr(hint, "__metadata__", ())), None)
        if isinstance(info, typer.models.OptionInfo):
            found[name] = next(iter(info.param_decls or ()), f"--{name.replace('_', '-')}")
    return found


def fail(why: str, code: Code) -> None:
    """Say why a run could not be done and end with the code, also if it cannot be said: the disk may be full."""
    try:
        typer.secho(f"o2nc: {why}", fg="red", err=True)
    except BrokenPipeError:
        raise
    except OSError:
        pass
    raise typer.Exit(code)


@contextmanager
def keeping(path: Path | None, name: str, found: dict[str, Any]) -> Iterator[None]:
    """Write the numbers of a command, if they are wanted, and then print them in the block.

    If they cannot be written, or something else is there by now, they are printed all the same: then it is said.
    """
    refused = None
    if path is not None:
        try:
            check_file(path, name)
            write_json(path, marked(name, found))
        except StoreError as error:
            refused = error
    yield
    if refused is not None:
        raise refused


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
