"""The side conditions of the short steps hold for all 0 < a <= 1 and c >= 2: polynomials with no negative coefficient.

A polynomial in a and c is a dictionary {(i, j): coefficient of a^i c^j}. With a = 1 / (1 + u) and c = 2 + v, times
(1 + u)^n, it is a polynomial in u >= 0 and v >= 0. If none of its coefficients is negative, neither is its value.
"""

from fractions import Fraction as F
from math import comb

import pytest

Z = {(0, 3): 4, (0, 2): -5, (0, 1): 2, (1, 3): -2, (1, 2): 12, (1, 1): -1, (1, 0): -4, (2, 2): -6, (2, 1): 5,
     (2, 0): 10, (3, 1): -4, (3, 0): -6}  # fmt: skip
NU = {(0, 1): 2, (1, 1): -1, (2, 1): 1, (2, 0): 3, (3, 0): -1}
MU = {(0, 2): 4, (0, 1): -5, (1, 2): -2, (1, 1): 4, (1, 0): 2, (2, 1): -2, (2, 0): -8, (3, 0): 4}
X = {(0, 3): 8, (0, 2): -18, (0, 1): 12, (1, 3): -4, (1, 2): 24, (1, 1): -12, (1, 0): -8, (2, 2): -10, (2, 1): 5,
     (2, 0): 28, (3, 1): -2, (3, 0): -22, (4, 0): 4}  # fmt: skip


def times(p, q):
    out = {}
    for (i, j), x in p.items():
        for (k, l), y in q.items():
            out[i + k, j + l] = out.get((i + k, j + l), 0) + x * y
    return out


def minus(p, q):
    return {key: p.get(key, 0) - q.get(key, 0) for key in p | q}


END = minus(times({(0, 0): 2}, times(NU, Z)), times(MU, MU))  # (2 a c nu - mu^2) Z^2 / c^2
BELOW_ONE = minus(times({(0, 0): 2}, Z), X)  # 2 Z (1 - X)


def value(p, a, c):
    return sum(k * a**i * c**j for (i, j), k in p.items())


def shifted(p):
    """The coefficients in u and v of (1 + u)^n p(1 / (1 + u), 2 + v), n the degree in a."""
    n, out = max(i for i, _ in p), {}
    for (i, j), k in p.items():
        for s in range(n - i + 1):
            for t in range(j + 1):
                out[s, t] = out.get((s, t), 0) + k * comb(n - i, s) * comb(j, t) * 2 ** (j - t)
    return out


@pytest.mark.parametrize(
    ("name", "p"), [("Z", Z), ("nu", NU), ("mu", MU), ("X", X), ("end", END), ("1 - X", BELOW_ONE)]
)
def test_no_coefficient_is_negative(name, p):
    coefficients = shifted(p)
    assert min(coefficients.values()) >= 0
    n = max(i for i, _ in p)
    for u, v in ((F(0), F(0)), (F(1, 3), F(5)), (F(40), F(1, 7))):
        assert value(coefficients, u, v) == (1 + u) ** n * value(p, 1 / (1 + u), 2 + v)
    if name != "mu":  # mu is 0 at a = 1, c = 2
        assert coefficients[0, 0] > 0


def test_the_polynomials_are_those_of_the_factors():
    """Both sides are quotients of polynomials of degree at most 12 in a and in c: a grid of 25 x 25 proves it."""
    for i in range(1, 26):
        for j in range(25):
            a, c = F(i, 25), 2 + F(j, 3)
            b, l = 1 - a, 2 * a / c
            omega, p, eps = (1 + 1 / l) * (a / c) ** 2, 1 + a / c + 2 * a / c**2, (1 + b**2) / (2 * c) + a / c**2
            rest = 1 - (1 + l) * b**2 - omega + 2 * omega * eps / p
            nu = (a / (2 * c) + eps / p * (1 - a / c)) / rest
            mu = (1 - a / c - 2 * nu * omega) / p
            z = value(Z, a, c)
            assert rest == a * z / (2 * c * (a * c + 2 * a + c**2))
            assert nu == c * value(NU, a, c) / (a * z)
            assert mu == c * value(MU, a, c) / z
            assert 1 - a / (2 * c) - mu * (1 / c + a / c**2) - nu * omega == value(X, a, c) / (2 * z)
            assert 2 * a * c * nu - mu**2 == c**2 * value(END, a, c) / z**2


def test_2_is_the_smallest_such_divisor():
    """At a = 1 a smaller c makes mu negative."""
    assert value(MU, 1, 2) == 0
    assert all(value(MU, 1, 2 - F(1, k)) < 0 for k in (2, 10, 1000))
