"""Runs of conversions with the same points, noise and coins, for comparison with the literal algorithms."""

import numpy as np

import reference
from conftest import numpy_of
from o2nc import Nonsmooth, Smooth
from o2nc.operators import Dense, Identity, Projector

D, ROUNDS, RUNS = 4, 15, 3
RNG = np.random.default_rng(0)
X1 = RNG.normal(size=(RUNS, D))
NOISE = RNG.normal(size=(ROUNDS, RUNS, D))
R = RNG.random(size=(ROUNDS + 2, RUNS, 1))
TAU = np.asarray([[7], [15], [1]])
SWAP = np.eye(D)[::-1].copy()
BASIS = np.linalg.qr(RNG.normal(size=(D, 2)))[0]
MATRICES = [np.eye(D), np.diag([1.0, 0.0, 1.0, 0.0]), SWAP, BASIS @ BASIS.T]
SMOOTH = Smooth.paper(M=8.0, beta=1.0, sigma=0.5, T=ROUNDS)
NONSMOOTH = Nonsmooth(L=1.5, M=8.0, sigma=0.5, lam=0.05, T=ROUNDS)

RATES = {
    "constant": (0.7, lambda prior: lambda t, E: 0.7),
    "sequence": ([1 / (k + 1) for k in range(ROUNDS + 1)], lambda prior: lambda t, E: 1 / t),
    "self-tuned": (None, reference.self_tuned),
}
PRIORS = {"uniform": None, "skewed": (0.1, 0.2, 0.3, 0.4)}


def experts(xp, dtype="float64"):
    make = lambda A: xp.array(A, dtype)
    mask = Projector.from_mask(xp.array([1, 0, 1, 0], "bool"))
    return [Identity(), mask, Dense(make(SWAP)), Projector(make(BASIS))]


def gradient(x):
    """The gradient of sum 1 - cos x_i, times 3 to make the projection of the tracker act."""
    return 3 * np.sin(x)


def reference_hedge(rate, prior):
    prior = prior or [1 / len(MATRICES)] * len(MATRICES)
    return reference.Hedge([A.tolist() for A in MATRICES], prior, RATES[rate][1](prior))


def updating(xp, conversion):
    """The update of a conversion, compiled once for all its runs."""
    return xp.transform(lambda s, state, x, r: conversion.update(s, state, x, r=r))


def rounds(xp, conversion, x1, noise, state, r=None, dtype="float64", update=None):
    """The trajectory of a conversion, its states, and samples at its own points."""
    update = update or updating(xp, conversion)
    x, points = xp.array(x1, dtype), []
    for t in range(len(noise)):
        points.append(numpy_of(x))
        s = xp.array(gradient(points[-1]) + noise[t], dtype)
        dx, state = update(s, state, x, xp.array(r[t + 2], dtype) if r is not None else None)
        x = x + dx
    return np.stack([*points, numpy_of(x)]), state
