"""Tasks that go on from a good point: a model was trained with AdamW on one half, and goes on with the other.

They have no weight decay, which would pull away from that point.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import torch

from .methods import factor
from .tasks import Data, Task, Transformer, convnet, cross_entropy, pieces, shuffled, source_text

RATE = 1e-3  # the default of AdamW
Half = Callable[[int, bool], Task]  # of a seed, and whether it is the second half; both have the same model


def digits_half(seed: int, second: bool) -> Task:
    """The digits 0 to 4 or 5 to 9 by their labels, of which a tenth is wrong; two convolutions."""
    task = convnet(seed)

    def chosen(data: Data) -> Data:
        rows = (data[1] >= 5) == second
        return data[0][rows], data[1][rows]

    return replace(task, train=chosen(task.train), validation=chosen(task.validation), steps=300, decays=(0.0,))


def text_half(seed: int, second: bool, context: int = 48) -> Task:
    """The first or the second 100,000 characters of the standard library's source, one set of letters."""
    letters, x, y = pieces(source_text(200_000), context)
    middle = len(x) // 2
    rows = slice(middle, None) if second else slice(middle)
    data = shuffled(x[rows], y[rows], middle // 10)
    torch.manual_seed(seed)
    model = Transformer(letters, context=context)
    return Task(model, *data, cross_entropy, batch=8, steps=300, seed=seed, decays=(0.0,))


@cache
def trained(half: Half, seed: int) -> dict[str, torch.Tensor]:
    """The weights after AdamW on the first half, at its default rate, with a warm-up and a decay to 0."""
    task = half(seed, False)
    opt = torch.optim.AdamW(task.model.parameters(), lr=RATE)
    scheduler = torch.optim.lr_scheduler.LambdaLR(opt, lambda t: factor(t, task.steps))
    for x, y in task.batches():
        opt.zero_grad()
        task.loss(task.model, x, y).backward()
        opt.step()
        scheduler.step()
    return task.model.state_dict()


def continued(half: Half) -> Callable[[int], Task]:
    """The second half, begun with the weights that the first one has left."""

    def build(seed: int) -> Task:
        task = half(seed, True)
        task.model.load_state_dict(trained(half, seed))
        return task

    return build


FINE_TUNING = {"other digits": continued(digits_half), "other text": continued(text_half)}
