"""Adam with its usual discounts."""

import numpy as np
from benchmark_utils.solvers import FromSamples


class Solver(FromSamples):
    name = "Adam"
    parameters = {"lr": [0.01, 0.1]}

    def run(self, n_iter):
        rng, w = np.random.default_rng(self.seed), self.problem.start
        m, v = np.zeros_like(w), np.zeros_like(w)
        for t in range(1, n_iter + 1):
            s = self.problem.sample(w, rng)
            m, v = 0.9 * m + 0.1 * s, 0.999 * v + 0.001 * s**2
            w = w - self.lr * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        self.w = w
