"""The learners of the prediction loss in plain Python loops over lists, and games for them.

Nothing of the library is imported here. A reference takes directions and samples of all rounds and returns what U_t
makes of m_t, round by round.
"""

import math

import numpy as np

from reference import dot


def solved(A, b):
    """A^{-1} b by elimination with pivots."""
    n = len(b)
    rows = [[*A[i], b[i]] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda j: abs(rows[j][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(i + 1, n):
            ratio = rows[j][i] / rows[i][i]
            rows[j] = [p - ratio * q for p, q in zip(rows[j], rows[i], strict=True)]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - math.fsum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return x


def least_squares(features, ms, ss, lam):
    """``features(m)`` are k vectors; the prediction is m and their combination."""
    k = len(features(ms[0]))
    A, H = [[lam * (i == j) for j in range(k)] for i in range(k)], [0.0] * k
    played = []
    for m, s in zip(ms, ss, strict=True):
        F = features(m)
        A = [[A[i][j] + dot(F[i], F[j]) for j in range(k)] for i in range(k)]
        w = solved(A, H)
        played.append([p + math.fsum(c * f[i] for c, f in zip(w, F, strict=True)) for i, p in enumerate(m)])
        H = [h + dot(f, [p - q for p, q in zip(s, m, strict=True)]) for h, f in zip(H, F, strict=True)]
    return played


def full_least_squares(ms, ss, lam):
    """Every coordinate of s - m on m."""
    d = len(ms[0])
    A, H = [[lam * (i == j) for j in range(d)] for i in range(d)], [[0.0] * d for _ in range(d)]
    played = []
    for m, s in zip(ms, ss, strict=True):
        A = [[A[i][j] + m[i] * m[j] for j in range(d)] for i in range(d)]
        played.append([p + dot(solved(A, H[i]), m) for i, p in enumerate(m)])
        H = [[H[i][j] + (s[i] - m[i]) * m[j] for j in range(d)] for i in range(d)]
    return played


def newton_steps(ms, ss, lam, low, high, cuts):
    """One factor a slice of the coordinates; ``cuts`` are the slices."""
    u, A = [min(max(1.0, low), high)] * len(cuts), [lam] * len(cuts)
    played = []
    for m, s in zip(ms, ss, strict=True):
        played.append([c * p for c, cut in zip(u, cuts, strict=True) for p in m[cut]])
        for i, cut in enumerate(cuts):
            g = math.fsum(p * (u[i] * p - q) for p, q in zip(m[cut], s[cut], strict=True))
            A[i] += dot(m[cut], m[cut])
            u[i] = min(max(u[i] - g / A[i], low), high)
    return played


def prediction_hedge(experts, ms, ss, prior):
    """``experts`` are functions of lists."""
    C, B, played = [0.0] * len(experts), 0.0, []
    for m, s in zip(ms, ss, strict=True):
        V = [U(m) for U in experts]
        w = [p * math.exp(-(c - min(C)) / B) if B else p for p, c in zip(prior, C, strict=True)]
        played.append([math.fsum(a * v[i] for a, v in zip(w, V, strict=True)) / math.fsum(w) for i in range(len(m))])
        missed = [math.fsum((p - q) ** 2 for p, q in zip(v, s, strict=True)) for v in V]
        C = [c + d / 2 for c, d in zip(C, missed, strict=True)]
        if max(missed) > B:
            B = max(2 * B, *missed)
    return played


def crowd(seed, runs, d):
    """A mixed crowd of opponents: from what will be played for a direction, (m, played) -> s, and m itself.

    Returns two functions, ``directions(t)`` and ``samples(t, m, v)`` with v = U_t m, both (runs, d).
    """
    rng = np.random.default_rng(seed)
    kind = rng.integers(8, size=(runs, 1))
    scale = 10 ** rng.uniform(-1.5, 1.5, size=(runs, 1))
    own, factor = rng.normal(size=(2, runs, d))
    period = rng.integers(1, 12, size=(runs, 1))

    def directions(t):
        noise = rng.normal(size=(runs, d))
        bursts = noise * 10 ** rng.uniform(-3, 1.5, size=(runs, 1))
        return scale * np.choose(kind % 4, [noise, own, bursts, np.where(t % period == 0, own, 0.01 * noise)])

    def samples(t, m, v):
        noise = rng.normal(size=(runs, d))
        turn = np.where(t // period % 2 == 0, 1.0, -1.0)
        size = np.linalg.norm(m, axis=-1, keepdims=True)
        away = (m - v) / (np.linalg.norm(m - v, axis=-1, keepdims=True) + 1e-12)
        strategies = [
            scale * noise,  # nothing to learn
            m + noise,  # the identity is right
            factor * m + 0.1 * noise,  # a diagonal of any size and sign is right
            m + turn * 2 * m,  # a factor that changes
            m + size * away,  # away from what is played: the largest regret of this round
            m + turn * size * noise * 10 ** rng.uniform(-2, 1),  # bursts
            -3.0 * m,
            np.where(rng.random((runs, d)) < 0.1, scale * noise, m),
        ]
        return np.choose(kind, strategies)

    return directions, samples
