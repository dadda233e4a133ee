"""SOAP for one matrix, transcribed with the names of the code of Vyas et al. (2024): one tensordot a side.

Nothing of the library is imported here. `Published` is the step of their code, with its first step left out, for
lr = 1. `SOAP` has bases by orthogonal iteration and a floor below its divisors, as `o2nc.directions.Soap`.
"""

import zlib

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

    def denominator(self):
        root = np.sqrt(self.exp_avg_sq)
        return root + np.sqrt((root**2).sum() / root.size) / 100 + self.eps

    def update(self, grad):
        """The direction for a gradient, downhill if it is subtracted."""
        if self.Q is None:
            self.update_preconditioner(grad)
            return np.zeros_like(grad)
        beta1 = self.betas[0]
        self.exp_avg = beta1 * self.exp_avg + (1 - beta1) * grad
        found = self.direction(grad, self.exp_avg)
        return found / (1 - beta1**self.step)

    def direction(self, grad, exp_avg):
        """The same with an average that is kept elsewhere, and has no weight of a zero start."""
        if self.Q is None:
            self.update_preconditioner(grad)
            return np.zeros_like(grad)
        beta2 = self.betas[1]
        self.step += 1
        self.exp_avg_sq = beta2 * self.exp_avg_sq + (1 - beta2) * self.project(grad) ** 2
        found = self.project(self.project(exp_avg) / self.denominator(), back=True)
        self.update_preconditioner(grad)
        return (1 - beta2**self.step) ** 0.5 * found

    def update_preconditioner(self, grad):
        self.average(grad)
        if self.Q is None:
            self.Q = [None if G is None else np.eye(len(G)) for G in self.GG]
        times = 4 if self.step < 3 else 1 if (self.step - self.turn) % self.frequency == 0 else 0
        for _ in range(times):
            self.Q = [None if G is None else orthogonal_iteration(G, Q) for G, Q in zip(self.GG, self.Q, strict=True)]

    def average(self, grad):
        for G, outer in zip(self.GG, (grad @ grad.T, grad.T @ grad), strict=True):
            if G is not None:
                G += (1 - self.betas[1]) * (outer - G)


class Published(SOAP):
    def denominator(self):
        return np.sqrt(self.exp_avg_sq) + self.eps

    def update_preconditioner(self, grad):
        self.average(grad)
        if self.Q is None:
            self.Q = [None if G is None else np.linalg.eigh(G)[1][:, ::-1] for G in self.GG]
        if self.step > 0 and (self.step - self.turn) % self.frequency == 0:
            self.Q = [None if G is None else self.power_iteration(i, G) for i, G in enumerate(self.GG)]

    def power_iteration(self, i, G):
        order = np.argsort(-np.diag(self.Q[i].T @ G @ self.Q[i]), kind="stable")
        self.exp_avg_sq = np.take(self.exp_avg_sq, order, axis=i)
        return np.linalg.qr(G @ self.Q[i][:, order])[0]


def orthogonal_iteration(G, Q):
    """Columns of Q, each drawn a tenth towards its coordinate, times G with a ridge; then Gram and Schmidt, twice."""
    n, columns = len(G), []
    mean = sum(G[i, i] for i in range(n)) / n
    for j in range(n):
        q = Q[:, j] + 0.1 * np.eye(n)[j]
        q = G @ q / mean + 1e-4 * q if mean > 0 else q
        for other in columns * 2:
            q = q - (other @ q) * other
        columns.append(q / np.sqrt(q @ q))
    return np.stack(columns, axis=1)


def turn_of(shape):
    """By how many rounds the bases of matrices of a shape turn later, where shapes turn in turns."""
    return zlib.crc32(f"({shape[0]}, {shape[1]})".encode())
