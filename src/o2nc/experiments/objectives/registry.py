"""What there is to minimise, by name; every objective adds itself in its own file."""

from typing import Any

from ...registry import Registry
from ..runner.names import chosen

# `make` takes nothing; `kind` is "smooth" (the paper's first setting), "nonsmooth" (its second) or "convex".
registry = Registry("objective")


def of_kind(kind: str) -> Registry:
    """The objectives of a kind, by name in order.

    Reference: none.

    >>> list(of_kind("smooth"))
    ['f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7', 'f8']
    """
    return chosen(registry, lambda entry: entry.facts["kind"] == kind)


def objective(name: str, kind: str = "smooth") -> Any:
    """The objective called ``name``, which must be of this kind; data are read once.

    Reference: Numerical Experiments: "f1" to "f4" are the paper's.

    >>> objective("f3").d
    64
    >>> objective("f9")
    Traceback (most recent call last):
        ...
    ValueError: `objective` must be one of f1, f2, f3, f4, f5, f6, f7, f8; got 'f9'.
    """
    return of_kind(kind)[name].make()
