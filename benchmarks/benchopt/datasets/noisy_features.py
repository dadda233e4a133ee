import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Few features tell the classes apart; the others are noise in the gradient, which an operator may remove."""

    name = "Noisy features"
    parameters = {"n_samples": [1000], "n_features": [100], "n_informative": [5]}
    test_parameters = {"n_samples": [60], "n_features": [10], "n_informative": [2]}

    def get_data(self):
        rng = np.random.default_rng(self.get_seed(use_dataset=True, use_repetition=True))
        y = rng.choice([-1.0, 1.0], size=self.n_samples)
        X = rng.normal(size=(self.n_samples, self.n_features))
        X[:, : self.n_informative] += 0.7 * y[:, None]
        return {"X": X, "y": y}
