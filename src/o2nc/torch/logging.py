"""Reports of a run, written as it goes."""

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

Record = dict[str, Any]
LONGEST = 2**20  # bytes of a row


def log(opt: torch.optim.Optimizer, to: Any, every: int = 1, loss: Callable[[], Any] | None = None) -> RemovableHandle:
    """Write the report of `Hedged` or `Converted` after its steps.

    Records are flat, with keys such as "groups/0/weights/adam". A row is appended to those that are in a CSV file, so
    that a resumed run goes on; the columns must be the same. ``o2nc plot run.csv`` draws it.

    Args:
        opt: the optimizer.
        to: a TensorBoard ``SummaryWriter``, or anything with ``add_scalar(key, value, step)``, which gets the numbers;
            a path that ends in ".csv"; or a function of the record.
        every: how many steps there are from one record to the next.
        loss: a function without arguments that names the loss of the step, a number or a tensor of one; it is called
            for each record, which then has a "loss" too. In most loops ``lambda: loss.item()`` will do.

    Returns:
        A handle; its ``remove()`` ends the log.

    Reference: none.

    >>> from o2nc.torch import Hedged
    >>> x, seen = torch.ones(2, requires_grad=True), []
    >>> opt = Hedged([x], lr=0.1)
    >>> handle = log(opt, lambda record: seen.append(record["step"]), every=2)
    >>> for _ in range(4):
    ...     x.grad = torch.ones(2)
    ...     opt.step()
    >>> seen
    [2, 4]
    >>> handle.remove()
    """
    if not isinstance(opt, torch.optim.Optimizer) or not hasattr(opt, "report"):
        raise TypeError(f"`opt` must be `Hedged` or `Converted`; got a {type(opt).__name__}.")
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ValueError(f"`every` must be a whole number of at least 1; got {every!r}.")
    if loss is not None and not callable(loss):
        raise TypeError(f"`loss` must be a function without arguments, as `lambda: loss.item()`; got {loss!r}.")
    write, last = writer(to), opt.t  # type: ignore[attr-defined]

    def hook(opt: Any, *_: Any) -> None:
        nonlocal last
        if opt.t != last and opt.t % every == 0:  # a step that was left out is not there twice
            write(opt.t, opt.report().flat() | ({} if loss is None else {"loss": value_of(loss())}))
        last = opt.t

    return opt.register_step_post_hook(hook)


def value_of(loss: Any) -> float:
    """The loss as a number; raise unless it is one.

    >>> value_of(torch.ones(()))
    1.0
    """
    try:
        return float(loss.detach() if isinstance(loss, torch.Tensor) else loss)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"`loss` must return a number or a tensor with one entry; got {loss!r}.") from error


def writer(to: Any) -> Callable[[int, Record], None]:
    """What takes a step and its record; raise if there is no place for them."""
    if hasattr(to, "add_scalar"):
        return lambda t, record: scalars(to, t, record)
    if isinstance(to, (str, os.PathLike)) and Path(to).suffix == ".csv":
        if not Path(to).parent.is_dir():
            raise ValueError(f"`to` must be in a folder that exists; there is no {Path(to).parent}.")
        try:
            Path(to).open("a").close()
        except OSError as error:
            raise ValueError(f"`to` must be a file that can be written; {to} cannot: {error.strerror}.") from error
        return rows(Path(to))
    if callable(to):
        return lambda t, record: to(record)
    got = repr(to) if isinstance(to, str) else f"a {type(to).__name__}"
    raise TypeError(f"`to` must have `add_scalar`, be a path that ends in '.csv' or a function of a dict; got {got}.")


def scalars(to: Any, t: int, record: Record) -> None:
    """The numbers of a record, one by one."""
    for key, value in record.items():
        if isinstance(value, (int, float)):
            to.add_scalar(key, value, t)


def rows(path: Path) -> Callable[[int, Record], None]:
    """What appends a row for each record; the header is read once, or written before the first row."""
    columns: list[str] = []

    def append(t: int, record: Record) -> None:
        is_new = not columns and not (path.exists() and path.stat().st_size)
        is_resumed = not columns and not is_new
        if is_resumed:
            with path.open(newline="") as file:
                columns.extend(next(csv.reader(file)))
        if not is_new and columns != list(record):
            raise ValueError(
                f"{path} must have the columns of this run, {', '.join(record)}; it has {', '.join(columns)}."
            )
        if is_resumed:
            cut(path)
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, list(record))
            if is_new:
                writer.writeheader()
            writer.writerow(record)
        columns[:] = list(record)

    return append


def cut(path: Path) -> None:
    """Take the part of a row off the end of a file that a killed run may have left there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.csv"
    ...     _ = path.write_text("step,loss\\n1,3.0\\n2,2.")
    ...     cut(path)
    ...     path.read_text()
    'step,loss\\n1,3.0\\n'
    """
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - LONGEST))
        end = file.read()
        if whole := end.rfind(b"\n") + 1:
            file.truncate(size - len(end) + whole)
