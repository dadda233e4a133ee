"""SOAP of Vyas et al. (2024), transcribed for one matrix with the names of their code: one tensordot a side.

Nothing of the library is imported here. The step is that of their code, with its first step left out, for lr = 1.
"""

import numpy as np


class SOAP:
    """What one matrix moves by; ``exp_avg`` is kept in the coordinates of the matrix."""

    def __init__(self, shape, betas=(0.95, 0.95), eps=1e-8, precondition_frequency=10, max_precond_dim=10000, turn=0):
        self.betas, self.eps, self.frequency, self.turn = betas, eps, precondition_frequency, turn
        self.GG = [np.zeros((n, n)) if n <= max_precond_dim else None for n in shape]
        self.Q = None
        self.step = 0
        self.exp_avg, self.exp_avg_sq = np.zeros(shape), np.zeros(shape)

    def project(self, grad, back=False):
        for Q in self.Q:
            grad = grad.T if Q is None else np.tensordot(grad, Q, axes=[[0], [1 if back else 0]])
        return grad

    def update(self, grad):
        """The direction for a gradient, downhill if it is subtracted."""
        if self.Q is None:
            self.update_preconditioner(grad)
            return np.zeros_like(grad)
        beta1, beta2 = self.betas
        self.step += 1
        self.exp_avg = beta1 * self.exp_avg + (1 - beta1) * grad
        self.exp_avg_sq = beta2 * self.exp_avg_sq + (1 - beta2) * self.project(grad) ** 2
        step_size = (1 - beta2**self.step) ** 0.5 / (1 - beta1**self.step)
        found = self.project(self.project(self.exp_avg) / (np.sqrt(self.exp_avg_sq) + self.eps), back=True)
        self.update_preconditioner(grad)
        return step_size * found

    def direction(self, grad, exp_avg):
        """The same with an average that is kept elsewhere, and has no weight of a zero start."""
        if self.Q is None:
            self.update_preconditioner(grad)
            return np.zeros_like(grad)
        beta2 = self.betas[1]
        self.step += 1
        self.exp_avg_sq = beta2 * self.exp_avg_sq + (1 - beta2) * self.project(grad) ** 2
        found = self.project(self.project(exp_avg) / (np.sqrt(self.exp_avg_sq) + self.eps), back=True)
        self.update_preconditioner(grad)
        return (1 - beta2**self.step) ** 0.5 * found

    def update_preconditioner(self, grad):
        for G, outer in zip(self.GG, (grad @ grad.T, grad.T @ grad), strict=True):
            if G is not None:
                G += (1 - self.betas[1]) * (outer - G)
        if self.Q is None:
            self.Q = [None if G is None else np.linalg.eigh(G)[1][:, ::-1] for G in self.GG]
        if self.step > 0 and (self.step - self.turn) % self.frequency == 0:
            self.Q = [None if G is None else self.power_iteration(i, G) for i, G in enumerate(self.GG)]

    def power_iteration(self, i, G):
        order = np.argsort(-np.diag(self.Q[i].T @ G @ self.Q[i]), kind="stable")
        self.exp_avg_sq = np.take(self.exp_avg_sq, order, axis=i)
        return np.linalg.qr(G @ self.Q[i][:, order])[0]
