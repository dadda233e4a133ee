"""The round that Algorithms 1 and 2 and their relatives share, and what their certificates need of it."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any, ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..certificates import Certificate
from ..certificates.declared import (
    Descent,
    descent_objection,
    evidence_objection,
    most_evidence,
    regret_objection,
)
from ..certificates.replications import labelled
from ..constants import Nonsmooth, SmoothConstants, VarianceReduced
from ..losses import Loss
from ..oracles.base import Oracle, check_is_oracle, objection_of, stated_bound, weights_of
from ..vectors import Scalar, Vector, apply, check_vector, inner, leaf, project_ball, zero_scalar, zeros_like
from .base import Answer, Conversion, Samples
from .compensated import add
from .evidence import Claims, bets_of, no_evidence, seen
from .marks import mark_of

CLIPPED_LIMIT = 0.5  # the share of projected rounds above which the constants are called wrong
ROUNDING = 1e-4  # of squared lengths, in float32 and for many parameters
ROUNDINGS = 100  # by how many of them the sums of equal replications may differ


class Lost(NamedTuple):
    """What rounding has taken from the sums of `Tracked`, as far as it is kept."""

    regret: Array  # (..., 1)
    Q: Array  # (..., 1)
    N: Array  # (..., 1)
    W: Array  # (..., 1)


class Tracked(NamedTuple):
    """What is remembered of the rounds so far: the tracker, the oracle, and the sums for certificates.

    Reference: Algorithms 1 and 2, and the sums of Theorem 1.

    >>> import numpy as np
    >>> from o2nc.oracles import Constant
    >>> first_round(Constant(), np.zeros(2)).m
    array([0., 0.])
    """

    m: Vector  # the tracker m_t
    oracle: Any  # the oracle's state
    t: Array  # the round, counted from 1, (1,)
    regret: Array  # sum of L_t(U_t) - L_t(I), (..., 1)
    Q: Array  # sum of <s_t, m_t>, (..., 1); with z_t in the place of m_t in Algorithm 2, as in the next two
    N: Array  # sum of |m_t|^2, (..., 1)
    W: Array  # sum of |U_t m_t|^2, (..., 1)
    clipped: Array  # rounds in which the projection of the tracker was active, (..., 1)
    longer: Array  # rounds in which U_t m_t was longer than m_t, which no contraction makes, (..., 1)
    E: Array  # sum of (|p_t| |m_t|)^2, the energy of the losses, (..., 1)
    lost: Lost  # by the sums, through rounding
    mark: Array  # that of the conversion and its constants; 0 if there was more than one, (1,)
    evidence: Any = ()  # an `Evidence` on the declared constants; () if nothing is declared


def first_round(oracle: Oracle, x: Vector, claims: Claims | None = None, mark: int = 0) -> Tracked:
    """m_1 = 0, and nothing summed."""
    check_vector("x", x)
    zero, t = zero_scalar(x), _xp.first_round(leaf(x))
    sums = dict.fromkeys(("regret", "Q", "N", "W", "clipped", "longer", "E"), zero)
    evidence = () if claims is None else no_evidence(x, claims)
    lost = Lost(*[zero] * 4)
    return Tracked(zeros_like(x), oracle.init(x), t, **sums, lost=lost, mark=t * mark, evidence=evidence)


Watch = Callable[[Array], Any]  # from |U_t m_t|^2 to the evidence after the round


def one_round(
    oracle: Oracle, now: Tracked, loss: Loss, Um: Vector, a: Scalar, radius: float | None, watch: Watch | None = None
) -> Tracked:
    """Learn from the loss, track the sample, and sum; ``Um`` was played, ``radius`` is that of the tracker's ball."""
    tracker, clipped = now.m * (1 - a) + loss.s * a, now.clipped
    if radius is not None:
        tracker, norm = project_ball(tracker, radius)
        clipped = clipped + _xp.indicator(norm > radius**2 * (1 + 100 * _xp.machine_eps(norm)), norm)
    return learned(oracle, now, loss, Um, tracker, clipped, watch)


def learned(
    oracle: Oracle, now: Tracked, loss: Loss, Um: Vector, tracker: Vector, clipped: Array, watch: Watch | None
) -> Tracked:
    """Learn from the loss and sum."""
    s, m = loss.s, loss.m
    product, square, played, length = inner(s, m), inner(m, m), inner(s, Um), inner(Um, Um)
    energy = loss.energy(inner(s, s), square)
    is_longer = length > (1 + ROUNDING) * square + _xp.smallest_normal(length)
    after = summed(now, regret=loss.at(played, length) - loss.at(product, square), Q=product, N=square, W=length)
    return after._replace(
        m=tracker,
        oracle=oracle.learn(now.oracle, loss),
        t=now.t + 1,
        clipped=clipped,
        longer=now.longer + _xp.indicator(is_longer, length),
        E=now.E + energy,
        evidence=now.evidence if watch is None else watch(length),
    )


def summed(state: Any, **terms: Array) -> Any:
    """A state with a term added to each of these sums, and to what they have lost."""
    found = {name: add(getattr(state, name), getattr(state.lost, name), term) for name, term in terms.items()}
    lost = state.lost._replace(**{name: rest for name, (_, rest) in found.items()})
    return state._replace(**{name: total for name, (total, _) in found.items()}, lost=lost)


def checked(conversion: Conversion, state: Any, kind: type) -> Any:
    """The state; raise unless it is what ``init`` of the conversion makes."""
    if not isinstance(state, kind):
        name = type(conversion).__name__
        raise TypeError(f"`state` must be what `{name}.init` makes, a {kind.__name__}; got a {type(state).__name__}.")
    return state


@dataclass(frozen=True, eq=False)
class TrackedConversion(Conversion):
    """A conversion around an oracle, whose theorem needs the regret of the oracle.

    Args:
        oracle: the online learner.
        constants: what is known of the objective.

    Reference: Theorems 1 and 2.

    >>> from o2nc.conversions import NonsmoothConversion, SmoothConversion
    >>> issubclass(SmoothConversion, TrackedConversion) and issubclass(NonsmoothConversion, TrackedConversion)
    True
    """

    oracle: Oracle
    constants: SmoothConstants | Nonsmooth | VarianceReduced
    contractions: ClassVar[bool] = True  # whether the theorem is about contractions only

    def __post_init__(self) -> None:
        check_is_oracle("oracle", self.oracle)

    @cached_property
    def mark(self) -> int:
        """The number of this conversion and its constants; the oracle may be any."""
        return mark_of(self, without=("oracle",))

    def marked(self, now: Tracked) -> Tracked:
        """What `first_round` made, with no mark from now on if that is not the one of this conversion."""
        return now._replace(mark=now.mark * _xp.indicator(now.mark == self.mark, now.mark))

    def foreign(self, state: Any) -> str:
        """That a state is not of this conversion, in words; nothing if it is."""
        if set(_xp.floats(self.tracked(state).mark)) == {float(self.mark)}:
            return ""
        return "the state was made, or used, by another conversion or with other constants"

    @property
    def horizon(self) -> int | None:
        """T of the constants."""
        return self.constants.T

    @abstractmethod
    def tracked(self, state: Any) -> Tracked:
        """The part of the state that `one_round` makes."""

    @abstractmethod
    def proved(self, regret: float, rounds: int, **details: Any) -> Certificate:
        """The theorem with this regret, its hypotheses met."""

    def sums(self, state: Any) -> dict[str, Array]:
        """The sums of the rounds so far, and their number "rounds", (1,)."""
        now = self.tracked(state)
        names = ("regret", "Q", "N", "W", "clipped", *(("longer",) if self.contractions else ()))
        return {**{name: getattr(now, name) for name in names}, "rounds": now.t - 1}

    def weights(self, state: Any) -> Array | None:
        """Those of the oracle."""
        return weights_of(self.oracle, self.tracked(state).oracle)

    def hypothesis(self, rounds: int | None = None) -> str:
        """Known constants, and the rounds that the theorem is about."""
        T = self.horizon
        if self.constants.practical:
            return self.constants.practical
        if rounds == 0:
            return "no round was made"
        if rounds is None or T in (rounds, None):
            return ""
        return f"the theorem is about T = {T} rounds; this run has {rounds}"

    def theorem(self, regret: float, rounds: int | None = None, **details: Any) -> Answer:
        """The theorem with this regret, or which of its hypotheses is not met."""
        rounds = self.horizon if rounds is None else rounds
        if rounds is None:
            return "the theorem is about a number of rounds, which must be given"
        return self.hypothesis(rounds) or self.proved(regret, rounds, **details)

    def certificate(self, state: Any) -> Answer:
        """The theorem with the measured regret: a plug-in of one run, or a-posteriori from replications."""
        sums = self.sums(state)
        rounds = int(_xp.floats(sums["rounds"])[0])
        if why := self.hypothesis(rounds) or self.objection(state):
            return why
        theorem = lambda regret, **details: self.proved(regret, rounds, **details)
        return self.noted(labelled(theorem, _xp.floats(sums["regret"])), state)

    def a_priori(self, x: Vector) -> Answer:
        """The theorem with the bound that the oracle states."""
        energy = self.energy()
        bound = stated_bound(self.oracle, x, energy)
        if bound < float("inf"):
            return self.theorem(bound, label="a-priori")
        if energy == float("inf") and stated_bound(self.oracle, x, 1.0) < bound:
            return "the regret bound of the oracle needs the range of the objective, `M` of its constants"
        return "the oracle states no regret bound"

    def noted(self, found: Certificate, state: Any, samples: Samples | None = None) -> Certificate:
        """The certificate, with a note and no interval if replications are equal; a note if their first samples are."""
        now = self.tracked(state)
        sigma, n = self.constants.sigma, len(_xp.floats(now.N))
        if sigma == 0 or n < 2:
            return found
        sums, rounding = [_xp.floats(v) for v in (now.Q, now.N)], ROUNDINGS * _xp.machine_eps(now.N)
        size = max(abs(value) for values in sums for value in values)
        if all(max(values) - min(values) <= rounding * size for values in sums):
            note = f"all {n} replications are equal though sigma = {sigma:g}, so there is no interval"
            return replace(found, interval=None, note=f"{note}: is their noise their own?")
        if samples is None or not samples.spread or any(samples.spread):
            return found
        note = f"the first sample is equal in all {n} replications though sigma = {sigma:g}: is their noise their own?"
        return replace(found, note=note)

    def energy(self) -> float:
        """The bound on the energy of the losses that the constants give."""
        return self.constants.energy()

    @cached_property
    def claims(self) -> Claims | None:
        """What the constants claim of samples; None if they were estimated."""
        return None if self.constants.practical else self.claimed()

    @abstractmethod
    def claimed(self) -> Claims:
        """What the constants claim of samples."""

    def watched(self, before: Tracked, s: Vector, again: Vector | None, moved: Array) -> Any:
        """The evidence after a round with the sample s, whose point moves on by eta times the root of ``moved``."""
        if self.claims is None:
            return ()
        return seen(before.evidence, before.t, s, moved, before.W, self.claims, again)

    @abstractmethod
    def descent(self, state: Any) -> Descent:
        """What the steps of a run say of the first gap."""

    def objection(self, state: Any, samples: Samples | None = None) -> str:
        """Which hypothesis the run contradicts: the constants, the oracle, or the independence of replications."""
        if why := self.foreign(state):
            return why
        sums = {name: _xp.floats(values) for name, values in self.sums(state).items()}
        share = fmean(sums["clipped"]) / max(sums["rounds"][0], 1) if self.projects else 0.0
        if share > CLIPPED_LIMIT:
            return f"the constants are too small: the tracker was projected in {share:.0%} of the rounds"
        if rounds := int(max(sums.get("longer", [0]))):
            return f"the oracle played an operator of norm above 1 in {rounds} rounds"
        if why := objection_of(self.oracle, self.tracked(state).oracle):
            return why
        if self.claims is None:
            return ""
        dependence = "" if samples is None else samples.dependence
        return self._contradicted(state) or dependence or self._too_much_regret(state)

    def _contradicted(self, state: Any) -> str:
        """What the samples say of the constants."""
        claims: Any = self.claims
        bets = bets_of(self.tracked(state).evidence, claims)
        return evidence_objection(claims, bets) or descent_objection(self.descent(state))

    def suspicion(self, state: Any) -> Any:
        """The logarithm of the best bet less that which contradicts the constants, (); None if nothing is claimed."""
        evidence = self.tracked(state).evidence
        if evidence == ():
            return None
        return _xp.namespace(evidence.most).max(evidence.most) - most_evidence(math.prod(evidence.most.shape))

    @property
    def projects(self) -> bool:
        """Whether the tracker is projected."""
        return True

    def _too_much_regret(self, state: Any) -> str:
        """A regret above what the oracle states for the energy of these losses."""
        now = self.tracked(state)
        if getattr(self.oracle, "in_expectation", False):
            return ""
        rounding = _xp.machine_eps(now.E) * float(_xp.floats(now.t)[0])
        like = apply(_xp.unsharded, now.m)  # one process may ask alone
        for regret, energy in zip(_xp.floats(now.regret), _xp.floats(now.E), strict=True):
            if why := regret_objection(regret, energy, stated_bound(self.oracle, like, energy), rounding):
                return why
        return ""

    def descended(self, now: Tracked, G: float, curvature: float, eta: float, beta: float, gap: float) -> Descent:
        """The steps -eta U_t m_t against the gap, for losses c (-<s, v> + q |v|^2) with G = 1/c, ``curvature`` = q."""
        claims: Any = self.claims
        Q, N, W, regret, t = (_xp.floats(v) for v in (now.Q, now.N, now.W, now.regret, now.t))
        aligned = [q + curvature * (w - n) - G * r for q, n, w, r in zip(Q, N, W, regret, strict=True)]
        sizes = [abs(q) + n + w + abs(G * r) for q, n, w, r in zip(Q, N, W, regret, strict=True)]
        return Descent(
            paid=[eta * v - beta * eta**2 / 2 * w for v, w in zip(aligned, W, strict=True)],
            way=[eta**2 * w for w in W],
            gap=gap,
            guess=(self.horizon or 1) * eta**2 * (beta * gap / 2 + self.constants.a * claims.sigma**2 if beta else 1.0),
            spread=claims.B if math.inf > claims.B else claims.sigma,
            rounding=t[0] * _xp.machine_eps(now.N) * eta * fmean(sizes),
        )
