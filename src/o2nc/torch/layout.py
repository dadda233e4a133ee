"""The state of a conversion, laid out per parameter.

``Optimizer.state`` is keyed by parameter, and distributed checkpoints want nothing else. So `Blocks` in a state go
block by block to their parameters, and all else (scalars, what a learner remembers) is there once for each parameter.
"""

from collections.abc import Sequence
from typing import Any

from ..states import State, leaves, rebuild
from ..vectors import Blocks

Entry = dict[str, Any]  # what the optimizer keeps for one parameter
Form = State  # the structure of a state, with the key of each leaf in its place; for `Blocks`, in Blocks


def form_of(state: State) -> Form:
    """The structure of a state.

    >>> import torch
    >>> from o2nc.conversions import HeavyBall
    >>> form_of(HeavyBall(eta=0.5).init(Blocks((torch.zeros(2),))))
    HeavyBallState(m=Blocks(arrays=('state.m',)))
    """
    keys = (Blocks((path,)) if isinstance(leaf, Blocks) else path for path, leaf in leaves(state, whole=Blocks))
    return rebuild(state, keys, whole=Blocks)


def scatter(state: State, count: int) -> list[Entry]:
    """One entry a parameter.

    >>> import torch
    >>> from o2nc.conversions import HeavyBall
    >>> scatter(HeavyBall(eta=0.5).init(Blocks((torch.zeros(2), torch.zeros(1)))), 2)
    [{'state.m': tensor([0., 0.])}, {'state.m': tensor([0.])}]
    """
    entries: list[Entry] = [{} for _ in range(count)]
    for path, leaf in leaves(state, whole=Blocks):
        parts = leaf.arrays if isinstance(leaf, Blocks) else (leaf,) * count
        for entry, part in zip(entries, parts, strict=True):
            entry[path] = part
    return entries


def gather(form: Form, entries: Sequence[Entry]) -> State:
    """The inverse of `scatter`.

    >>> import torch
    >>> from o2nc.conversions import HeavyBall
    >>> state = HeavyBall(eta=0.5).init(Blocks((torch.zeros(2), torch.zeros(1))))
    >>> gather(form_of(state), scatter(state, 2)) == state
    True
    """
    return rebuild(
        form,
        (
            Blocks(tuple(entry[key.arrays[0]] for entry in entries)) if isinstance(key, Blocks) else entries[0][key]
            for _, key in leaves(form, whole=Blocks)
        ),
        whole=Blocks,
    )
