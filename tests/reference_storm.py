"""Variance reduction, transcribed in plain Python loops over lists. Nothing of the library is imported here."""

import math

from reference import dot, matvec


def storm(oracle, sample, x1, beta, a, T, batch, kappa, decreasing):
    """``sample(k, x)`` is the gradient of the k-th sample of all at x; the first ``batch`` ones make m_1.

    ``kappa`` None is the prediction loss. Returns the points, the trackers, the regret and how many gradients were
    taken.
    """
    d, taken = len(x1), 0
    h = 2 * (1 - a) ** 2 / (2 - a)
    eta = math.sqrt(a) / ((math.sqrt(a) + math.sqrt(a + 4 * h)) / 2 * beta)
    weight = 0.5 if kappa is None else kappa * beta * eta / 2
    identity = [[float(i == j) for j in range(d)] for i in range(d)]
    x, m, regret = [list(x1)], [], 0.0
    m.append([math.fsum(sample(k, x1)[i] for k in range(batch)) / batch for i in range(d)])
    taken += batch
    for t in range(1, T + 1):
        xi = batch + t - 1
        U = oracle.ask()
        s = sample(xi, x[-1])

        def L(V, s=s, m=m[-1]):
            v = matvec(V, m)
            return -dot(s, v) + weight * dot(v, v)

        oracle.reveal(L)
        regret += L(U) - L(identity)
        x.append([p - eta * q for p, q in zip(x[-1], matvec(U, m[-1]), strict=True)])
        a_t = max(a, 1 / t) if decreasing else a
        here = sample(xi, x[-1])
        m.append([p + (1 - a_t) * (q - r) for p, q, r in zip(here, m[-1], s, strict=True)])
        taken += 2
    return x, m, regret, taken - 1  # the last sample is not needed at the last point
