"""What there is to minimise, by name; every objective adds itself in its own file."""

from typing import Any

from ...registry import Registry
from ..runner.names import chosen

# `make` takes nothing; `kind` is "smooth" (the paper's first setting), "data" (the same with minibatches of real data),
# "nonsmooth" (its second setting) or "convex".
registry = Registry("objective")
STOCHASTIC = ("smooth", "data")  # the kinds that Algorithm 1 is run on


def of_kind(*kinds: str) -> Registry:
    """The objectives of some kinds, by name in order.

    Reference: none.

    >>> list(of_kind("smooth"))
    ['f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7', 'f8']
    >>> list(of_kind("data"))
    ['dictionary', 'network', 'savage', 'sigmoid']
    """
    return chosen(registry, lambda entry: entry.facts["kind"] in kinds)


def objective(name: str, kind: str | None = None) -> Any:
    """The objective called ``name``, of this kind, or of those of Algorithm 1 if None; data are read once.

    Reference: Numerical Experiments: "f1" to "f4" are the paper's.

    >>> objective("f3").d
    64
    >>> objective("f9")
    Traceback (most recent call last):
        ...
    ValueError: `objective` must be one of dictionary, f1, f2, f3, f4, f5, f6, f7, f8, network, savage, sigmoid; got 'f9'.
    """  # noqa: E501
    return of_kind(*(STOCHASTIC if kind is None else (kind,)))[name].make()
