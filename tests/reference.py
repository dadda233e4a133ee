"""Algorithms 1, 2 and 3 of the paper, transcribed in plain Python loops over lists, with the paper's letters.

Nothing of the library is imported here. Everything that the library does must equal this. The practical rule of the
front ends is in reference_practical.py, the rivals of Algorithm 2 are in reference_rivals.py, and three learners are in
reference_coins_and_steps.py.
"""

import math


def dot(u, v):
    return math.fsum(p * q for p, q in zip(u, v, strict=True))


def matvec(U, v):
    return [dot(row, v) for row in U]


def project(v, radius):
    """Pi onto the ball of the given radius."""
    norm = math.sqrt(dot(v, v))
    return [radius / norm * p for p in v] if norm > radius else list(v)


def algorithm_1(oracle, sample, x1, M, beta, sigma, T):
    """Algorithm 1. ``oracle`` has ask() -> matrix and reveal(loss: matrix -> number); ``sample(t, x)`` draws s_t."""
    G = math.sqrt(M * beta)
    G0 = math.sqrt(2 * M * beta)
    a = G / max(G, sigma * math.sqrt(T))
    eta = a / (64 * beta)
    d = len(x1)
    identity = [[float(i == j) for j in range(d)] for i in range(d)]
    m = [0.0] * d
    x = [list(x1)]  # the trajectory x_1, ..., x_{T+1}
    regret = 0.0
    for t in range(1, T + 1):
        U = oracle.ask()
        s = sample(t, x[-1])

        def L(V, s=s, m=m):
            return -1 / G * dot(s, matvec(V, m))

        oracle.reveal(L)
        regret += L(U) - L(identity)
        x.append([p - eta * q for p, q in zip(x[-1], matvec(U, m), strict=True)])
        m = project([(1 - a) * p + a * q for p, q in zip(m, s, strict=True)], G0)
    return x, regret, m


def algorithm_2(oracle, sample, x1, L, a, eta, rho, T, r, tau):
    """Algorithm 2 with the uniforms ``r[t]`` and the output index ``tau`` given; returns every y_bar as well."""
    b = 1 - a
    d = len(x1)
    identity = [[float(i == j) for j in range(d)] for i in range(d)]
    m = [0.0] * d
    c = {0: 0.0}
    y_bar = {0: [0.0] * d}
    x, y = {1: list(x1)}, {}
    regret = 0.0
    for t in range(1, T + 1):
        z = [b * p / math.sqrt(b**2 * dot(m, m) + rho**2) for p in m]
        U = oracle.ask()
        delta = [-eta * p for p in matvec(U, z)]
        x[t + 1] = [p + q for p, q in zip(x[t], delta, strict=True)]
        y[t] = [p + r[t] * q for p, q in zip(x[t], delta, strict=True)]
        s = sample(t, y[t])

        def loss(V, s=s, z=z):
            return -dot(s, matvec(V, z))

        oracle.reveal(loss)
        regret += loss(U) - loss(identity)
        m = project([b * p + a * q for p, q in zip(m, s, strict=True)], L)
        c[t] = 1 - b**t
        y_bar[t] = [b * c[t - 1] / c[t] * p + a / c[t] * q for p, q in zip(y_bar[t - 1], y[t], strict=True)]
    return x, y, y_bar, y_bar[tau], regret


def law_of_tau(a, T):
    """Pr(tau = t) for t = 1, ..., T."""
    c = [1 - (1 - a) ** t for t in range(1, T + 1)]
    return [c[t - 1] / T for t in range(1, T)] + [c[T - 1] / (a * T)]


class Hedge:
    """Algorithm 3 over a list of matrices, with the rates gamma_t as a function of t and of E_{t-1}."""

    def __init__(self, experts, prior, gamma):
        self.experts, self.prior, self.gamma = experts, prior, gamma
        self.C = [0.0] * len(experts)
        self.E = 0.0
        self.t = 1

    def weights(self):
        rate = self.gamma(self.t, self.E)
        lowest = min(self.C)  # a common shift cancels and keeps exp in range
        w = [p * math.exp(-rate * (C - lowest)) for p, C in zip(self.prior, self.C, strict=True)]
        return [p / sum(w) for p in w]

    def ask(self):
        w, d = self.weights(), len(self.experts[0])
        return [[math.fsum(w[k] * self.experts[k][i][j] for k in range(len(w))) for j in range(d)] for i in range(d)]

    def reveal(self, loss):
        losses = [loss(U) for U in self.experts]
        self.C = [C + value for C, value in zip(self.C, losses, strict=True)]
        self.E += max(abs(value) for value in losses) ** 2
        self.t += 1


def self_tuned(prior, gamma0=1.0):
    """The rate of the Hedge lemma that needs no horizon."""
    return lambda t, E: gamma0 * math.sqrt(2 * math.log(1 / min(prior)) / (1 + E))


class Fixed:
    """The oracle that always plays U."""

    def __init__(self, U):
        self.U = U

    def ask(self):
        return self.U

    def reveal(self, loss):
        pass


def segment_algorithm(oracle, sample, x1, M, beta, sigma, T, r, kappa):
    """Algorithm 1 with s_t sampled at y_t = x_t + r_t delta_t, and the descent loss with factor kappa (0: linear)."""
    G = math.sqrt(M * beta)
    G0 = math.sqrt(2 * M * beta)
    a = G / max(G, sigma * math.sqrt(T))
    eta = a / (64 * beta)
    d = len(x1)
    identity = [[float(i == j) for j in range(d)] for i in range(d)]
    m = [0.0] * d
    x, y = {1: list(x1)}, {}
    regret = 0.0
    for t in range(1, T + 1):
        U = oracle.ask()
        delta = [-eta * p for p in matvec(U, m)]
        x[t + 1] = [p + q for p, q in zip(x[t], delta, strict=True)]
        y[t] = [p + r[t] * q for p, q in zip(x[t], delta, strict=True)]
        s = sample(t, y[t])

        def loss(V, s=s, m=m):
            Vm = matvec(V, m)
            return (-dot(s, Vm) + kappa * beta * eta / 2 * dot(Vm, Vm)) / G

        oracle.reveal(loss)
        regret += loss(U) - loss(identity)
        m = project([(1 - a) * p + a * q for p, q in zip(m, s, strict=True)], G0)
    return x, y, regret
