"""Classification by the sigmoid loss, which is smooth, bounded and not convex, from small samples of the data."""

import numpy as np
from benchmark_utils.problem import Problem
from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "Sigmoid loss from samples"
    min_benchopt_version = "1.10"
    sampling_strategy = "iteration"  # one iteration is one sample of the gradient
    parameters = {"batch_size": [8]}
    test_dataset_name = "Simulated"

    def set_data(self, X, y):
        self.problem = Problem(X, y, self.batch_size)

    def get_objective(self):
        return {"problem": self.problem}

    def evaluate_result(self, w):
        value, g = self.problem.value_and_gradient(w)
        return {
            "value": value,
            "squared_gradient": float(g @ g),
            "accuracy": float(np.mean(np.sign(self.problem.X @ w) == self.problem.y)),
        }

    def get_one_result(self):
        return {"w": self.problem.start}
