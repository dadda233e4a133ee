"""The state of a conversion, laid out per parameter.

``Optimizer.state`` is keyed by parameter, and distributed checkpoints want nothing else. So `Blocks` in a state go
block by block to their parameters, as do the states in `ByBlock`; all else (scalars, what a learner remembers) is there
once for each parameter.
"""

from collections.abc import Sequence
from typing import Any

from ..states import ByBlock, State, leaves, rebuild
from ..vectors import Blocks

Entry = dict[str, Any]  # what the optimizer keeps for one parameter
Form = State  # the structure of a state, with the key of each leaf in its place; for `Blocks`, in Blocks
WHOLE = (Blocks, ByBlock)


def form_of(state: State) -> Form:
    """The structure of a state.

    >>> import torch
    >>> from o2nc.conversions import HeavyBall
    >>> form_of(HeavyBall(eta=0.5).init(Blocks((torch.zeros(2),))))
    HeavyBallState(m=Blocks(arrays=('state.m',)))
    """
    return rebuild(state, (_keys(path, leaf) for path, leaf in leaves(state, whole=WHOLE)), whole=WHOLE)


def _keys(path: str, leaf: Any) -> Any:
    if isinstance(leaf, ByBlock):
        return ByBlock(tuple(rebuild(part, (key for key, _ in leaves(part, path))) for part in leaf.parts))
    return Blocks((path,)) if isinstance(leaf, Blocks) else path


def scatter(state: State, count: int) -> list[Entry]:
    """One entry a parameter.

    >>> import torch
    >>> from o2nc.conversions import HeavyBall
    >>> scatter(HeavyBall(eta=0.5).init(Blocks((torch.zeros(2), torch.zeros(1)))), 2)
    [{'state.m': tensor([0., 0.])}, {'state.m': tensor([0.])}]
    """
    entries: list[Entry] = [{} for _ in range(count)]
    for path, leaf in leaves(state, whole=WHOLE):
        if isinstance(leaf, ByBlock):
            parts = [dict(leaves(part, path)) for part in leaf.parts]
        else:
            parts = [{path: part} for part in (leaf.arrays if isinstance(leaf, Blocks) else (leaf,) * count)]
        for entry, part in zip(entries, parts, strict=True):
            entry.update(part)
    return entries


def gather(form: Form, entries: Sequence[Entry]) -> State:
    """The inverse of `scatter`.

    >>> import torch
    >>> from o2nc.conversions import HeavyBall
    >>> state = HeavyBall(eta=0.5).init(Blocks((torch.zeros(2), torch.zeros(1))))
    >>> gather(form_of(state), scatter(state, 2)) == state
    True
    """
    return rebuild(form, (_values(keys, entries) for _, keys in leaves(form, whole=WHOLE)), whole=WHOLE)


def _values(keys: Any, entries: Sequence[Entry]) -> Any:
    if isinstance(keys, ByBlock):
        pairs = zip(keys.parts, entries, strict=True)
        return ByBlock(tuple(rebuild(part, (entry[key] for _, key in leaves(part))) for part, entry in pairs))
    if isinstance(keys, Blocks):
        return Blocks(tuple(entry[keys.arrays[0]] for entry in entries))
    return entries[0][keys]
