"""Loss sequences on which an oracle must learn: random, aligned, hunting, zigzagging and turning."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import _xp
from ..losses import LinearLoss
from ..operators import Operator
from ..oracles.base import Oracle
from .frame import Frame, Numbers
from .trials import fail, method

GROWTH = 16  # the regret after T rounds is compared with that after GROWTH * T rounds
MILESTONES = {4**k for k in range(12)}  # the rounds after which the regret is compared with its bound
SMALL = 0.1  # an average regret that need not fall: a tenth of the largest loss


class Adversary(NamedTuple):
    """How the direction m and the sample s of a round are chosen, both of norm at most 1."""

    name: str
    fresh: float  # weight of a random direction in m
    hunt: float  # weight in m of the worst direction of the operator played before, by power iteration
    noise: float  # weight of a random direction in s
    greedy: float  # weight in s of the direction V m - U m; the rest is along V m, the comparator's image
    theta: float  # if |V m - U m| is at most this, s turns against the comparator
    turns: float  # 1 if s points against the comparator in every other phase, each 4 times as long as the one before


ADVERSARIES = (
    Adversary("random", fresh=1, hunt=0, noise=1, greedy=0, theta=-1, turns=0),
    Adversary("aligned", fresh=1, hunt=0, noise=0, greedy=0, theta=-1, turns=0),
    Adversary("hunting", fresh=0.01, hunt=1, noise=0, greedy=1, theta=-1, turns=0),
    Adversary("zigzag", fresh=0, hunt=0, noise=0, greedy=0, theta=1e-6, turns=0),
    Adversary("hunting zigzag", fresh=0.01, hunt=1, noise=0, greedy=1, theta=0.1, turns=0),
    Adversary("turning", fresh=0, hunt=0, noise=0, greedy=0, theta=-1, turns=1),
)


class Player:
    """The two halves of a round of an oracle as functions of arrays, compiled where that is usual."""

    def __init__(self, oracle: Oracle, frame: Frame, contraction: bool):
        self.oracle, self.contraction = oracle, contraction  # whether it must play contractions
        self.act = _xp.compiled(lambda state, m: oracle.play(state, m) @ m, frame.leaf)
        self.learn = _xp.compiled(lambda state, s, m: oracle.learn(state, LinearLoss(s, m, 1.0)), frame.leaf)


class Regret(NamedTuple):
    """The regret against the comparator of each adversary after ``t`` rounds."""

    t: int
    regret: Numbers  # (adversaries,)
    energy: Numbers  # sum of (|s| |m|)^2, (adversaries,)


def check_regret(
    player: Player,
    frame: Frame,
    comparator: Operator,
    bound: bool,
    rounds: int,
    tuned: Callable[[int], Oracle] | None,
) -> None:
    """Fail unless the regret grows slower than linearly, and stays below the oracle's own bound if ``bound``."""
    horizons = [GROWTH * rounds] if tuned is None else [rounds, GROWTH * rounds]
    early, late = None, None
    for horizon in horizons:
        learner = player if tuned is None else Player(tuned(horizon), frame, player.contraction)
        history = _play(learner, frame, comparator, horizon, rounds)
        if bound:
            _check_bound(learner.oracle, frame, history)
        early, late = early or next(h for h in history if h.t == rounds), history[-1]
    assert early is not None and late is not None  # noqa: PT018
    for k, adversary in enumerate(ADVERSARIES):
        first, last = float(early.regret[k]) / early.t, float(late.regret[k]) / late.t
        if not last <= max(SMALL, first / 2):
            fail(
                player.oracle,
                f"must have sublinear regret; on {adversary.name} losses it was {first:.3g} a round after {early.t} "
                f"rounds and {last:.3g} a round after {late.t} (a rate for a known horizon needs `tuned`).",
            )


def _check_bound(oracle: Any, frame: Frame, history: list[Regret]) -> None:
    for t, regret, energy in history:
        for k, adversary in enumerate(ADVERSARIES):
            limit = oracle.regret_bound(frame.rows().x, float(energy[k]))
            if not regret[k] <= limit + frame.tolerance * t:
                fail(
                    method(oracle, "regret_bound"),
                    f"must bound the regret against the identity; on {adversary.name} losses the regret after {t} "
                    f"rounds was {regret[k]:.4g}, above the bound {limit:.4g}.",
                )


def _play(player: Player, frame: Frame, comparator: Operator, horizon: int, rounds: int) -> list[Regret]:
    """The regrets after 1, 4, 16, ... rounds, after ``rounds`` and at the end, of every adversary."""
    if not frame.is_blocks:  # all adversaries at once, as rows of a batch
        return _duel(player, frame.rows(len(ADVERSARIES)), comparator, ADVERSARIES, horizon, rounds)
    single = [_duel(player, frame, comparator, (one,), horizon, rounds) for one in ADVERSARIES]
    return [
        Regret(now[0].t, np.concatenate([r.regret for r in now]), np.concatenate([r.energy for r in now]))
        for now in zip(*single, strict=True)
    ]


def _duel(
    player: Player, frame: Frame, comparator: Operator, adversaries: tuple[Adversary, ...], horizon: int, rounds: int
) -> list[Regret]:
    shape = (*frame.batch, frame.d)
    rng = np.random.default_rng(7)

    def draw() -> Numbers:
        return rng.standard_normal(shape)

    fresh, hunt, noise, greedy, theta, turns = (
        np.asarray([one[k] for one in adversaries]).reshape(*frame.batch, 1) for k in range(1, len(Adversary._fields))
    )
    state, m, history = player.oracle.init(frame.x), unit(draw()), []
    regret, energy = np.zeros(shape[:-1]), np.zeros(shape[:-1])
    for t in range(1, horizon + 1):
        v = frame.vector(m)
        Um, Vm = frame.numbers(player.act(state, v)), frame.numbers(comparator @ v)
        if player.contraction and not np.all(norm(Um) <= norm(m) + frame.tolerance):
            fail(player.oracle, f"must play contractions, |U m| <= |m|; in round {t} |U m| was {np.max(norm(Um)):.4g}.")
        gap = Vm - Um
        turn = 1 - 2 * turns * (math.floor(math.log(t / (rounds + 1), 4)) % 2 == 0)
        against = (norm(gap) <= theta) | (turn < 0)
        s = np.where(against, -unit(Vm), greedy * unit(gap) + (1 - greedy) * unit(Vm))
        s = (1 - noise) * s + noise * unit(draw())
        regret = regret + np.sum(s * gap, axis=-1)
        energy = energy + np.sum(s * s, axis=-1) * np.sum(m * m, axis=-1)
        state = player.learn(state, frame.vector(s), v)
        if t in (rounds, horizon) or t in MILESTONES:
            history.append(Regret(t, regret.reshape(-1), energy.reshape(-1)))
        keep = (fresh + hunt) == 0
        m = unit(keep * m + fresh * unit(draw()) + hunt * unit(gap))
    return history


def norm(v: Numbers) -> Numbers:
    """The norm over the last axis, which is kept."""
    return np.linalg.norm(v, axis=-1, keepdims=True)


def unit(v: Numbers) -> Numbers:
    """v / |v|, which fades to 0 below the norm 1e-6."""
    return v / np.sqrt(np.sum(v * v, axis=-1, keepdims=True) + 1e-12)
