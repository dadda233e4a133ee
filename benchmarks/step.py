"""A step of Algorithm 1 with Hedge on a (128, 129) float64 NumPy batch, against the same step inlined by hand.

Both compute the same things: the step, the tracker, the weights, and the sums that the certificates need. Printed is
the ratio of the medians of interleaved repetitions, in CPU time. Run: python benchmarks/step.py
"""

import statistics
import time

import numpy as np

from o2nc import Smooth, SmoothConversion
from o2nc.operators import Identity, Projector
from o2nc.oracles import Hedge

RUNS, D, STEPS, REPEATS = 128, 129, 300, 15


def inlined(constants, gamma, mask):
    """The step as one would write it for this experiment alone."""
    G, G0, a, eta = constants.values

    def update(s, state):
        m, C, E, regret, Q, N, W, clipped = state
        w = np.exp(-gamma * (C - C.min(axis=-1, keepdims=True)))
        w /= w.sum(axis=-1, keepdims=True)
        Pm = m * mask
        Um = w[:, :1] * m + w[:, 1:] * Pm
        sm = np.vecdot(s, m)[:, None]
        sPm = np.vecdot(s, Pm)[:, None]
        losses = np.concatenate([-sm / G, -sPm / G], axis=-1)
        v = (1 - a) * m + a * s
        square = np.vecdot(v, v)[:, None]
        state = (
            v * (G0 / np.sqrt(np.maximum(square, G0**2))),
            C + losses,
            E + np.abs(losses).max(axis=-1, keepdims=True) ** 2,
            regret - np.vecdot(s, Um)[:, None] / G + sm / G,
            Q + sm,
            N + np.vecdot(m, m)[:, None],
            W + np.vecdot(Um, Um)[:, None],
            clipped + (square > G0**2),
        )
        return -eta * Um, state

    return update


def main():
    rng = np.random.default_rng(0)
    constants = Smooth.paper(M=1128.4, beta=8.0, sigma=0.8, T=20000)
    mask = np.arange(D) % 2 == 0
    samples = rng.normal(size=(8, RUNS, D))
    x = np.zeros((RUNS, D))
    conversion = SmoothConversion(Hedge([Identity(), Projector.from_mask(mask)], gamma=9e-5), constants)
    by_hand = inlined(constants, 9e-5, mask.astype(float))
    zero = np.zeros((RUNS, 1))

    def library():
        state = conversion.init(x)
        for t in range(STEPS):
            dx, state = conversion.update(samples[t % 8], state)
        return dx, state.regret

    def hand():
        state = (np.zeros((RUNS, D)), np.zeros((RUNS, 2)), zero, zero, zero, zero, zero, zero)
        for t in range(STEPS):
            dx, state = by_hand(samples[t % 8], state)
        return dx, state[3]

    for ours, theirs in zip(library(), hand(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    times = {library: [], hand: []}
    for _ in range(REPEATS):
        for run, seconds in times.items():
            start = time.process_time()
            run()
            seconds.append((time.process_time() - start) / STEPS)
    ours, theirs = (statistics.median(seconds) * 1e6 for seconds in times.values())
    print(f"library {ours:.0f} us, by hand {theirs:.0f} us a step: ratio {ours / theirs:.2f} (limit 2, goal 1.3)")


if __name__ == "__main__":
    main()
