"""What there is of a kind, by name: the tests, the pages and the command line read it, so that one line adds a thing.

>>> shapes = Registry("shape")
>>> shapes.add("square", lambda side: side**2, "four equal sides", sides=4)
>>> shapes["square"].make(3), shapes["square"].facts["sides"]
(9, 4)
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A thing of a registry.

    Reference: none.

    >>> Entry("zero", lambda: 0.0, "nothing").make()
    0.0
    """

    name: str  # as users spell it
    make: Callable[..., Any]  # makes one; what it takes is said where the registry is defined
    words: str  # what it is, in a few words
    facts: Mapping[str, Any] = field(default_factory=dict)  # what else the readers of this registry want to know


def unknown(kind: str, names: Iterable[str], name: Any) -> str:
    """The sentence for a name that is not among them, with the nearest.

    >>> unknown("shape", ["square"], "sqare")
    "`shape` must be one of square; got 'sqare'. Did you mean 'square'?"
    """
    return f"`{kind}` must be one of {', '.join(listed := list(names))}; got {name!r}.{nearest(name, listed)}"


def nearest(name: Any, names: Iterable[str]) -> str:
    """What ends a sentence about a name that is not known: the nearest one, if one is near.

    >>> nearest("sqare", ["square"]), nearest("circle", ["square"])
    (" Did you mean 'square'?", '')
    """
    near = difflib.get_close_matches(str(name), list(names), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


class Registry(Mapping[str, Entry]):
    """The things of one kind, in the order in which they were added.

    Args:
        kind: what they are, as messages name them.

    Reference: none.

    >>> shapes = Registry("shape")
    >>> shapes.add("square", lambda: None, "four equal sides")
    >>> shapes["sqare"]
    Traceback (most recent call last):
        ...
    ValueError: `shape` must be one of square; got 'sqare'. Did you mean 'square'?
    """

    def __init__(self, kind: str):
        self.kind = kind
        self._entries: dict[str, Entry] = {}

    def add(self, name: str, make: Callable[..., Any], words: str, **facts: Any) -> None:
        """Add a thing; raise if the name is taken."""
        if name in self._entries:
            raise ValueError(f"The name of a {self.kind} must be new; {name!r} is taken.")
        self._entries[name] = Entry(name, make, words, facts)

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries:
            raise ValueError(unknown(self.kind, self._entries, name))
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
