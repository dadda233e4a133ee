"""The language model of the speedrun: a small GPT that reads a text once, always in the same order."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch

from .tasks import Data, Task, Transformer, cross_entropy, pieces, shuffled, source_text


@dataclass(frozen=True, kw_only=True)
class Stream(Task):
    """A task whose minibatches are the rows of ``stream`` in their order, each once; ``seed`` fixes the weights only.

    ``train`` is a part of it, on which the training objective is estimated.
    """

    stream: Data

    def __post_init__(self) -> None:
        if (rows := len(self.stream[0])) < (needed := self.steps * self.batch):
            raise ValueError(f"`steps` must be at most {rows // self.batch}; {self.steps} steps need {needed} rows.")

    def batches(self) -> Iterator[Data]:
        """``steps`` minibatches."""
        needed = self.steps * self.batch
        yield from zip(*(part[:needed].split(self.batch) for part in self.stream), strict=True)


@cache
def library(characters: int, context: int, aside: int) -> tuple[int, Data, Data]:
    """How many letters there are, and pieces of the standard library's source; ``aside`` of them are held out."""
    letters, x, y = pieces(source_text(characters), context)
    return letters, *shuffled(x, y, aside)


def gpt(
    seed: int, *, width: int = 80, layers: int = 3, context: int = 96, steps: int = 280, characters: int = 308_000
) -> Task:
    """The next character of the standard library's source, read once: at most 350 steps."""
    letters, stream, validation = library(characters, context, aside=400)
    torch.manual_seed(seed)
    model = Transformer(letters, width=width, layers=layers, context=context)
    some = (stream[0][:64], stream[1][:64])
    options = {"batch": 8, "steps": steps, "seed": seed, "decays": (0.1,)}
    return Stream(model, some, validation, cross_entropy, **options, stream=stream)


SPEEDRUN = {"gpt": gpt}
