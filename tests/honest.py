"""Honest noise of the declared variance, and runs that tell the truth: what no certificate may be refused for."""

import math

import numpy as np

DF, TAIL = 2.5, 2.2  # of Student's law and of Pareto's, which have a variance and no third moment


def _signs(rng, shape):
    return rng.choice([-1.0, 1.0], size=shape)


def _rare(rng, shape):
    p = 0.001
    return _signs(rng, shape) * (rng.random(shape) < p) / math.sqrt(p)


def _student(rng, shape):
    return rng.standard_t(DF, size=shape) / math.sqrt(DF / (DF - 2))


def _pareto(rng, shape):
    return _signs(rng, shape) * (rng.pareto(TAIL, size=shape) + 1) / math.sqrt(TAIL / (TAIL - 2))


NOISE = {"signs": _signs, "rare": _rare, "gaussian": lambda rng, shape: rng.normal(size=shape), "student": _student}
NOISE |= {"pareto": _pareto, "state-dependent": None}  # of variance at most 1; the last is |cos x| times a sign


def sampler(kind, sigma):
    """Samples of the gradient of 1 - cos, one coordinate, with noise of variance at most sigma^2."""
    if kind == "state-dependent":
        return lambda x, rng: np.sin(x) + sigma * np.cos(x) * _signs(rng, x.shape)
    return lambda x, rng: np.sin(x) + sigma * NOISE[kind](rng, x.shape)
