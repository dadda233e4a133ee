"""What stated regret bounds are made of, in NumPy from a record of gradients, and those of several oracles.

Each bound returns its terms as a list, to be added; ``u`` are the comparators, of shape (runs, k). The bounds of one
oracle are in its test.
"""

import math

import numpy as np


def squares(record):
    """sum_t |g_t|^2."""
    return np.sum(record.g**2, axis=(0, 2))


def peaks(record):
    """|g_t|_inf^2, of shape (T, runs)."""
    return np.max(np.abs(record.g), axis=-1) ** 2


def kullback_leibler(u, v):
    return np.sum(u * np.log(np.where(u > 0, u / v, 1.0)) - u + v, axis=-1)


def euclidean(record, u, eta):
    return [np.sum((u - record.u[0]) ** 2, axis=-1) / (2 * eta), eta / 2 * squares(record)]


def entropic_hull(record, u, eta):
    return [kullback_leibler(u, record.u[0]) / eta, eta / 2 * peaks(record).sum(axis=0)]


def entropic_box(record, u, eta, high):
    return [kullback_leibler(u, record.u[0]) / eta, eta / 2 * high * squares(record)]


def entropic_box_small_steps(record, u, eta):
    return [kullback_leibler(u, record.u[0]) / eta, (math.e - 2) * eta * np.sum(record.u * record.g**2, axis=(0, 2))]


def log_inverse(prior, u):
    """log(1 / pi_j) for comparators u that are vertices e_j."""
    return np.log(1 / np.asarray(prior))[np.argmax(u, axis=-1)]


def hedge(record, u, prior, gamma):
    """A constant rate, or the rates of the rounds."""
    gamma = np.broadcast_to(gamma, (len(record.g),))
    return [log_inverse(prior, u) / gamma[-1], 0.5 * gamma @ peaks(record)]


def adahedge(record, prior):
    """2 sqrt(l sum v_t) + (4/3 l + 2) S, with v_t the variance of the losses under the weights and S their range."""
    l = math.log(1 / min(prior))
    mean = np.sum(record.u * record.g, axis=-1, keepdims=True)
    variance = np.sum(record.u * (record.g - mean) ** 2, axis=(0, 2))
    return [2 * np.sqrt(l * variance), (4 / 3 * l + 2) * np.max(np.ptp(record.g, axis=-1), axis=0)]


def deviations(record, hint):
    """The record with g_t - h_t for g_t: what the bounds of learners with hints are about."""
    zero, hints = np.zeros_like(record.g[0]), []
    for t, seen in enumerate([zero, *record.g[:-1]], start=1):
        hints.append(hint(seen, hints[-1] if hints else zero, np.asarray([t])))
    return record._replace(g=record.g - np.stack(hints))


def ranges(record):
    """The squared ranges of the losses, of shape (T, runs)."""
    return np.ptp(record.g, axis=-1) ** 2


def binary_entropic(record, u, eta, d=None):
    """For comparators that commute with the start, as diagonals do, and as every d x d matrix does with I/2."""
    p, q = (np.clip(np.linalg.eigvalsh(v.reshape(-1, d, d)) if d else v, 0, 1) for v in (u, record.u[0]))
    terms = [np.where(a > 0, a * np.log(np.where(a > 0, a, 1) / b), 0.0) for a, b in ((p, q), (1 - p, 1 - q))]
    return [np.sum(terms[0] + terms[1], axis=-1) / eta, eta / 8 * squares(record)]


def product(*parts):
    """The terms of the bounds of the parts, each on the record of its own block."""
    return [term for terms in parts for term in terms]


def over_oracles(outer, inner):
    """The terms of the outer learner's bound against one oracle, and those of that oracle."""
    return [*outer, *inner]
