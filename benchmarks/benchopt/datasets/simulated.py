import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Two Gaussian classes whose features differ in size, so that the problem is badly conditioned."""

    name = "Simulated"
    parameters = {"n_samples": [1000], "n_features": [20], "condition": [10.0]}
    test_parameters = {"n_samples": [60], "n_features": [5], "condition": [3.0]}

    def get_data(self):
        rng = np.random.default_rng(self.get_seed(use_dataset=True, use_repetition=True))
        scales = np.geomspace(1.0, 1.0 / self.condition, self.n_features)
        y = rng.choice([-1.0, 1.0], size=self.n_samples)
        X = scales * (rng.normal(size=(self.n_samples, self.n_features)) + 0.5 * y[:, None])
        return {"X": X, "y": y}
