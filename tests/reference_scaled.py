"""Online scaled gradient methods, transcribed in plain Python loops over lists, with the letters of their papers.

Nothing of the library is imported here. ``f`` gives value and gradient at a list.
"""

import math

from reference import dot


def osgm(f, x, alpha, P1, high, K, f_star=None):
    """K steps of the monotone variant with AdaGrad: the trial points, the kept points, and every P_k."""
    n = len(x)
    P, G = [P1] * n, [0.0] * n
    fx, gx = f(x)
    trials, kept, scalings = [x], [x], [list(P)]
    for _ in range(K):
        x_half = [x[i] - P[i] * gx[i] for i in range(n)]
        f_half, g_half = f(x_half)
        below = dot(gx, gx) if f_star is None else fx - f_star
        for i in range(n):
            hypergradient = -g_half[i] * gx[i] / below
            G[i] += hypergradient**2
            P[i] = min(max(P[i] - alpha * hypergradient / math.sqrt(G[i]), 0.0), high)
        if f_half < fx:
            x, fx, gx = x_half, f_half, g_half
        trials.append(x_half)
        kept.append(x)
        scalings.append(list(P))
    return trials, kept, scalings


def osgm_best(f, x, alpha, gamma, P1, beta, tau, K):
    """K steps with heavy-ball momentum: the trial points, the kept points, and every beta_k."""
    n, x_old = len(x), x
    P, G, H = [P1] * n, [0.0] * n, 0.0
    fx, gx = f(x)
    trials, kept, momenta = [x], [x], [beta]
    for _ in range(K):
        step = [x[i] - x_old[i] for i in range(n)]
        x_half = [x[i] - P[i] * gx[i] + beta * step[i] for i in range(n)]
        f_half, g_half = f(x_half)
        below = dot(gx, gx) + tau / 2 * dot(step, step)
        for i in range(n):
            hypergradient = -g_half[i] * gx[i] / below
            G[i] += hypergradient**2
            P[i] = max(P[i] - alpha * hypergradient / math.sqrt(G[i]), 0.0)
        hypergradient = dot(g_half, step) / below
        H += hypergradient**2
        if H > 0:
            beta = min(max(beta - gamma * hypergradient / math.sqrt(H), 0.0), 0.9995)
        x_old = x
        if f_half < fx:
            x, fx, gx = x_half, f_half, g_half
        trials.append(x_half)
        kept.append(x)
        momenta.append(beta)
    return trials, kept, momenta
