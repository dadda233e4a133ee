"""The rivals of Algorithm 2, transcribed in plain Python loops over lists, with the letters of their papers.

Nothing of the library is imported here. The discounted losses carry their weights beta^{-n} as the papers write them.
"""

import math

from reference import dot, project


def add(u, v, factor=1.0):
    return [p + factor * q for p, q in zip(u, v, strict=True)]


def mean(points, weights):
    total = math.fsum(weights)
    return [math.fsum(w * p[i] for w, p in zip(weights, points, strict=True)) / total for i in range(len(points[0]))]


class ProjectedOGD:
    """Online gradient descent on the ball of radius D."""

    def __init__(self, d, D, eta):
        self.D, self.eta, self.delta = D, eta, [0.0] * d

    def ask(self):
        return self.delta

    def reveal(self, g):
        self.delta = project(add(self.delta, g, -self.eta), self.D)


class CompositeOMD:
    """argmin <g~_n, D> + |D - D_n|^2 / (2 eta_n) + (mu_{n+1} + 1/eta_{n+1} - 1/eta_n) |D|^2 / 2, solved for D."""

    def __init__(self, d, eta, mu, beta):
        self.eta = lambda n: beta**n * eta
        self.mu = lambda n: beta**-n * mu
        self.n, self.delta = 1, [0.0] * d

    def ask(self):
        return self.delta

    def reveal(self, g):
        n = self.n
        self.delta = [
            (p / self.eta(n) - q) / (1 / self.eta(n + 1) + self.mu(n + 1)) for p, q in zip(self.delta, g, strict=True)
        ]
        self.n += 1


class ScaleFreeFTRL:
    """-clip_D(D sum v / sqrt(sum |v|^2)) over everything that was revealed."""

    def __init__(self, d, D):
        self.D, self.d, self.v = D, d, []

    def ask(self):
        scale = math.sqrt(math.fsum(dot(v, v) for v in self.v))
        if scale == 0:
            return [0.0] * self.d
        total = [math.fsum(v[i] for v in self.v) for i in range(self.d)]
        return project([-self.D * p / scale for p in total], self.D)

    def reveal(self, g):
        self.v.append(g)


def shifting(learner, sample, x0, epoch, epochs, s):
    """Algorithm 1 of Cutkosky, Mehta and Orabona, ``learner()`` made anew in every epoch: the points, the averages."""
    x, w, averages = list(x0), [], []
    for k in range(epochs):
        online = learner()
        for n in range(k * epoch + 1, (k + 1) * epoch + 1):
            delta = online.ask()
            w.append(add(x, delta, s[n]))
            x = add(x, delta)
            online.reveal(sample(n, w[-1]))
        averages.append(mean(w[-epoch:], [1.0] * epoch))
    return w, averages


def exponentiated(online, sample, x0, beta, T, s):
    """Exponentiated O2NC: the iterates, and their discounted averages after every round."""
    x, points, averages = list(x0), [], []
    for n in range(1, T + 1):
        x = add(x, online.ask(), s[n])
        points.append(x)
        g = sample(n, x)
        online.reveal([beta**-n * p for p in g])
        averages.append(mean(points, [beta ** (n - i) for i in range(1, n + 1)]))
    return points, averages


def normalized(sample, x1, eta, beta, T):
    """Normalised SGD with momentum from m_0 = 0."""
    m, x = [0.0] * len(x1), [list(x1)]
    for t in range(1, T + 1):
        m = add([beta * p for p in m], sample(t, x[-1]), 1 - beta)
        x.append(add(x[-1], m, -eta / math.sqrt(dot(m, m))))
    return x
