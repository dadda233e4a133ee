"""Stochastic gradient descent, with steps that fall with the root of the round."""

import numpy as np
from benchmark_utils.solvers import FromSamples


class Solver(FromSamples):
    name = "SGD"
    parameters = {"factor": [1.0, 10.0]}  # of the first step, in units of 1 / beta

    def run(self, n_iter):
        rng, w = np.random.default_rng(self.seed), self.problem.start
        step = self.factor / self.problem.smoothness()
        for t in range(n_iter):
            w = w - step / np.sqrt(1 + t) * self.problem.sample(w, rng)
        self.w = w
