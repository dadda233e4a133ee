"""Conversions of other papers in plain Python loops over lists, with the letters of their papers.

Nothing of the library is imported here.
"""

import math

from reference import dot, project
from reference_rivals import add, mean


class CoordinateFTRL:
    """-clip_D(alpha sum v / sqrt(sum v^2)) in every coordinate, over everything that was revealed."""

    def __init__(self, d, alpha, D=math.inf):
        self.alpha, self.D, self.d, self.v = alpha, D, d, []

    def ask(self):
        delta = []
        for i in range(self.d):
            scale = math.sqrt(math.fsum(v[i] ** 2 for v in self.v))
            total = self.alpha * math.fsum(v[i] for v in self.v) / scale if scale else 0.0
            delta.append(-max(-self.D, min(self.D, total)))
        return delta

    def reveal(self, g):
        self.v.append(g)


def updates(online, sample, x0, beta, T, r):
    """x_t = x_{t-1} + Delta_t, the sample at x_{t-1} + r_t Delta_t: those points, and their averages."""
    x, points, averages = list(x0), [], []
    for n in range(1, T + 1):
        delta = online.ask()
        points.append(add(x, delta, r[n]))
        x = add(x, delta)
        online.reveal([beta**-n * p for p in sample(n, points[-1])])
        averages.append(mean(points, [beta ** (n - i) for i in range(1, n + 1)]))
    return points, averages


def schedule_free(sample, x1, gamma, kappa, c, T):
    """The three sequences of schedule-free SGD, c(t) the share of z_{t+1}: the y and the x."""
    x, z, ys, xs = list(x1), list(x1), [], []
    for t in range(1, T + 1):
        ys.append([(1 - kappa) * p + kappa * q for p, q in zip(z, x, strict=True)])
        z = add(z, sample(t, ys[-1]), -gamma)
        x = [(1 - c(t)) * q + c(t) * p for p, q in zip(z, x, strict=True)]
        xs.append(x)
    return ys, xs


def doubly_optimistic(sample, x0, D, eta, m, epochs):
    """Two samples a round: the points in their order, the means of the w of an epoch, and what was seen and played."""
    x, points, means, seen, t = list(x0), [], [], [], 0
    zero = [0.0] * len(x0)
    for _ in range(epochs):
        delta, g, h, w = zero, zero, zero, []
        for _ in range(m):
            z = add(x, delta, 0.5)
            t += 1
            new = sample(t, z)
            delta = project(add(delta, add(new, add(g, h, -1.0)), -eta), D)
            w.append(add(x, delta, 0.5))
            t += 1
            h, g = new, sample(t, w[-1])
            x = add(x, delta)
            points += [z, w[-1]]
            seen.append((h, g, delta))
        means.append(mean(w, [1.0] * m))
    return points, means, seen


def episodic(learner, sample, x0, beta, n, epochs):
    """f(y) + beta |y - x_k|^2 by an online learner of y - x_k, made anew in every epoch: the y and the x_{k+1}."""
    x, points, means = list(x0), [], []
    for k in range(epochs):
        online, y = learner(), []
        for j in range(n):
            v = online.ask()
            y.append(add(x, v))
            online.reveal(add(sample(k * n + j + 1, y[-1]), v, 2 * beta))
        x = mean(y, [1.0] * n)
        points += y
        means.append(x)
    return points, means


def surrogate(sample, x1, M, alpha, T):
    """SGDOL: T samples, two at every point; the points, the step sizes and the pairs of samples."""
    x, points, steps, pairs, top, bottom = list(x1), [], [], [], alpha, alpha
    for t in range(1, T, 2):
        g, other = sample(t, x), sample(t + 1, x)
        steps.append(max(0.0, min(top / (M * bottom), 2 / M)))
        points += [x, x]
        pairs.append((g, other))
        x = add(x, g, -steps[-1])
        top, bottom = top + dot(g, other), bottom + dot(g, g)
    return points, steps, pairs
