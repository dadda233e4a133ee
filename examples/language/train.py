"""The training loop."""

import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from .board import board
from .checkpoint import load, save
from .corpus import VOCABULARY, Windows, batch, corpus, evenly
from .model import GPT
from .optimizers import OPTIMIZERS, Optimizers
from .options import Options
from .parallel import Place, processes, spread

WARM_UP = 0.05  # of the steps
Record = dict[str, Any]


def factor(step: int, steps: int) -> float:
    """What multiplies the learning rate of step 0, 1, ...: a linear warm-up, then a linear decay to 0."""
    warm_up = max(1, round(WARM_UP * steps))
    return min((step + 1) / warm_up, (steps - step) / max(1, steps - warm_up))


def loss(model: nn.Module, found: Windows, place: Place) -> torch.Tensor:
    """The mean loss of this process's share of a batch, in nats a token."""
    tokens, following = map(place.share, found)
    return cross_entropy(model(tokens).flatten(0, 1), following.flatten())


def update(model: nn.Module, optimizers: Optimizers, lr: float, found: Windows, place: Place) -> torch.Tensor:
    """One step; returns the loss before it."""
    model.zero_grad()  # before FSDP puts whole parameters in the place of its shards
    value = loss(model, found, place)
    value.backward()
    for opt in optimizers:
        for group in opt.param_groups:
            group["lr"] = lr
        opt.step()
    return value.detach()


@torch.no_grad()
def evaluate(model: nn.Module, found: Windows, size: int, place: Place) -> float:
    """The mean loss over windows, ``size`` of them at a time."""
    pieces = list(zip(*(rows.split(size) for rows in found), strict=True))
    total = torch.stack([loss(model, piece, place) * len(piece[0]) for piece in pieces]).sum()
    return place.mean(total) / len(found[0])


def weights(optimizers: Optimizers) -> Record:
    """The weights of the experts of the matrices, where there are experts."""
    if not hasattr(optimizers[0], "report"):
        return {}
    return {"weights": optimizers[0].report()["groups"][0]["weights"]}


def train(options: Options) -> Iterator[Record]:
    """Train, and give a record of every evaluation; all processes give the same losses."""
    with processes(options.parallel) as place:
        options.check(place)
        text, held_out = corpus()
        others = evenly(held_out, options.held_out, options.context)
        torch.manual_seed(options.seed)
        bare = GPT(VOCABULARY, options.width, options.layers, options.heads, options.context)
        model = spread(bare, options.parallel)
        optimizers = OPTIMIZERS[options.optimizer](bare, options.lr, options.weight_decay)
        first = 0 if options.checkpoint is None else load(options.checkpoint, model, optimizers, options.fixed)
        last = options.steps if options.until is None else min(options.until, options.steps)
        write = board(options.log, place, optimizers, first, options.every)
        seconds, cpu, losses = 0.0, 0.0, []
        for step in range(first, last):
            begun = time.perf_counter(), time.process_time()
            found = batch(text, options.seed, step, options.batch, options.context)
            losses.append(update(model, optimizers, options.lr * factor(step, options.steps), found, place))
            seconds, cpu = seconds + time.perf_counter() - begun[0], cpu + time.process_time() - begun[1]
            done = step + 1
            if done % options.every and done != last:
                continue
            record = {
                "step": done,
                "tokens": done * options.tokens,
                "train": place.mean(torch.stack(losses).mean()),
                "held_out": evaluate(model, others, options.batch, place),
                "seconds": seconds,
                "cpu_seconds": cpu,
                "tokens_per_second": (done - first) * options.tokens / seconds,
                **weights(optimizers),
            }
            losses.clear()
            write(record)
            if options.checkpoint is not None:
                save(options.checkpoint, done, model, optimizers, options.fixed)
            yield record
