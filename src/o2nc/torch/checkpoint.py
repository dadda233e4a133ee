"""Checkpoints: the state of a conversion per parameter, what a ``state_dict`` must be, and how it is loaded.

``Optimizer.state`` is keyed by parameter, and distributed checkpoints keep nothing else. So `Blocks` in a state go
block by block to their parameters, as do the states in `ByBlock`; all else (scalars, what a learner remembers) is there
once for each parameter.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch

from .._xp import is_array
from ..checks import brief, check_seed
from ..states import ByBlock, State, leaves, rebuild
from ..vectors import Blocks
from .parameter_groups import check_choice
from .shards import laid_out, local

VERSION = 5  # of the layout of ``state_dict``
NUMBERS = 4  # that Philox makes of one counter
BY_BLOCK = (Blocks, ByBlock)
NONNEGATIVE = frozenset(
    {"t", "played", "size", "root", "R", "error", "scale.root", "scale.capped", "step"}
)  # keys of counters, sizes and rates
WHOLE = frozenset({"t", "step", "scale.capped"})
Entry = dict[str, Any]  # what an optimizer keeps for one parameter
Form = State  # the structure of a state, with the key of each leaf in its place; for `Blocks`, in Blocks


def form_of(state: State, name: str = "state") -> Form:
    """The structure of a state.

    >>> from o2nc.rivals import HeavyBall
    >>> form_of(HeavyBall(eta=0.5).init(Blocks((torch.zeros(2),))))
    HeavyBallState(m=Blocks(arrays=('state.m',)))
    """
    return rebuild(state, (_keys(path, leaf) for path, leaf in leaves(state, name, BY_BLOCK)), kept=BY_BLOCK)


def _keys(path: str, leaf: Any) -> Any:
    if isinstance(leaf, ByBlock):
        return ByBlock(tuple(rebuild(part, (key for key, _ in leaves(part, path))) for part in leaf.parts))
    return Blocks((path,)) if isinstance(leaf, Blocks) else path


def scatter(state: State, count: int, name: str = "state") -> list[Entry]:
    """One entry a parameter.

    >>> from o2nc.rivals import HeavyBall
    >>> scatter(HeavyBall(eta=0.5).init(Blocks((torch.zeros(2), torch.zeros(1)))), 2)
    [{'state.m': tensor([0., 0.])}, {'state.m': tensor([0.])}]
    """
    entries: list[Entry] = [{} for _ in range(count)]
    for path, leaf in leaves(state, name, BY_BLOCK):
        if isinstance(leaf, ByBlock):
            parts = [dict(leaves(part, path)) for part in leaf.parts]
        else:
            parts = [{path: part} for part in (leaf.arrays if isinstance(leaf, Blocks) else (leaf,) * count)]
        for entry, part in zip(entries, parts, strict=True):
            entry.update(part)
    return entries


def gather(form: Form, entries: Sequence[Entry]) -> State:
    """The inverse of `scatter`.

    >>> from o2nc.rivals import HeavyBall
    >>> state = HeavyBall(eta=0.5).init(Blocks((torch.zeros(2), torch.zeros(1))))
    >>> gather(form_of(state), scatter(state, 2)) == state
    True
    """
    return rebuild(form, (_values(keys, entries) for _, keys in leaves(form, kept=BY_BLOCK)), kept=BY_BLOCK)


def _values(keys: Any, entries: Sequence[Entry]) -> Any:
    if isinstance(keys, ByBlock):
        pairs = zip(keys.parts, entries, strict=True)
        return ByBlock(tuple(rebuild(part, (entry[key] for _, key in leaves(part))) for part, entry in pairs))
    if isinstance(keys, Blocks):
        return Blocks(tuple(entry[keys.arrays[0]] for entry in entries))
    return entries[0][keys]


def words(value: Any, name: str = "conversion") -> Iterator[tuple[str, str]]:
    """A configuration as (path, text): numbers in full, arrays by their shape, functions by their name.

    Reference: none; it goes into ``state_dict``, which holds plain data only.

    >>> from o2nc.rivals import HeavyBall
    >>> dict(words(HeavyBall(eta=0.5)))
    {'conversion': 'HeavyBall', 'conversion.eta': '0.5', 'conversion.mu': '0.9'}
    """
    if is_array(value):
        yield name, f"an array of shape {tuple(value.shape)}"
    elif isinstance(value, (tuple, list)):
        yield name, f"{len(value)} items"
        for k, item in enumerate(value):
            yield from words(item, f"{name}[{k}]")
    elif callable(value) and hasattr(value, "__qualname__"):
        yield name, value.__qualname__
    elif is_dataclass(value):
        yield name, type(value).__qualname__
        for field in fields(value):
            yield from words(getattr(value, field.name), f"{name}.{field.name}")
    else:
        yield name, repr(value) if isinstance(value, (str, int, float, type(None))) else type(value).__qualname__


def check_form(saved: Any) -> None:
    """Raise unless a ``state_dict`` has what one of torch has.

    >>> check_form({})
    Traceback (most recent call last):
        ...
    ValueError: `state_dict` must be a dict with 'state' and 'param_groups'; got {}.
    """
    if not isinstance(saved, dict) or not {"state", "param_groups"} <= set(saved):
        raise ValueError(f"`state_dict` must be a dict with 'state' and 'param_groups'; got {brief(saved)}.")
    state, groups = saved["state"], saved["param_groups"]
    if not isinstance(groups, list) or not all(
        isinstance(g, dict) and isinstance(g.get("params"), list) for g in groups
    ):
        raise ValueError(f"`state_dict['param_groups']` must be a list of dicts with 'params'; got {brief(groups)}.")
    if not isinstance(state, dict) or not all(isinstance(entry, dict) for entry in state.values()):
        raise ValueError(f"`state_dict['state']` must be a dict of dicts; got {brief(state)}.")
    known = {number for group in groups for number in group["params"]}
    if foreign := [key for key in state if key not in known]:
        raise ValueError(
            f"`state_dict['state']` must have the parameters of its groups as keys; got {foreign[0]!r}, which is none."
        )


def check_counts(saved: dict[str, Any], groups: list[dict[str, Any]]) -> None:
    """Raise unless a ``state_dict`` has as many parameters in each group as there are here."""
    counts, found = ([len(group["params"]) for group in every] for every in (groups, saved["param_groups"]))
    if counts != found:
        raise ValueError(f"`state_dict` must have groups of {counts} parameters; got {found}.")


def check_version(found: Any, name: str) -> None:
    """Raise unless a ``state_dict`` is of the class ``name``, in the layout that is known here.

    >>> check_version(1, "Hedged")
    Traceback (most recent call last):
        ...
    ValueError: `state_dict` must be of `Hedged`, version 5; got version 1.
    """
    if found != VERSION:
        got = "one of another optimizer" if found is None else f"version {found}"
        raise ValueError(f"`state_dict` must be of `{name}`, version {VERSION}; got {got}.")


def check_run(run: Any, conversion: Any) -> None:
    """Raise unless this is the item "run" of `Converted`, of the same conversion."""
    check_version(run.get("version") if isinstance(run, dict) else None, "Converted")
    # the configuration in the groups is not read: torch.distributed.checkpoint has written there
    check_same(run.get("configuration") or {}, dict(words(conversion)), "conversion")
    check_choice("held", run.get("held"), ("training", "output"))
    check_seed(run.get("seed"))
    if not isinstance(run.get("void"), str):
        raise ValueError(f"`void` must be a string; got {run.get('void')!r}.")


def check_same(saved: dict[str, str], here: dict[str, str], what: str) -> None:
    """Raise unless two configurations agree.

    >>> check_same({"conversion.eta": "0.5"}, {"conversion.eta": "0.1"}, "conversion")
    Traceback (most recent call last):
        ...
    ValueError: `state_dict` must come from the same conversion; conversion.eta was 0.5 and is 0.1 here.
    """
    for name in {**here, **saved}:
        if saved.get(name) != here.get(name):
            differs = f"{name} was {saved.get(name, 'absent')} and is {here.get(name, 'absent')} here"
            raise ValueError(f"`state_dict` must come from the same {what}; {differs}.")


def entries(saved: dict[str, Any], like: Iterable[Entry]) -> list[Entry]:
    """The entries of a ``state_dict``, as copies with the dtypes and devices of ``like``; empty where there is none.

    Raise unless they have the same keys and shapes. The point "x" may be missing: whether it is kept depends on the
    dtype of a parameter.
    """
    numbers = [number for group in saved["param_groups"] for number in group["params"]]
    found = [saved["state"].get(number) or {} for number in numbers]
    return [
        entry(here, example, f"parameter {k}") if here else {}
        for k, (here, example) in enumerate(zip(found, like, strict=True))
    ]


def entry(saved: Entry, like: Entry, name: str) -> Entry:
    """A saved entry with the dtypes and devices of ``like``; raise unless it has the same keys and shapes.

    Raise too if its numbers cannot be: NaN, infinite, or negative where they count or are squares.
    """
    if not set(like) - {"x"} <= set(saved) <= set(like):
        raise ValueError(f"`state_dict` must have {sorted(like)} for {name}; got {sorted(saved)}.")
    for key, value in saved.items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"`state_dict` must have a tensor as {key!r} for {name}; got {brief(value)}.")
        shape, found = tuple(like[key].shape), tuple(value.shape)
        if found != shape:
            raise ValueError(f"`state_dict` must have {key!r} of shape {shape} for {name}; got {found}.")
        if what := wrong(key, local(value), local(like[key])):
            raise ValueError(f"`state_dict` must have {what} as {key!r} for {name}.")
    return {
        key: laid_out(value, like[key]).to(like[key].device, like[key].dtype, copy=True) for key, value in saved.items()
    }


def wrong(key: str, value: torch.Tensor, like: torch.Tensor) -> str:
    """What a tensor of a state must have and has not; nothing if it is right. ``like`` is the first state.

    >>> wrong("t", torch.tensor(-1.0), torch.tensor(0.0))
    'nonnegative numbers'
    """
    if value.is_floating_point() != like.is_floating_point():
        return "floating numbers" if like.is_floating_point() else "whole numbers"
    if bool(value.isnan().any()) or bool((value.isinf() & like.isfinite().all().to(value.device)).any()):
        return "finite numbers"
    counts = not like.is_floating_point() and bool((like >= 0).all())
    if (counts or key in NONNEGATIVE) and bool((value < 0).any()):
        return "nonnegative numbers"
    return "whole numbers" if key in WHOLE and bool((value != value.round()).any()) else ""


def coin(seed: int, k: int) -> float:
    """The k-th uniform number of ``seed``, from 0; `o2nc.minimize` with that seed draws the same ones in order.

    Reference: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011).

    >>> coin(0, 5) == coin(0, 5) != coin(0, 6)
    True
    """
    bits = np.random.Philox(np.random.SeedSequence([seed, 1])).advance(k // NUMBERS)
    return float(np.random.Generator(bits).random(k % NUMBERS + 1)[-1])
