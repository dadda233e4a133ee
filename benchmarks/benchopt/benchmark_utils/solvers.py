"""What solvers share that take samples."""

from benchopt import BaseSolver

import o2nc


class FromSamples(BaseSolver):
    """A solver that makes ``self.w`` from samples, with a seed of its own for each dataset and repetition."""

    def set_objective(self, problem):
        self.problem, self.seed = problem, self.get_seed(use_dataset=True, use_repetition=True)

    def get_next(self, n_iter):
        """The same numbers of iterations for all solvers: 1, 2, 3, 4, 6, ... times 1.5."""
        return max(n_iter + 1, 3 * n_iter // 2)

    def get_result(self):
        return {"w": self.w}


class ByConversion(FromSamples):
    """A conversion of the library for n_iter rounds: its last point."""

    def conversion(self, problem, T):
        raise NotImplementedError

    def run(self, n_iter):
        p = self.problem
        self.w = p.start
        if n_iter:
            chosen = self.conversion(p, n_iter)
            rounds = None if chosen.horizon else n_iter
            self.w = o2nc.minimize(p.sample, p.start, chosen, rounds=rounds, seed=self.seed, show_progress=False).last
