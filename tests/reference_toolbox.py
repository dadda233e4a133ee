"""The learners with hints, with shares and without a scale, in plain Python loops over lists.

Nothing of the library is imported here. Each takes the gradients of all rounds (the losses of the experts, for those
that weigh experts) and returns the points that are played, one more than there are rounds.
"""

import itertools
import math

from reference import dot


def clipped(low, high):
    """The Euclidean projection onto a box."""
    return lambda v: [min(max(p, low), high) for p in v]


def onto_simplex(v):
    """The Euclidean projection onto the simplex: the threshold theta with sum max(v_k - theta, 0) = 1."""
    for n in range(1, len(v) + 1):
        theta = (math.fsum(sorted(v, reverse=True)[:n]) - 1) / n
        w = [max(p - theta, 0.0) for p in v]
        if abs(math.fsum(w) - 1) < 1e-13:
            return w
    raise AssertionError("no threshold")


def normalised(w):
    return [p / math.fsum(w) for p in w]


def euclidean_step(project):
    return lambda p, g, eta: project([a - eta * b for a, b in zip(p, g, strict=True)])


def entropic_step(project):
    return lambda p, g, eta: project([a * math.exp(-eta * b) for a, b in zip(p, g, strict=True)])


def optimistic_hedge(losses, prior, hint):
    l = math.log(1 / min(prior))
    C, Delta = [0.0] * len(prior), 0.0
    h = hint([0.0] * len(prior), [0.0] * len(prior), 1)
    played = []
    for t, loss in enumerate([*losses, None], start=1):
        total = [c + p for c, p in zip(C, h, strict=True)]
        lead = min(total)
        if Delta > 0:
            gamma = l / Delta
            w = normalised([p * math.exp(-gamma * (c - lead)) for p, c in zip(prior, total, strict=True)])
        else:
            w = normalised([p if c == lead else 0.0 for p, c in zip(prior, total, strict=True)])
        played.append(w)
        if loss is None:
            return played
        a = [p - q for p, q in zip(loss, h, strict=True)]
        if Delta > 0:
            gap = dot(w, a) + math.log(dot(w, [math.exp(-gamma * p) for p in a])) / gamma
        else:
            gap = dot(w, a) + lead - min(c + p for c, p in zip(total, a, strict=True))
        Delta += max(gap, 0.0)
        C = [c + p for c, p in zip(C, loss, strict=True)]
        h = hint(loss, h, t + 1)


def optimistic_omd(gradients, start, eta, step, hint):
    p, zero = list(start), [0.0] * len(start)
    h = hint(zero, zero, 1)
    played = [step(p, h, eta)]
    for t, g in enumerate(gradients, start=1):
        p = step(p, g, eta)
        h = hint(g, h, t + 1)
        played.append(step(p, h, eta))
    return played


def fixed_share(losses, prior, gamma, alpha):
    w = list(prior)
    played = [w]
    for loss in losses:
        v = normalised([p * math.exp(-gamma * q) for p, q in zip(w, loss, strict=True)])
        w = [(1 - alpha) * p + alpha * q for p, q in zip(v, prior, strict=True)]
        played.append(w)
    return played


def mixture_of_sequences(losses, prior, gamma, alpha):
    """The weights after all losses of the Bayesian mixture over every sequence of experts."""
    K, w = len(prior), [0.0] * len(prior)
    for sequence in itertools.product(range(K), repeat=len(losses) + 1):
        mass = prior[sequence[0]]
        for before, after in itertools.pairwise(sequence):
            mass *= (1 - alpha) * (before == after) + alpha * prior[after]
        w[sequence[-1]] += mass * math.exp(-gamma * sum(loss[k] for loss, k in zip(losses, sequence, strict=False)))
    return normalised(w)


def solo_ftrl(gradients, start, eta, project):
    L, E = [0.0] * len(start), 0.0
    played = [list(start)]
    for g in gradients:
        L = [p + q for p, q in zip(L, g, strict=True)]
        E += dot(g, g)
        played.append(project([p - eta * q / math.sqrt(E) for p, q in zip(start, L, strict=True)]))
    return played
