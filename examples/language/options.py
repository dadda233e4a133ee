"""What a run is, and what is wrong with it."""

from dataclasses import dataclass, field, fields
from typing import Any

from .optimizers import OPTIMIZERS
from .parallel import PARALLEL, Place


def option(default: Any, text: str, *, fixed: bool = True, **more: Any) -> Any:
    """A field with its help; what is ``fixed`` cannot change when a run is resumed."""
    return field(default=default, metadata={"help": text, "fixed": fixed, **more})


@dataclass(frozen=True)
class Options:
    """What a run is."""

    optimizer: str = option("hedged", "what trains", choices=tuple(OPTIMIZERS))
    parallel: str = option("none", "how several processes share the work", choices=PARALLEL, fixed=False)
    lr: float = option(1e-2, "the highest learning rate; it warms up, then falls linearly to 0")
    weight_decay: float = option(0.1, "of matrices and of the table of tokens")
    steps: int = option(1000, "how many there are")
    batch: int = option(8, "windows of a step, over all processes")
    context: int = option(256, "tokens of a window")
    width: int = option(128, "of the model")
    layers: int = option(6, "of the model")
    heads: int = option(4, "of attention")
    seed: int = option(0, "of the first weights and of the batches")
    every: int = option(100, "steps from one evaluation, and checkpoint, to the next", fixed=False)
    held_out: int = option(64, "windows of the files that are held out, for evaluation", fixed=False)
    until: int | None = option(None, "a step to stop after, as if interrupted", fixed=False)
    checkpoint: str | None = option(None, "a folder for checkpoints; a run goes on from what is there", fixed=False)
    log: str | None = option(None, "a folder for TensorBoard: losses, and weights and regret of `Hedged`", fixed=False)

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "context", "width", "layers", "heads", "every", "held_out"):
            if getattr(self, name) < 1:
                raise ValueError(f"`{name}` must be at least 1; got {getattr(self, name)}.")
        if self.width % (2 * self.heads):
            raise ValueError(f"`width` must be a multiple of {2 * self.heads}, twice the heads; got {self.width}.")
        if self.optimizer == "muon" and self.parallel == "fsdp":
            raise ValueError(
                "`optimizer` must be 'hedged' or 'adamw' with FSDP: Muon needs whole matrices, not shards."
            )

    @property
    def fixed(self) -> dict[str, Any]:
        """What must not change when a run is resumed."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.metadata["fixed"]}

    @property
    def tokens(self) -> int:
        """Of a step."""
        return self.batch * self.context

    def check(self, place: Place) -> None:
        """Raise unless all processes have equal shares."""
        for name in ("batch", "held_out"):
            if getattr(self, name) % place.ranks:
                raise ValueError(
                    f"`{name}` must be a multiple of {place.ranks}, the number of processes; got {getattr(self, name)}."
                )
