"""A configuration in words, so that a checkpoint can say in what it differs."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from .._xp import is_array


def words(value: Any, name: str = "conversion") -> Iterator[tuple[str, str]]:
    """A dataclass and all inside it as (path, text): numbers in full, arrays by their shape, functions by their name.

    Reference: none; it goes into ``state_dict``, which holds plain data only.

    >>> from o2nc.conversions import HeavyBall
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


def difference(saved: dict[str, str], here: dict[str, str]) -> str:
    """The first entry in which two configurations differ, in words; nothing if they agree.

    >>> difference({"conversion.eta": "0.5"}, {"conversion.eta": "0.1"})
    'conversion.eta was 0.5 and is 0.1 here'
    """
    for name in {**here, **saved}:
        if saved.get(name) != here.get(name):
            return f"{name} was {saved.get(name, 'absent')} and is {here.get(name, 'absent')} here"
    return ""
