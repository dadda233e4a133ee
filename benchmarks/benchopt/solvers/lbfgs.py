"""L-BFGS of SciPy on exact gradients: an iteration sees all of the data, which no other solver here does."""

from benchmark_utils.solvers import FromSamples
from scipy.optimize import minimize


class Solver(FromSamples):
    name = "L-BFGS exact"
    requirements = ["scipy"]

    def run(self, n_iter):
        p = self.problem
        self.w = p.start
        if n_iter:
            self.w = minimize(p.value_and_gradient, p.start, jac=True, method="L-BFGS-B", options={"maxiter": n_iter}).x
