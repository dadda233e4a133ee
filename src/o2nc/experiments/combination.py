"""One oracle with one set on one objective, by name, beside SGD."""

import inspect
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from .._xp import Array
from ..operators import Identity
from ..oracles import (
    FTRL,
    OGD,
    OMD,
    AdaGrad,
    AdaHedge,
    DiscountedHedge,
    Entropic,
    FullAdaGrad,
    Hedge,
    Oracle,
    ShortMemoryHedge,
)
from ..sets import Box, Hull, OperatorSet, PositiveContractions, SpectralBall
from .methods import METHODS, Method
from .objectives import Objective, objective
from .protocol import Cell, play
from .record import Record

SETS: MappingProxyType[str, Callable[[Objective, Array], OperatorSet]] = MappingProxyType(
    {
        "hull": lambda f, like: Hull((Identity(), f.projector(like))),
        "box": lambda f, like: Box(),
        "positive": lambda f, like: PositiveContractions(),
        "spectral": lambda f, like: SpectralBall(),
    }
)

# learners over a set: the class with the given set and rate, and whether it needs a rate
LEARNERS: MappingProxyType[str, tuple[Callable[[Any, float | None], Oracle], bool]] = MappingProxyType(
    {
        "hedge-self-tuned": (lambda operators, eta: Hedge(operators), False),
        "adahedge": (lambda operators, eta: AdaHedge(operators), False),
        "discounted-hedge": (lambda operators, eta: DiscountedHedge(operators), False),
        "short-memory-hedge": (lambda operators, eta: ShortMemoryHedge(operators), False),
        "ogd": (lambda operators, eta: OGD(operators, eta), False),
        "adagrad": (lambda operators, eta: AdaGrad(operators, eta), False),
        "full-adagrad": (lambda operators, eta: FullAdaGrad(operators, eta), False),
        "omd": (lambda operators, eta: OMD(operators, float(eta or 0)), True),
        "omd-entropic": (lambda operators, eta: OMD(operators, float(eta or 0), Entropic()), True),
        "ftrl": (lambda operators, eta: FTRL(operators, float(eta or 0)), True),
        "ftrl-entropic": (lambda operators, eta: FTRL(operators, float(eta or 0), Entropic()), True),
    }
)

WORDS = MappingProxyType(
    {
        "hull": "mixtures of I and the objective's projector P",
        "box": "diagonal matrices with entries in [0, 1]",
        "positive": "symmetric matrices with eigenvalues in [0, 1]; slow, d^3 a round and replication",
        "spectral": "symmetric matrices with eigenvalues in [-1, 1]; slow, d^3 a round and replication",
        "sgd": "stochastic gradient descent, no oracle",
        "hedge": "the paper's Hedge over I and P with its rate",
        "frozen": "plays (I + P)/2 in every round",
        "identity": "plays I in every round",
        "projector": "plays P in every round",
        "learned": "AdaHedge over I and P with the descent loss, kappa = 16",
        "blind": "AdaGrad over the box with the descent loss, kappa = 16; does not know P",
        "hedge-self-tuned": "Hedge with the rate that tunes itself; set hull",
        "adahedge": "Hedge whose rate follows its mixability gaps; set hull",
        "discounted-hedge": "Hedge that forgets; set hull; no regret bound",
        "short-memory-hedge": "Hedge with a short memory and no scale; set hull; no regret bound",
        "ogd": "online gradient descent; rate optional",
        "adagrad": "one step size a coordinate; set hull or box; rate optional",
        "full-adagrad": "AdaGrad with a full metric; set hull or box; rate optional",
        "omd": "mirror descent, Euclidean; needs a rate",
        "omd-entropic": "mirror descent, entropic; set hull or box; needs a rate",
        "ftrl": "follow the regularized leader, Euclidean; needs a rate",
        "ftrl-entropic": "follow the regularized leader, entropic; set hull or box; needs a rate",
    }
)


def combination(oracle: str, operators: str | None = None, rate: float | None = None) -> Method:
    r"""The method of an oracle and a set by name; the methods of the reproduction bring their own set and rate.

    Args:
        oracle: a key of `METHODS` or `LEARNERS`.
        operators: a key of `SETS`; the hull if not given.
        rate: the learner's rate, where it needs or takes one.

    Reference: Algorithm 1 with any oracle.

    >>> combination("adagrad", "box").label
    'adagrad over box'
    """
    if oracle in METHODS:
        if operators is not None or rate is not None:
            given = "`set`" if operators is not None else "`rate`"
            raise ValueError(f"{given} must not be given for the oracle {oracle}, which brings its own.")
        return METHODS[oracle]
    if oracle not in LEARNERS:
        raise ValueError(f"`oracle` must be one of {', '.join([*METHODS, *LEARNERS])}; got {oracle!r}.")
    operators = "hull" if operators is None else operators
    if operators not in SETS:
        raise ValueError(f"`set` must be one of {', '.join(SETS)}; got {operators!r}.")
    if rate is not None and "hedge" in oracle:
        raise ValueError(f"`rate` must not be given for the oracle {oracle}, which has its own; got {rate}.")
    make, needs_rate = LEARNERS[oracle]
    if needs_rate and rate is None:
        raise ValueError(f"`rate` must be given for the oracle {oracle}.")
    return Method(oracle, f"{oracle} over {operators}", lambda f, like: make(SETS[operators](f, like), rate))


def run_combination(name: str, how: Method, **settings: Any) -> dict[str, Record]:
    """Run ``how`` and SGD on the objective called ``name`` with the same noise; ``settings`` are those of a `Cell`.

    Reference: Numerical Experiments, the evaluation protocol.

    >>> records = run_combination("f4", combination("ogd"), start=0, stop=2, iterations=5)
    >>> sorted(records)
    ['ogd', 'sgd']
    """
    f = objective(name)
    return play(f, list({"sgd": METHODS["sgd"], how.name: how}.values()), Cell(name, ("sgd",), **settings))


def describe(f: Objective) -> str:
    """The objective in a few words.

    Reference: Numerical Experiments.

    >>> describe(objective("f3"))
    'an XY ring in a field, d = 64'
    """
    words = (inspect.getdoc(inspect.getmodule(type(f))) or "").splitlines()[0]
    return f"{words.partition(': ')[2].rstrip('.')}, d = {f.d}"
