"""What `o2nc.minimize` costs beside two loops that do the same sums: one over `update`, and one by hand in NumPy.

5,000 rounds of Algorithm 1 with Hedge on a batch (16, 10): CPU time, the least of some runs, ratios in one process. Run
python benchmarks/minimize.py [--rounds 5000] [--repeats 5]
"""

import argparse
import os
import time

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np

import o2nc
from o2nc.operators import Identity, Projector

NOISY = np.arange(10) >= 2
MASK = (~NOISY).astype(float)
X1 = np.full((16, 10), 2.0) * MASK


def sample(x, rng):
    return np.sin(x) + 0.5 * NOISY * rng.choice([-1.0, 1.0], size=x.shape)


def by_hand(oracle, c):
    """The same algorithm and the same sums, inlined."""
    rng, x, m, C, zero = np.random.default_rng(0), X1, np.zeros_like(X1), np.zeros((16, 2)), np.zeros((16, 1))
    E = regret = Q = N = W = clipped = longer = energy = zero
    for _ in range(c.T):
        s = sample(x, rng)
        y = -np.sqrt(2 * np.log(2) / (1 + E)) * C
        w = np.exp(y - y.max(-1, keepdims=True))
        w /= w.sum(-1, keepdims=True)
        Pm = MASK * m
        Um = w[:, :1] * m + w[:, 1:] * Pm
        sm, sP, sU, mm, UU, ss = (
            np.vecdot(u, v)[:, None] for u, v in ((s, m), (s, Pm), (s, Um), (m, m), (Um, Um), (s, s))
        )
        if not np.isfinite(ss).all():
            raise ValueError("not finite")
        losses = np.concatenate([-sm, -sP], -1) / c.G
        C, E = C + losses, E + np.abs(losses).max(-1, keepdims=True) ** 2
        regret, Q, N, W, energy = regret + (sm - sU) / c.G, Q + sm, N + mm, W + UU, energy + ss
        longer = longer + (1.0001 * mm < UU)
        x = x - c.eta * Um
        v = (1 - c.a) * m + c.a * s
        vv = np.vecdot(v, v)[:, None]
        m, clipped = v * (c.G0 / np.sqrt(np.maximum(vv, c.G0**2))), clipped + (vv > c.G0**2)
    return x


def own_loop(oracle, c):
    """A loop over `update`, as users write it."""
    conversion, rng, x = o2nc.SmoothConversion(oracle, c), np.random.default_rng(0), X1
    state = conversion.init(x)
    for _ in range(c.T):
        dx, state = conversion.update(sample(x, rng), state, x)
        x = x + dx
    return x


def minimize(oracle, c):
    return o2nc.minimize(sample, X1, oracle=oracle, constants=c).last


def least(function, repeats, *arguments):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function(*arguments)
        times.append(time.process_time() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    oracle = o2nc.oracles.Hedge([Identity(), Projector.from_mask(~NOISY)])
    constants = o2nc.Smooth.paper(M=20.0, beta=1.0, sigma=0.5 * 8**0.5, T=given.rounds)
    hand, loop, whole = (least(run, given.repeats, oracle, constants) for run in (by_hand, own_loop, minimize))
    print(f"by hand {hand:.3f} s, own loop {loop:.3f} s, minimize {whole:.3f} s of CPU time")
    print(f"minimize / own loop {whole / loop:.2f}, minimize / by hand {whole / hand:.2f}")


if __name__ == "__main__":
    main()
