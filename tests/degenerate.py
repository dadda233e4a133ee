"""Samples of matrices on which decompositions are arbitrary, or fail: of low rank, with equal values, with zeros."""

import numpy as np

ROUNDS = 40


def samples(p, q, rounds=ROUNDS, seed=0):
    """Sequences of matrices of shape (p, q), by name, each of shape (rounds, p, q)."""
    rng, r = np.random.default_rng(seed), min(p, q)
    normal = lambda *shape: rng.normal(size=shape)
    rotation = lambda n: np.linalg.qr(normal(n, n))[0]
    each = lambda make: np.stack([make(t) for t in range(rounds)])
    signs = (-1.0) ** np.arange(rounds)[:, None, None]
    relu = lambda n: np.maximum(normal(n), 0)
    thin = lambda n: (rng.random(n) < 0.5) * normal(n)
    U, V, W, one = rotation(p), rotation(q), normal(p, q), normal(p, 1) @ normal(1, q)
    scales = np.exp(3 * normal(p, 1))
    left, right = normal(p, 3), normal(3, q)
    found = {f"rank {k}": each(lambda t, k=k: normal(p, k) @ normal(k, q)) for k in (1, 2, 3, 5)}
    found |= {
        "rank that grows": each(lambda t: normal(p, 1 + t // 8) @ normal(1 + t // 8, q)),
        "always in three dimensions": each(lambda t: left * normal(3) @ right),
        "two equal values, then any": each(lambda t: U[:, :2] @ V[:2] if t < 8 else normal(p, q)),
        "one direction, then another": each(lambda t: np.outer(U[0], V[0]) if t < 8 else np.outer(U[1], V[1])),
        "orthogonal": each(lambda t: rotation(p)[:, :r] @ rotation(q)[:r]),
        "identity": each(lambda t: np.eye(p, q)),
        "alternating identity": signs * np.eye(p, q),
        "constant": each(lambda t: W),
        "alternating": signs * W,
        "constant of rank 1": each(lambda t: one),
        "alternating of rank 1": signs * one,
        "random": normal(rounds, p, q),
        "decaying": 0.7 ** np.arange(rounds)[:, None, None] * normal(rounds, p, q),
        "one entry": normal(rounds, 1, 1) * np.outer(np.eye(p)[1], np.eye(q)[0]),
        "one row each": each(lambda t: np.outer(np.eye(p)[t % p], normal(q))),
        "sparse": normal(rounds, p, q) * (rng.random((rounds, p, q)) < 0.05),
        "zero rows and columns": normal(rounds, p, q) * (np.arange(p) % 3 > 0)[:, None] * (np.arange(q) != 1),
        "zeros until late": normal(rounds, p, q) * (np.arange(rounds) > 5)[:, None, None],
        "batch 1 behind a ReLU": each(lambda t: np.outer(normal(p), relu(q))),
        "batch 1 between ReLUs": each(lambda t: np.outer(thin(p), relu(q))),
        "the same, rows of many scales": each(lambda t: scales * np.outer(thin(p), relu(q))),
        "batch 2 between ReLUs": each(lambda t: np.outer(thin(p), relu(q)) + np.outer(thin(p), relu(q))),
    }
    return found
