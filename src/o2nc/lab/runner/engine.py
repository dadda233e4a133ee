"""Where the cells are computed: processes of this machine, or a Dask or Ray cluster, all through joblib."""

import contextlib
import functools
import importlib
import importlib.util
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any

from ...registry import Addition, additions, restore
from .cells import Cell
from .store import Store, StoreError

ENGINES = ("joblib", "dask", "ray")
NEEDS = {"dask": ("distributed", "dask"), "ray": ("ray", "ray")}  # module, extra
WATCH = "o2nc: end with the parent"  # the name of the thread that looks for it


class EngineError(Exception):
    """Work could not be done; the message is a sentence for the user."""


def check(jobs: int | None = None, engine: str = "joblib", address: str | None = None) -> None:
    """Raise unless `compute` can use these: before anything is written.

    >>> check(jobs=0)
    Traceback (most recent call last):
        ...
    ValueError: `jobs` must be at least 1; got 0.
    """
    if engine not in ENGINES:
        raise ValueError(f"`engine` must be one of {', '.join(ENGINES)}; got {engine!r}.")
    if jobs is not None and jobs < 1:
        raise ValueError(f"`jobs` must be at least 1; got {jobs}.")
    if address is not None and engine == "joblib":
        raise ValueError("`address` needs `engine` dask or ray.")
    module, extra = NEEDS.get(engine, (None, None))
    if module is not None and importlib.util.find_spec(module) is None:
        raise EngineError(f"`--engine {engine}` needs the package {module}: pip install 'o2nc[{extra}]'.")


def compute(
    store: Store,
    cells: Sequence[Cell],
    *,
    jobs: int | None = None,
    engine: str = "joblib",
    address: str | None = None,
    done: Callable[[Cell], None] = lambda cell: None,
) -> None:
    """Compute ``cells`` and write each into ``store`` as soon as it is finished.

    Workers send records back and this process writes them, so the directory need not be shared with a cluster.

    Args:
        store: an open store.
        cells: what to compute.
        jobs: processes; as many as there are processors if not given.
        engine: joblib, dask or ray.
        address: of the cluster's scheduler; a local one is started if not given.
        done: called after each cell.
    """
    check(jobs, engine, address)
    if not cells:
        return
    jobs = jobs and min(jobs, len(cells))
    here = engine == "joblib" and 1 in (jobs, len(cells), os.cpu_count())
    with contextlib.nullcontext() if here else _backend(engine, address, jobs or os.cpu_count() or 1):
        try:
            results = map(_numbered, *zip(*enumerate(cells), strict=True)) if here else _results(cells, jobs, engine)
            for i, records in results:
                store.write(cells[i], records)
                done(cells[i])
        except StoreError:
            raise
        except Exception as error:
            reason = (str(error).splitlines() or ["no message"])[0]
            raise EngineError(
                f"A worker failed ({type(error).__name__}: {reason}); finished cells are kept, start again with the "
                "same --out."
            ) from error


def _results(cells: Sequence[Cell], jobs: int | None, engine: str) -> Iterator[tuple[int, Any]]:
    """The cells' numbers and records in the order in which they are finished, or wave by wave (Ray's back end)."""
    import joblib

    work = _of_this_process(_numbered) if engine == "joblib" else _with_additions(_numbered)
    tasks = [joblib.delayed(work)(i, cell) for i, cell in enumerate(cells)]
    if engine != "ray":
        yield from joblib.Parallel(n_jobs=jobs or -1, return_as="generator_unordered", batch_size=1)(tasks)
        return
    wave = joblib.effective_n_jobs(jobs or -1)
    for start in range(0, len(tasks), wave):
        yield from joblib.Parallel(n_jobs=jobs or -1, batch_size=1)(tasks[start : start + wave])


def processes(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], jobs: int | None) -> Iterator[Any]:
    """Start ``work`` on the arguments in processes of this machine and return at once; iterate to wait for the results.

    Reference: joblib's ``return_as="generator"``.
    """
    import joblib

    with joblib.parallel_config("loky", inner_max_num_threads=1):
        parallel = joblib.Parallel(n_jobs=min(jobs or os.cpu_count() or 1, len(tasks)), return_as="generator")
        started: Iterator[Any] = parallel(joblib.delayed(_of_this_process(work))(*task) for task in tasks)
    return _alive(started)


def _alive(started: Iterator[Any]) -> Iterator[Any]:
    """The results, or a sentence if a worker was killed, for want of memory for example."""
    try:
        yield from started
    except BrokenExecutor as error:
        raise EngineError(f"A worker failed ({type(error).__name__}); start again, with fewer --jobs.") from error


def _numbered(i: int, cell: Cell) -> tuple[int, Any]:
    return i, cell.run()


def _with_additions(work: Callable[..., Any]) -> Callable[..., Any]:
    """``work`` for any workers: they will know what was added to the registries here."""
    return functools.partial(_restored, additions(), work)


def _restored(added: Sequence[Addition], work: Callable[..., Any], *arguments: Any) -> Any:
    restore(added)
    return work(*arguments)


def _of_this_process(work: Callable[..., Any]) -> Callable[..., Any]:
    """``work`` for the workers that this process starts, which end when it does."""
    return functools.partial(_while_it_lives, os.getpid(), _with_additions(work))


def _while_it_lives(parent: int, work: Callable[..., Any], *arguments: Any) -> Any:
    """Call ``work`` in a worker that ends by itself when the process ``parent`` is gone, killed for example.

    An interruption from the keyboard reaches all processes: only the parent answers it, and ends its workers.
    """
    if os.getpid() != parent and not any(thread.name == WATCH for thread in threading.enumerate()):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_end_with, args=(parent,), name=WATCH, daemon=True).start()
    return work(*arguments)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


@contextlib.contextmanager
def _backend(engine: str, address: str | None, jobs: int) -> Iterator[None]:
    """The joblib back end of an engine."""
    import joblib

    if engine == "joblib":
        with joblib.parallel_config("loky", inner_max_num_threads=1):
            yield
        return
    module = importlib.import_module(NEEDS[engine][0])
    try:
        with contextlib.ExitStack() as stack:
            (_dask if engine == "dask" else _ray)(stack, module, address, jobs)
            stack.enter_context(joblib.parallel_config(engine))
            yield
    except OSError as error:  # of which a timeout is one
        raise EngineError(f"Cannot reach the {engine} cluster at {address}: {error}.") from error


def _dask(stack: contextlib.ExitStack, distributed: Any, address: str | None, jobs: int) -> None:
    local = {"n_workers": jobs, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    cluster = address or stack.enter_context(distributed.LocalCluster(**local))
    stack.enter_context(distributed.Client(cluster, timeout="10s"))


def _ray(stack: contextlib.ExitStack, ray: Any, address: str | None, jobs: int) -> None:
    local = {"num_cpus": jobs, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **({} if address else local))
    stack.callback(ray.shutdown)
    importlib.import_module("ray.util.joblib").register_ray()
