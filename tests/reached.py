"""Instances on which stated regret bounds are nearly reached, term by term: a smaller constant would fail here.

Most of them hold the learner at a point by gradients that alternate, which costs the term that grows with the energy,
and then drive it across the set, which costs the term of the distance.
"""

import math

import numpy as np

import games


def hold(g, pairs):
    """g and -g in turns."""
    return np.tile(np.stack([g, -np.asarray(g)]), (pairs, 1))


def drive(g, rounds):
    return np.tile(np.asarray(g, dtype=float), (rounds, 1))


def against(oracle, arena, wishes):
    """The regret against the best fixed point, and what was recorded."""
    wishes = np.concatenate(wishes)
    record = games.play(oracle, arena, lambda t, u, G, best: wishes[t - 1], len(wishes), seed=None)
    np.testing.assert_allclose(record.g[:, 0], wishes, rtol=0, atol=1e-12)  # the wish is the gradient
    best = arena.best(record.g.sum(axis=0))
    return record, best


def assert_reached(record, u, terms, ratio):
    """The bound holds, at least ``ratio`` of it is reached, and it fails if any one of its terms is halved."""
    regret, terms = record.regret(u)[0], [term.item() for term in terms]
    assert ratio <= regret / sum(terms) <= 1 + 1e-9, regret / sum(terms)
    for term in terms:
        assert regret > sum(terms) - term / 2


HULL2, HULL4 = games.hull(opposite=True), games.hull()
ONE, TWO = np.asarray([1.0, 0.0, 0.0, 0.0]), np.asarray([0.0, 0.0, 0.0, 1.0])
EUCLIDEAN = {  # a set, a gradient that moves its start along an edge, gradients to a far corner, and how far that is
    "hull-2": (HULL2, [1.0, -1.0], [[1.0, -1.0]], 0.5),
    "hull-4": (HULL4, [1.0, 1.0, -1.0, -1.0], [[0.25, 0.25, 0.25, -0.75]], 1.0),
    "box": (games.box(), [1.0, 1.0, 1.0], [[1.0, 1.0, 1.0]], 1.0),
    "signed-box": (games.box(-1.0, 1.0), [1.0, 1.0, 1.0], [[1.0, 1.0, 1.0]], 2.0),
    "spectral-ball": (games.spectral(-1.0), ONE, [ONE, TWO], 2.0),
    "positive-contractions": (games.spectral(0.0), ONE, [ONE, TWO], 1.0),
}
TUNING = {  # a set, gradients that lead from its start to a corner far from the identity, and back to the identity
    "hull-2": (HULL2, [[1.0, -1.0]], [[-1.0, 1.0]]),
    "hull-4": (HULL4, [[1.0, -3.0, 1.0, 1.0]], [[-1.0, 1.0, 0.0, 0.0]]),
    "box-1": (games.box(d=1), [[1.0]], [[-1.0]]),
    "box-3": (games.box(), [[1.0, 1.0, 1.0]], [[-1.0, -1.0, -1.0]]),
    "signed-box": (games.box(-1.0, 1.0), [[1.0, 1.0, 1.0]], [[-1.0, -1.0, -1.0]]),
    "spectral-ball": (games.spectral(-1.0), [ONE, TWO], [-ONE, -TWO]),
    "spectral-ball-1": (games.spectral(-1.0, d=1), [[1.0]], [[-1.0]]),
    "positive-contractions": (games.spectral(0.0), [ONE, TWO], [-ONE, -TWO]),
    "positive-contractions-1": (games.spectral(0.0, d=1), [[1.0]], [[-1.0]]),
}


def hold_then_cross(oracle, arena, there, back, held, size):
    """Against a step that tunes itself: small gradients to the corner, many that hold it there, then the way back.

    To hold it, each gradient away from the corner is followed by the one that leads exactly back, which is a little
    larger since the step has shrunk. The way back is made of smaller gradients, which cost less energy.
    """
    there, back, D = np.asarray(there), np.asarray(back), arena.diameter
    away, prelude, energy, corner = back[0], 4 * len(there), 0.0, None

    def wishes(t, u, G, best):
        nonlocal energy, corner
        if t <= prelude:
            g = 0.02 * 1.5**t * there[t % len(there)]
        elif t <= held:
            corner = u[0] if corner is None else corner
            distance = np.linalg.norm(u[0] - corner)
            scale = math.sqrt(energy) / np.linalg.norm(away)
            if distance < 1e-9:
                g = min(1.0, 0.4 * scale) * away
            else:  # D |g| / sqrt(2 (energy + |g|^2)) = distance
                g = -away * scale * distance / math.sqrt(D**2 / 2 - distance**2)
        else:
            ahead = back[(u[0] - arena.identity) @ back.T > 1e-9]
            if not len(ahead):
                return None
            g = size * ahead[0]
        energy += np.sum(g**2)
        return g

    record = games.play(oracle, arena, wishes, T=10 * held, seed=None)
    assert len(record.g) < 10 * held  # it arrived
    return record, np.broadcast_to(arena.identity, record.u[0].shape)


def share_of_regret_bound(oracle, arena, record):
    """regret(I) / regret_bound(x, energy)."""
    return record.regret(arena.identity)[0] / oracle.regret_bound(np.zeros((1, arena.d)), float(record.energy.sum()))


ONE_DIMENSION = ["hull-2", "box-1", "spectral-ball-1", "positive-contractions-1"]  # there |g|^2 is all of the energy
EXPERTS = {  # a hull, a prior, gradients that hold the weights at 1/2 : 1/2, and that drive them to the first expert
    "two": (HULL2, (0.5, 0.5), [1.0, -1.0], [-1.0, 1.0]),
    "four": (HULL4, (0.25,) * 4, [1.0, 1.0, -1.0, -1.0], [-1.0, 1.0, 1.0, 1.0]),
    "skewed": (HULL4, (0.05, 0.15, 0.3, 0.5), [1.0, 1.0, 1.0, -1.0], [-1.0, 1.0, 1.0, 1.0]),
}


def lock_hit_drive(K, locks, small, way, rounds):
    """Small losses lock the weights on expert 2, one of size 1 hits it, ``rounds`` of sum ``way`` drive to expert 1.

    The hit costs 2, all of its range, and the tiny losses after it cost the term of the divergence, at little energy.
    """
    lock, one = np.ones(K), np.ones(K)
    lock[1], one[0] = -1, -1
    return np.stack([small * lock] * locks + [-lock] + [way / rounds * one] * rounds)


def played(learner, losses):
    """The regret of a learner against expert 1, and the energy."""
    state, regret = learner.init(np.zeros(losses.shape[1])), 0.0
    for l in losses:
        regret += learner.weights(state) @ l - l[0]
        state = learner.learn(state, l)
    return regret, float((np.abs(losses).max(axis=1) ** 2).sum())
