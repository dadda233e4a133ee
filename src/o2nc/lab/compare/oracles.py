"""Oracles and sets by name, and an oracle with a set as a method."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ... import oracles, sets
from ..._xp import Array
from ...learners.base import NEEDED
from ...operators import Identity
from ...oracles import Oracle
from ...registry import Registry, unknown
from ..objectives import objective
from ..objectives.smooth import Objective
from ..paper.methods import METHODS, loss_range
from ..runner.names import chosen
from ..runner.paired import Method

SPELLING = "name[:set][:rate=...][:kappa=...][:r=...]"  # of an oracle on the command line
_METHOD_WORDS = {
    "sgd": "stochastic gradient descent, no oracle",
    "hedge": "the paper's Hedge over I and P with its rate",
    "frozen": "plays (I + P)/2 in every round",
    "identity": "plays I in every round",
    "projector": "plays P in every round",
    "learned": "AdaHedge over I and P; prediction loss",
    "blind": "online Newton steps for each coordinate; does not know P; prediction loss",
    "sharp_identity": "plays I in every round, with the sharp constants for the rounds of the run",
    "sharp": "online least squares over I and P, with the sharp constants",
    "sharp_blind": "as blind, with the sharp constants",
    "sharp_stated": "as sharp, with the constants of the a-priori theorem for least squares",
    "one_run": "plays I in every round, with the constants of the one-run certificate",
}


def learners() -> Registry:
    """The oracles that learn over a set.

    >>> learners()["omd"].facts["rate"]
    'needs a rate'
    """
    return chosen(oracles.registry, lambda entry: not entry.facts.get("circuit"))


def operator_sets() -> Registry:
    """The sets over which they learn; experts are I and the projector P of the objective.

    >>> list(operator_sets())
    ['box', 'hull', 'positive', 'spectral']
    """
    return chosen(sets.registry, lambda entry: entry.facts.get("cli"))


def words(name: str) -> str:
    """What an oracle is, with its loss, its sets and its rate.

    Reference: Algorithm 1 with any oracle.

    >>> words("learned")
    'AdaHedge over I and P; prediction loss'
    >>> words("omd-entropic")
    'mirror descent, entropic; set box or hull; needs a rate'
    """
    if name in METHODS:
        return _METHOD_WORDS[name]
    entry, known = learners()[name], sets_of(name)
    parts = [entry.words, f"set {' or '.join(known)}" if len(known) < len(operator_sets()) else ""]
    return "; ".join(part for part in (*parts, entry.facts.get("rate")) if part)


def sets_of(oracle: str) -> list[str]:
    """The sets over which an oracle can learn.

    Reference: Algorithm 1 with any oracle.

    >>> sets_of("adahedge"), sets_of("adagrad")
    (['hull'], ['box', 'hull'])
    """
    found, (f, like) = [], (objective("f4"), np.zeros(1))
    for name in operator_sets():
        try:
            learners()[oracle].make(make_set(name, f, like), 1.0, 1.0).init(f.start(like))
        except TypeError:
            continue
        found.append(name)
    return found


def make_set(name: str, f: Objective, like: Array) -> Any:
    """The set called ``name`` for an objective."""
    return operator_sets()[name].make((Identity(), f.projector(like)), f.start(like))


def combination(
    oracle: str, operators: str | None = None, rate: float | None = None, kappa: float | None = None
) -> Method:
    r"""The method of an oracle and a set by name; the methods of the reproduction bring their own set and rate.

    Args:
        oracle: a key of `METHODS` or of `learners`.
        operators: a key of `operator_sets`; the hull if not given.
        rate: the oracle's rate, where it needs or takes one.
        kappa: the factor of the descent loss; if not given that of the method, or 0, the linear loss.

    Reference: Algorithm 1 with any oracle.

    >>> combination("adagrad", "box").label
    'adagrad over box'
    """
    if oracle in METHODS:
        return _reproduced(METHODS[oracle], {"set": operators, "rate": rate}, kappa)
    if oracle not in learners():
        raise ValueError(unknown("oracle", [*METHODS, *learners()], oracle))
    entry, named, factor = learners()[oracle], operator_sets()[operators or "hull"].name, kappa or 0.0
    if rate is not None and not entry.facts.get("rate"):
        raise ValueError(f"`rate` must not be given for the oracle {oracle}, which has its own; got {rate}.")
    if rate is None and entry.facts.get("rate") == NEEDED:
        raise ValueError(f"`rate` must be given for the oracle {oracle}, as in {oracle}:rate=0.1.")

    def make(f: Objective, like: Array) -> Oracle:
        return entry.make(make_set(named, f, like), rate, loss_range(f, factor))

    return Method(oracle, f"{oracle} over {named}", make, kappa=factor)


def _reproduced(method: Method, refused: dict[str, Any], kappa: float | None) -> Method:
    for argument, value in refused.items():
        if value is not None:
            raise ValueError(f"`{argument}` must not be given for the oracle {method.name}, which brings its own.")
    if kappa is not None and (method.oracle is None or method.convert is not None):
        shown = "the prediction loss" if method.oracle else "no loss"
        raise ValueError(f"`kappa` must not be given for {method.name}, which is shown {shown}; got {kappa:g}.")
    return method if kappa is None else replace(method, kappa=kappa)


def spelled(text: str) -> Method:
    """The method of an oracle as the command line spells it: ``name[:set][:rate=...][:kappa=...][:r=...]``.

    ``r`` is where on the step the sample is taken: a number from 0 (the start, if not given) to 1, or ``uniform``.

    Reference: Algorithm 1 with any oracle.

    >>> spelled("adagrad:box:kappa=4").kappa
    4.0
    >>> spelled("adahedge:kappa=1:r=uniform").r is None
    True
    >>> spelled("ogd:box:speed=4")
    Traceback (most recent call last):
        ...
    ValueError: `oracle` must be name[:set][:rate=...][:kappa=...][:r=...]; got 'ogd:box:speed=4'.
    """
    oracle, *parts = text.split(":")
    operators, numbers = None, dict[str, float | None]()
    for part in parts:
        key, given, value = part.partition("=")
        if not given and operators is None:
            operators = part
        elif key in ("rate", "kappa", "r") and key not in numbers and _is_number(value):
            numbers[key] = float(value)
        elif part == "r=uniform" and key not in numbers:
            numbers[key] = None
        else:
            raise ValueError(f"`oracle` must be {SPELLING}; got {text!r}.")
    method = combination(oracle, operators, numbers.get("rate"), numbers.get("kappa"))
    if "r" in numbers and (method.oracle is None or method.convert is not None):
        raise ValueError(f"`r` must not be given for {oracle}, which takes its samples at its iterates; got {text!r}.")
    return replace(method, name=text, label=text, r=numbers.get("r", method.r))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
