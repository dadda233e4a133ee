"""Algorithm 1 that knows no constants, with AdaGrad for the operator: practical, no theorem is about it."""

from benchmark_utils.solvers import ByConversion

from o2nc.conversions import UntunedConversion
from o2nc.oracles import AdaGrad
from o2nc.sets import Box


class Solver(ByConversion):
    name = "o2nc untuned"
    requirements = ["pip::o2nc"]

    def conversion(self, problem, T):
        return UntunedConversion(AdaGrad(Box()))
