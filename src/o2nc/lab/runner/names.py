"""Some of the things of a registry."""

from collections.abc import Callable
from typing import Any

from ...registry import Entry, Registry


def chosen(registry: Registry, test: Callable[[Entry], Any]) -> Registry:
    """The things of a registry that pass a test, by name in order.

    Reference: none.

    >>> shapes = Registry("shape")
    >>> shapes.add("square", lambda: None, "four equal sides", sides=4)
    >>> list(chosen(shapes, lambda entry: entry.facts["sides"] == 3))
    []
    """
    found = Registry(registry.kind)
    for _, entry in sorted(registry.items()):
        if test(entry):
            found.keep(entry)
    return found
