"""Algorithm 1 with any oracle of the library, and the constants of the sharp theorem for this problem."""

import numpy as np
from benchmark_utils.solvers import ByConversion

import o2nc
from o2nc.operators import Diagonal, Identity
from o2nc.oracles.base import example


class Solver(ByConversion):
    name = "o2nc Algorithm 1"
    requirements = ["pip::o2nc"]
    parameters = {  # all pairs of `o2nc list` will do
        "oracle, operators": [
            ("hedge-self-tuned", "hull"),
            ("adahedge", "hull"),
            ("ogd", "box"),
            ("coin-betting", "box"),
        ]
    }

    def skip(self, problem):
        try:
            self.conversion(problem, 1).init(problem.start)
        except TypeError as error:  # a learner over experts has no business with a box
            return True, str(error)
        return False, None

    def conversion(self, problem, T):
        """The experts of a hull are I and the projectors onto two halves of the coordinates."""
        even = np.arange(len(problem.start)) % 2 == 0
        experts = (Identity(), Diagonal(1.0 * even), Diagonal(1.0 * ~even))
        S = o2nc.sets.registry[self.operators].make(experts, problem.start)
        constants = o2nc.Smooth(gap=0.5, beta=problem.smoothness(), sigma=problem.noise(), T=T)
        return o2nc.SmoothConversion(example(self.oracle, S, problem.start, T), constants)
