"""Coin betting, online Frank-Wolfe and matrix weights, transcribed in plain Python loops over lists.

Nothing of the library is imported here. A learner is asked for its point and told the gradient there; coordinates are
lists of numbers, and a matrix is the list of its rows joined. A set is given by its projection or its linear minimiser.
"""

import math
from itertools import product

import numpy as np
import scipy.linalg

from reference import dot


class Bettor:
    """Krichevsky-Trofimov betting with the sum of the sizes for the round, on the surrogate of Cutkosky (2020)."""

    def __init__(self, start, project, endowment, scale):
        self.start, self.project, self.endowment = start, project, endowment
        self.longest, self.won, self.sum, self.sizes = scale, 0.0, [0.0] * len(start), 0.0

    def bet(self):
        """In coins of value ``longest``: wealth times the betting fraction x / (1 + a)."""
        if self.longest == 0:
            return [0.0] * len(self.start)
        wealth, a = self.endowment + self.won / self.longest, self.sizes / self.longest
        return [wealth * (x / self.longest) / (1 + a) for x in self.sum]

    def ask(self):
        return self.project([p + b for p, b in zip(self.start, self.bet(), strict=True)])

    def reveal(self, g):
        size, bet, u = math.sqrt(dot(g, g)), self.bet(), self.ask()
        if size > self.longest:  # cut
            g = [p * self.longest / size for p in g]
        outside = [p + b - q for p, b, q in zip(self.start, bet, u, strict=True)]
        distance = math.sqrt(dot(outside, outside))
        if distance > 1e-12 and dot(g, outside) < 0:
            n = [v / distance for v in outside]
            along = dot(g, n)
            g = [p - along * q for p, q in zip(g, n, strict=True)]
        self.won -= dot(g, bet)
        self.sum = [x - p for x, p in zip(self.sum, g, strict=True)]
        self.sizes += math.sqrt(dot(g, g))
        self.longest = max(self.longest, size)


class ConditionalGradient:
    """One Frank-Wolfe step a round on sum <g_s, u> + |u - u_1|^2 / (2 eta), with a line search."""

    def __init__(self, start, minimize, eta):
        self.start, self.minimize, self.eta = start, minimize, eta
        self.u, self.gradients = list(start), []

    def ask(self):
        return self.u

    def reveal(self, g):
        self.gradients.append(g)
        slope = [sum(h[i] for h in self.gradients) + (p - q) / self.eta
                 for i, (p, q) in enumerate(zip(self.u, self.start, strict=True))]  # fmt: skip
        way = [p - q for p, q in zip(self.minimize(slope), self.u, strict=True)]
        if dot(way, way) > 0:
            sigma = min(1.0, max(0.0, -self.eta * dot(slope, way) / dot(way, way)))
            self.u = [p + sigma * q for p, q in zip(self.u, way, strict=True)]


class MatrixWeights:
    """(1 + exp(eta sum g))^{-1}, with a matrix exponential and a matrix inverse."""

    def __init__(self, d, eta):
        self.d, self.eta, self.sum = d, eta, np.zeros((d, d))

    def ask(self):
        return np.linalg.inv(np.eye(self.d) + scipy.linalg.expm(self.eta * self.sum)).ravel().tolist()

    def reveal(self, g):
        self.sum = self.sum + np.reshape(g, (self.d, self.d))


def clip(low, high):
    return lambda u: [min(max(p, low), high) for p in u]


def to_simplex(u):
    """The shift is found by bisection."""
    low, high = min(u) - 1.0, max(u)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(max(p - middle, 0.0) for p in u) > 1 else (low, middle)
    return [max(p - high, 0.0) for p in u]


def on_eigenvalues(function, u, d):
    """f of a symmetric matrix, by Jacobi's rotations."""
    A, V = np.reshape(u, (d, d)).copy(), np.eye(d)
    for _ in range(12):
        for i in range(d):
            for j in range(i):
                angle = 0.5 * math.atan2(2 * A[i, j], A[j, j] - A[i, i])
                R = np.eye(d)
                R[i, i] = R[j, j] = math.cos(angle)
                R[i, j], R[j, i] = math.sin(angle), -math.sin(angle)
                A, V = R.T @ A @ R, V @ R
    return sum(function(A[k, k]) * np.outer(V[:, k], V[:, k]) for k in range(d)).ravel().tolist()


def to_spectral(low, d):
    return lambda u: on_eigenvalues(lambda w: min(max(w, low), 1.0), u, d)


def best_corner(corners):
    return lambda g: min(corners, key=lambda v: dot(g, v))


def box_corners(low, high, d):
    return [list(corner) for corner in product((low, high), repeat=d)]


def best_matrix(low, d):
    """Where g is 0 but for rounding every value is a minimiser; 0 is taken."""
    return lambda g: on_eigenvalues(lambda w: 0.0 if abs(w) < 1e-14 else low if w > 0 else 1.0, g, d)
