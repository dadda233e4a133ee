"""TensorBoard."""

from collections.abc import Callable
from typing import Any

from o2nc.torch import Hedged, log

from .optimizers import Optimizers
from .parallel import Place

LOSSES = ("train", "held_out")


def board(
    folder: str | None, place: Place, optimizers: Optimizers, step: int, every: int
) -> Callable[[dict[str, Any]], None]:
    """What writes the losses of a record; the reports of `Hedged` are written from now on.

    A run that goes on at ``step`` replaces what was written after it. All processes make reports, and one writes them.
    """
    if folder is None:
        return lambda record: None
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(folder, purge_step=step + 1) if place.rank == 0 else None
    for opt in optimizers:
        if isinstance(opt, Hedged):
            log(opt, writer or (lambda record: None), every)

    def write(record: dict[str, Any]) -> None:
        if writer is not None:
            for name in LOSSES:
                writer.add_scalar(f"loss/{name}", record[name], record["step"])
            writer.flush()

    return write
