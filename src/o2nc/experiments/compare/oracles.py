"""One oracle with one set on one objective, by name, beside SGD."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from .._xp import Array
from ..operators import Identity
from ..oracles import (
    FTRL,
    OGD,
    OMD,
    AdaGrad,
    AdaHedge,
    BinaryEntropic,
    CoinBetting,
    DiscountedHedge,
    Entropic,
    FixedShare,
    FrankWolfe,
    FullAdaGrad,
    Hedge,
    OptimisticHedge,
    OptimisticOMD,
    Oracle,
    ShortMemoryHedge,
    SoloFTRL,
    Squint,
)
from ..sets import Box, Hull, OperatorSet, PositiveContractions, SpectralBall
from .methods import FIRST_KAPPA, METHODS, Method, loss_range
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


class Learner(NamedTuple):
    """A learner over a set of operators.

    >>> LEARNERS["omd"].rate
    'needs a rate'
    """

    make: Callable[[Any, Any, float], Oracle]  # from the set, the rate, and a bound on the range of a loss
    words: str  # what it is
    rate: str = ""  # whether it takes one, in words


OPTIONAL, NEEDED = "rate optional", "needs a rate"

LEARNERS: MappingProxyType[str, Learner] = MappingProxyType(
    {
        "hedge-self-tuned": Learner(lambda S, eta, C: Hedge(S), "Hedge with the rate that tunes itself"),
        "adahedge": Learner(lambda S, eta, C: AdaHedge(S), "Hedge whose rate follows its mixability gaps"),
        "squint": Learner(lambda S, eta, C: Squint(S, C), "Hedge over experts and rates, second-order bound"),
        "discounted-hedge": Learner(lambda S, eta, C: DiscountedHedge(S), "Hedge that forgets; no regret bound"),
        "short-memory-hedge": Learner(
            lambda S, eta, C: ShortMemoryHedge(S), "Hedge with a short memory and no scale; no regret bound"
        ),
        "optimistic-hedge": Learner(lambda S, eta, C: OptimisticHedge(S), "AdaHedge with the last losses as a hint"),
        "fixed-share": Learner(lambda S, eta, C: FixedShare(S, eta), "Hedge that keeps a share for all", NEEDED),
        "ogd": Learner(lambda S, eta, C: OGD(S, eta), "online gradient descent", OPTIONAL),
        "adagrad": Learner(lambda S, eta, C: AdaGrad(S, eta), "one step size a coordinate", OPTIONAL),
        "full-adagrad": Learner(
            lambda S, eta, C: FullAdaGrad(S, eta), "AdaGrad with a full metric, cubic in the numbers learned", OPTIONAL
        ),
        "coin-betting": Learner(lambda S, eta, C: CoinBetting(S), "coin betting, which has no rate"),
        "frank-wolfe": Learner(lambda S, eta, C: FrankWolfe(S, eta), "Frank-Wolfe steps, no projection", NEEDED),
        "omd": Learner(lambda S, eta, C: OMD(S, eta), "mirror descent, Euclidean", NEEDED),
        "omd-entropic": Learner(lambda S, eta, C: OMD(S, eta, Entropic()), "mirror descent, entropic", NEEDED),
        "ftrl": Learner(lambda S, eta, C: FTRL(S, eta), "follow the regularized leader, Euclidean", NEEDED),
        "ftrl-entropic": Learner(
            lambda S, eta, C: FTRL(S, eta, Entropic()), "follow the regularized leader, entropic", NEEDED
        ),
        "optimistic-omd": Learner(
            lambda S, eta, C: OptimisticOMD(S, eta), "mirror descent with the last gradient as a hint", NEEDED
        ),
        "solo-ftrl": Learner(lambda S, eta, C: SoloFTRL(S, eta), "scale-free regularized leader", OPTIONAL),
        "omd-binary": Learner(
            lambda S, eta, C: OMD(S, eta, BinaryEntropic()), "mirror descent, binary entropy: matrix weights", NEEDED
        ),
    }
)

_SET_WORDS = {
    "hull": "mixtures of I and the objective's projector P",
    "box": "diagonal matrices with entries in [0, 1]",
    "positive": "symmetric matrices with eigenvalues in [0, 1]; slow, d^3 a round and replication",
    "spectral": "symmetric matrices with eigenvalues in [-1, 1]; slow, d^3 a round and replication",
}
_METHOD_WORDS = {
    "sgd": "stochastic gradient descent, no oracle",
    "hedge": "the paper's Hedge over I and P with its rate",
    "frozen": "plays (I + P)/2 in every round",
    "identity": "plays I in every round",
    "projector": "plays P in every round",
    "learned": "AdaHedge over I and P",
    "blind": f"AdaGrad over the box; does not know P; kappa = {FIRST_KAPPA:g} was tried first",
}


def words(name: str) -> str:
    """What an oracle or a set is, with its loss, its sets and its rate.

    Reference: Algorithm 1 with any oracle.

    >>> words("learned")
    'AdaHedge over I and P; descent loss, kappa = 16'
    >>> words("omd-entropic")
    'mirror descent, entropic; set hull or box; needs a rate'
    """
    if name in SETS:
        return _SET_WORDS[name]
    if name in METHODS:
        kappa = METHODS[name].kappa
        return _METHOD_WORDS[name] + (f"; descent loss, kappa = {kappa:g}" if kappa else "")
    sets = sets_of(name)
    parts = [LEARNERS[name].words, f"set {' or '.join(sets)}" if len(sets) < len(SETS) else "", LEARNERS[name].rate]
    return "; ".join(part for part in parts if part)


def sets_of(learner: str) -> list[str]:
    """The sets over which a learner can learn.

    Reference: Algorithm 1 with any oracle.

    >>> sets_of("adahedge"), sets_of("adagrad")
    (['hull'], ['hull', 'box'])
    """
    import numpy as np

    f, found = objective("f4"), []
    for name, make in SETS.items():
        try:
            LEARNERS[learner].make(make(f, np.zeros(1)), 1.0, 1.0).init(np.zeros(f.d))
        except TypeError:
            continue
        found.append(name)
    return found


def combination(
    oracle: str, operators: str | None = None, rate: float | None = None, kappa: float | None = None
) -> Method:
    r"""The method of an oracle and a set by name; the methods of the reproduction bring their own set and rate.

    Args:
        oracle: a key of `METHODS` or `LEARNERS`.
        operators: a key of `SETS`; the hull if not given.
        rate: the learner's rate, where it needs or takes one.
        kappa: the factor of the descent loss; if not given that of the method, or 0, the linear loss.

    Reference: Algorithm 1 with any oracle.

    >>> combination("adagrad", "box").label
    'adagrad over box'
    """
    if oracle in METHODS:
        return _reproduced(oracle, {"set": operators, "rate": rate}, kappa)
    if oracle not in LEARNERS:
        raise ValueError(f"`oracle` must be one of {', '.join([*METHODS, *LEARNERS])}; got {oracle!r}.")
    operators = "hull" if operators is None else operators
    if operators not in SETS:
        raise ValueError(f"`set` must be one of {', '.join(SETS)}; got {operators!r}.")
    learner, factor = LEARNERS[oracle], kappa or 0.0
    if rate is not None and not learner.rate:
        raise ValueError(f"`rate` must not be given for the oracle {oracle}, which has its own; got {rate}.")
    if rate is None and learner.rate == NEEDED:
        raise ValueError(f"`rate` must be given for the oracle {oracle}.")

    def make(f: Objective, like: Array) -> Oracle:
        return learner.make(SETS[operators](f, like), rate, loss_range(f, factor))

    return Method(oracle, f"{oracle} over {operators}", make, kappa=factor)


def _reproduced(name: str, refused: dict[str, Any], kappa: float | None) -> Method:
    method = METHODS[name]
    for argument, value in refused.items():
        if value is not None:
            raise ValueError(f"`{argument}` must not be given for the oracle {name}, which brings its own.")
    if kappa is not None and method.oracle is None:
        raise ValueError(f"`kappa` must not be given for {name}, which is shown no loss; got {kappa:g}.")
    return method if kappa is None else replace(method, kappa=kappa)


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
