"""What there is of a kind, by name: the tests, the pages and the command line read it, so that one line adds a thing.

>>> shapes = Registry("shape")
>>> shapes.add("square", lambda side: side**2, "four equal sides", sides=4)
>>> shapes["square"].make(3), shapes["square"].facts["sides"]
(9, 4)
"""

import difflib
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


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
    source: str = ""  # the name of the module that added it


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
        source = sys._getframe(1).f_globals.get("__name__", "")  # as in collections.namedtuple
        self._entries[name] = Entry(name, make, words, facts, source)

    def keep(self, entry: Entry) -> None:
        """Add an entry as it is, unless its name is taken.

        >>> shapes = Registry("shape")
        >>> for sides in (4, 5):
        ...     shapes.keep(Entry("square", lambda: None, "equal sides", {"sides": sides}))
        >>> shapes["square"].facts["sides"]
        4
        """
        self._entries.setdefault(entry.name, entry)

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


class Addition(NamedTuple):
    """An entry that did not come with the library, for a process that does not know it yet.

    Reference: none.

    >>> Addition("o2nc.sets", "registry", Entry("mine", lambda: None, "a set")).entry.name
    'mine'
    """

    module: str  # where the registry is
    variable: str  # and what it is called there
    entry: Entry


def additions() -> list[Addition]:
    """What users have added to the registries of the library, in this process.

    Pickled by value where it was defined in a script or a notebook, by name where it is in a module, this is all that
    another process needs; joblib, Dask and Ray pickle so.

    Reference: none.

    >>> additions()
    []
    """
    places = {
        id(value): (name, variable, value)
        for name, module in list(sys.modules.items())
        if _of_the_library(name)
        for variable, value in list(vars(module).items())
        if isinstance(value, Registry)
    }
    return [
        Addition(module, variable, entry)
        for module, variable, registry in places.values()
        for entry in registry.values()
        if not _of_the_library(entry.source)
    ]


def restore(added: Iterable[Addition]) -> None:
    """Add in this process what was added in another; what is known here stays.

    Reference: none.

    >>> restore([])
    """
    for module, variable, entry in added:
        getattr(importlib.import_module(module), variable).keep(entry)


def _of_the_library(module: str) -> bool:
    return module.partition(".")[0] == __package__
