"""The regret bounds as the docstrings of the oracles state them, written out in NumPy from a record of gradients.

Each returns its terms as a list, to be added; ``u`` are the comparators, of shape (runs, k).
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


def own_step(record, u, D):
    return [D * np.sqrt(2 * squares(record))]


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


def self_tuned(record, u, prior, gamma0):
    l, E, peak = math.log(1 / min(prior)), peaks(record).sum(axis=0), peaks(record).max(axis=0)
    root = np.sqrt(1 + E)
    return [
        log_inverse(prior, u) * root / (gamma0 * math.sqrt(2 * l)),
        gamma0 * math.sqrt(l / 2) * (2 * (root - 1) + peak * (1 - 1 / root)),
    ]


def adahedge(record, prior):
    """2 sqrt(l sum v_t) + (4/3 l + 2) S, with v_t the variance of the losses under the weights and S their range."""
    l = math.log(1 / min(prior))
    mean = np.sum(record.u * record.g, axis=-1, keepdims=True)
    variance = np.sum(record.u * (record.g - mean) ** 2, axis=(0, 2))
    return [2 * np.sqrt(l * variance), (4 / 3 * l + 2) * np.max(np.ptp(record.g, axis=-1), axis=0)]


def squint(record, u, prior, scale, rates):
    """The best of S [log(n / pi_k) / eta_i + eta_i V_k], for comparators u that are vertices."""
    r = (np.sum(record.u * record.g, axis=-1) - np.sum(record.g * u, axis=-1)) / scale
    V, log = np.sum(r**2, axis=0), log_inverse(prior, u) + math.log(rates)
    return [scale * np.min([log * 2.0**i + V / 2.0**i for i in range(1, rates + 1)], axis=0)]


def adagrad(record, u, D, eta, floor=1.0):
    total = floor * np.sum(np.sqrt(np.sum(record.g**2, axis=0)), axis=-1)
    return [D**2 / (2 * eta) * total, eta * total]


def full_adagrad(record, u, D, eta):
    V = np.einsum("tri,trj->rij", record.g, record.g)
    w = np.clip(np.linalg.eigvalsh(V), 0, None)
    trace = np.sum(np.sqrt(w), axis=-1) + 1e-3 * w.shape[-1] * np.sqrt(np.sum(w, axis=-1))
    return [D**2 / (2 * eta) * trace, eta * trace]


def deviations(record, hint):
    """The record with g_t - h_t for g_t: what the bounds of learners with hints are about."""
    zero, hints = np.zeros_like(record.g[0]), []
    for t, seen in enumerate([zero, *record.g[:-1]], start=1):
        hints.append(hint(seen, hints[-1] if hints else zero, np.asarray([t])))
    return record._replace(g=record.g - np.stack(hints))


def ranges(record):
    """The squared ranges of the losses, of shape (T, runs)."""
    return np.ptp(record.g, axis=-1) ** 2


def optimistic_hedge(deviations, prior):
    """The two bounds, from a record of deviations."""
    l, r = math.log(1 / min(prior)), ranges(deviations)
    return [np.sqrt((l + 4) * r.sum(axis=0))], [np.sqrt(l * r.sum(axis=0)), 2 * np.sqrt(r.max(axis=0))]


def fixed_share(record, u, prior, gamma, alpha):
    pi = np.asarray(prior)[np.argmax(u, axis=-1)]
    stay = -(len(record.g) - 1) * np.log(1 - alpha + alpha * pi)
    return [np.log(1 / pi) / gamma, stay / gamma, gamma / 8 * ranges(record).sum(axis=0)]


def solo(record, u, D, eta):
    root, peak = np.sqrt(squares(record)), np.sqrt(np.max(np.sum(record.g**2, axis=-1), axis=0))
    rest = np.minimum(D**2 / (4 * eta) * root, (eta / 2 + D**2 / (math.sqrt(8) * eta)) * peak)
    return [np.sum((u - record.u[0]) ** 2, axis=-1) / (2 * eta) * root, eta * root + rest]


def solo_published(record, u, D, eta):
    """Theorem 1 of Orabona and Pál (2018) for a set of diameter D."""
    root, peak = np.sqrt(squares(record)), np.sqrt(np.max(np.sum(record.g**2, axis=-1), axis=0))
    way = np.minimum(eta * math.sqrt(len(record.g) - 1), D)
    return [np.sum((u - record.u[0]) ** 2, axis=-1) / (2 * eta) * root, 2.75 * eta * root, 3.5 * way * peak]


def coin_betting(record, u, D, endowment, scale, sizes=None):
    """``sizes`` is the sum of the norms that were bet on, which is at most that of the gradients."""
    norms = np.linalg.norm(record.g, axis=-1)
    C = np.maximum(scale, norms.max(axis=0))
    a = (norms.sum(axis=0) if sizes is None else sizes) / np.where(C > 0, C, 1.0)
    r, b = np.linalg.norm(u - record.u[0], axis=-1), 1 / np.sqrt(1 + math.pi / 2 * a)
    root = np.sqrt((1 + a) * np.log1p((1 + a) * r**2 / (endowment * b) ** 2))
    return [C * endowment * (1 - b), C * r * root, D * (C - scale)]


def frank_wolfe(record, u, D, eta):
    norms = np.linalg.norm(record.g, axis=-1)
    cost = 2 * (D**2 * eta * norms.sum(axis=0)) ** (1 / 3) * np.sum(norms**1.5, axis=0) ** (2 / 3)
    return [np.sum((u - record.u[0]) ** 2, axis=-1) / (2 * eta), cost]


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
