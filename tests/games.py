"""Online games in batches: one replication is one sequence of losses, and a whole batch of them is played at once.

An arena is a set of operators with a way to make a sample and a direction that cause a wished-for gradient; an
adversary wishes for gradients, and sees the point that the oracle is about to play. Gradients, comparators and bounds
are computed here from the samples, in NumPy, not by the library. Coordinates are flat, of shape (runs, k).
"""

from typing import NamedTuple

import numpy as np

from o2nc.losses import LinearLoss
from o2nc.operators import Dense, Diagonal, Identity, Mixture
from o2nc.sets import Box, Hull, PositiveContractions, SpectralBall, Varying


class Arena(NamedTuple):
    set: object
    d: int
    sample: object  # (want, t, rng) -> (s, m) such that the gradient is, or is near, the wish
    gradient: object  # (s, m, t) -> the gradient of -<s, U m> in coordinates
    best: object  # G -> the point of every set of the sequence that minimises <G, u>
    identity: np.ndarray | None  # its coordinates, if it is in every set
    diameter: float
    sup_diameter: float


def hull(K=4, varying=False, opposite=False):
    """K operators that send the first unit vector to K orthonormal ones (or to itself and its opposite)."""

    def matrices(t):
        if opposite:
            return [np.eye(1), -np.eye(1)]
        swaps = [np.eye(K)]
        for k in range(1, K):
            other = 1 + (k + t) % (K - 1) if varying else k
            order = np.arange(K)
            order[[0, other]] = order[[other, 0]]
            swaps.append(np.eye(K)[order])
        return swaps

    def rule(t):
        return Hull((Identity(), *(Dense(A) for A in matrices(int(np.asarray(t).item()))[1:])))

    def sample(want, t, rng):
        m = np.zeros((len(want), 1 if opposite else K))
        m[:, 0] = 1.0
        rows = np.stack([A[:, 0] for A in matrices(t)])
        return (-want @ rows) / (2 if opposite else 1), m

    def gradient(s, m, t):
        return np.stack([-np.sum(s * (m @ A.T), axis=-1) for A in matrices(t)], axis=-1)

    return Arena(
        set=Varying(rule, True, rule(1)) if varying else rule(1), d=1 if opposite else K, sample=sample,
        gradient=gradient, best=lambda G: np.eye(G.shape[-1])[np.argmin(G, axis=-1)],
        identity=np.eye(2 if opposite else K)[0], diameter=2**0.5, sup_diameter=1.0,
    )  # fmt: skip


def box(low=0.0, high=1.0, d=3, rule=None, common=None):
    """A box, or a sequence of boxes ``rule(t) = (low, high)`` that all hold the box ``common``."""
    common = common or (low, high)

    def sample(want, t, rng):
        m = np.ones(want.shape) if rng is None else rng.choice([-2.0, -1.0, 0.5, 1.0], size=want.shape)
        return -want / m, m

    varying = Varying(lambda t: Box(*rule(int(np.asarray(t).item()))), common[1] == 1, Box(low, high)) if rule else None
    return Arena(
        set=varying or Box(low, high), d=d, sample=sample, gradient=lambda s, m, t: -s * m,
        best=lambda G: np.where(G > 0, common[0], common[1]), identity=np.ones(d) if common[1] == 1 else None,
        diameter=(high - low) * d**0.5, sup_diameter=high - low,
    )  # fmt: skip


def spectral(low, d=2, varying=False):
    """Symmetric matrices with eigenvalues in [low, 1]; if varying, in [-1, 1] and [0, 1] by turns."""

    def sample(want, t, rng):
        A = want.reshape(-1, d, d)
        w, V = np.linalg.eigh(0.5 * (A + A.swapaxes(1, 2)))
        chance = 1.0 if rng is None else rng.choice([0.5, 1.0], size=w.shape)
        pick = np.argmax(np.abs(w) * chance, axis=-1)[:, None]
        m = np.take_along_axis(V, pick[:, None, :], axis=2)[..., 0]
        skew = 0.0 if rng is None else rng.choice([0.0, 0.0, 1.0], size=(len(want), 1)) * rng.normal(size=m.shape)
        size = np.take_along_axis(w, pick, axis=1)
        return -size * (m + skew), m

    def gradient(s, m, t):
        A = -s[:, :, None] * m[:, None, :]
        return 0.5 * (A + A.swapaxes(1, 2)).reshape(len(s), d * d)

    def best(G):
        w, V = np.linalg.eigh(G.reshape(-1, d, d))
        return ((V * np.where(w > 0, low, 1.0)[:, None, :]) @ V.swapaxes(1, 2)).reshape(-1, d * d)

    wide, narrow = SpectralBall(), PositiveContractions()
    rule = lambda t: wide if int(np.asarray(t).item()) % 2 else narrow
    return Arena(
        set=Varying(rule, True, wide) if varying else (narrow if low == 0 else wide), d=d, sample=sample,
        gradient=gradient, best=best, identity=np.eye(d).ravel(),
        diameter=(2 if varying else 1 - low) * d**0.5, sup_diameter=np.nan,
    )  # fmt: skip


ARENAS = {
    "hull": hull(),
    "box": box(),
    "signed-box": box(-1.0, 1.0),
    "inner-box": box(0.25, 0.75),
    "spectral-ball": spectral(-1.0),
    "positive-contractions": spectral(0.0),
    "varying-hull": hull(varying=True),
    "shrinking-box": box(rule=lambda t: (0.5 - 0.5 / t, 1.0), common=(0.5, 1.0)),
    "moving-box": box(0.25, 0.75, rule=lambda t: (t % 3 / 8 + 0.125, t % 3 / 8 + 0.625), common=(0.375, 0.625)),
    "varying-spectral": spectral(0.0, varying=True),
}
FIXED = [name for name in ARENAS if name.split("-")[0] not in ("varying", "shrinking", "moving")]


class Record(NamedTuple):
    """What happened, of shapes (T, runs, k) and (T, runs)."""

    u: np.ndarray  # the points played
    g: np.ndarray  # the gradients
    loss: np.ndarray  # what the played operators lost
    energy: np.ndarray  # (|s| |m|)^2
    state: object  # of the oracle, at the end

    def regret(self, u):
        """Against the points u of shape (runs, k) or (k,)."""
        return self.loss.sum(axis=0) - np.sum(self.g.sum(axis=0) * u, axis=-1)


def coordinates(U, runs):
    """The coordinates of an operator that was played."""
    if isinstance(U, Mixture):
        return U.weights
    return U.diagonal if isinstance(U, Diagonal) else U.matrix.reshape(runs, -1)


def play(oracle, arena, wishes, T, runs=1, seed=0):
    """At most T rounds against ``wishes(t, u, G, best) -> want``, for all runs at once, until a wish is None.

    Without a seed the wish is met to the letter: the gradient is the wish.
    """
    rng = None if seed is None else np.random.default_rng(seed)
    state = oracle.init(np.zeros((runs, arena.d)))
    G, rows = None, []
    for t in range(1, T + 1):
        # the operator that will be applied; the direction m is not known before the wish
        u = coordinates(oracle.play(state, np.zeros((runs, arena.d))), runs)
        G = np.zeros(u.shape) if G is None else G
        want = wishes(t, u, G, arena.best(G))
        if want is None:
            break
        s, m = arena.sample(np.broadcast_to(want, u.shape), t, rng)
        loss = LinearLoss(s, m, 1.0)
        g = arena.gradient(s, m, t)
        rows.append((u, g, loss(oracle.play(state, m) @ m)[:, 0], np.sum(s**2, -1) * np.sum(m**2, -1)))
        state, G = oracle.learn(state, loss), G + g
    return Record(*(np.stack(column) for column in zip(*rows, strict=True)), state)


def adversary(seed, runs, k):
    """Wishes of a mixed crowd: each run has its own strategy, scale and period."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(10, size=(runs, 1))
    scale = 10 ** rng.uniform(-1.5, 0.7, size=(runs, 1))
    period = rng.integers(1, 12, size=(runs, 1))
    own = rng.choice([-1.0, 0.0, 1.0, 0.3], size=(runs, k))  # a direction that the run keeps
    turn = rng.integers(1, 40, size=(runs, 1))

    def wishes(t, u, G, best):
        noise, flip = rng.normal(size=(runs, k)), (-1.0) ** t
        gap = u - best
        strategies = [
            noise,
            np.sign(noise),
            own,
            flip * own,
            gap / (np.abs(gap).max(axis=-1, keepdims=True) + 1e-12),  # the largest regret of this round
            2.0 * best - 1.0,  # against the leader
            own * np.where(t // period % 2 == 0, 1.0, -1.0),  # the best expert changes
            np.where(t < turn, flip * own, own),  # hold the learner, then drive it away
            noise * 10 ** rng.uniform(-3, 1.5, size=(runs, 1)),  # bursts
            np.where(rng.random((runs, k)) < 0.1, noise, 0.0),  # mostly silence
        ]
        return scale * np.choose(kind, strategies)

    return wishes
