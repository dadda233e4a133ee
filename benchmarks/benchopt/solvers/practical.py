"""The rule of `o2nc.torch.Hedged` on one vector: weighs directions of other optimizers. Practical."""

from benchmark_utils.solvers import ByConversion

from o2nc.conversions import PracticalConversion


class Solver(ByConversion):
    name = "o2nc practical"
    requirements = ["pip::o2nc"]
    parameters = {"lr": [0.03]}

    def conversion(self, problem, T):
        return PracticalConversion(["momentum", "adam", "sign"], lr=self.lr)
