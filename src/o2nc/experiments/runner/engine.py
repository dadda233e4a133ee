"""Where the cells are computed: processes of this machine, or a Dask or Ray cluster, all through joblib."""

import contextlib
import importlib
import importlib.util
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .cells import Cell
from .store import Store, StoreError

ENGINES = ("joblib", "dask", "ray")
NEEDS = {"dask": ("distributed", "dask"), "ray": ("ray", "ray")}  # module, extra


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
    if engine == "joblib" and 1 in (jobs, len(cells), os.cpu_count()):
        for cell in cells:
            store.write(cell, cell.run())
            done(cell)
        return
    with _backend(engine, address, jobs or os.cpu_count() or 1):
        try:
            for i, records in _results(cells, jobs or -1, in_waves=engine == "ray"):
                store.write(cells[i], records)
                done(cells[i])
        except (StoreError, KeyboardInterrupt):
            raise
        except Exception as error:
            reason = (str(error).splitlines() or ["no message"])[0]
            raise EngineError(
                f"A worker failed ({type(error).__name__}: {reason}); finished cells are kept, start again with the "
                "same --out."
            ) from error


def _results(cells: Sequence[Cell], jobs: int, in_waves: bool) -> Iterator[tuple[int, Any]]:
    """The cells' numbers and records in the order in which they are finished, or wave by wave (Ray's back end)."""
    import joblib

    tasks = [joblib.delayed(_numbered)(i, cell) for i, cell in enumerate(cells)]
    if not in_waves:
        yield from joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(tasks)
        return
    wave = joblib.effective_n_jobs(jobs)
    for start in range(0, len(tasks), wave):
        yield from joblib.Parallel(n_jobs=jobs, batch_size=1)(tasks[start : start + wave])


def processes(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], jobs: int | None) -> Iterator[Any]:
    """Start ``work`` on the arguments in processes of this machine and return at once; iterate to wait for the results.

    Reference: joblib's ``return_as="generator"``.
    """
    import joblib

    with joblib.parallel_config("loky", inner_max_num_threads=1):
        parallel = joblib.Parallel(n_jobs=jobs or os.cpu_count() or 1, return_as="generator")
        started: Iterator[Any] = parallel(joblib.delayed(work)(*task) for task in tasks)
    return started


def _numbered(i: int, cell: Cell) -> tuple[int, Any]:
    return i, cell.run()


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
