"""Every set of the registry: what it projects to, minimises over and plays, in every array library."""

import numpy as np
import pytest

from conftest import numpy_of
from contracts import in_every_library
from o2nc import sets
from o2nc.operators import Dense, Diagonal, Identity
from o2nc.sets import OperatorSet, registry
from o2nc.sets.base import first_set
from o2nc.testing import check_operator

D, ROWS = 6, 5
RNG = np.random.default_rng(0)
X, P, M = RNG.normal(size=(3, ROWS, D))
every_set = pytest.mark.parametrize("name", registry)


def made(lib, name):
    """The set, for vectors of six numbers, and an example of them."""
    x = lib.array(np.zeros((ROWS, D)))
    experts = (Identity(), Diagonal(lib.array(RNG.uniform(-1, 1, size=D))), Dense(lib.array(-np.eye(D)[::-1])))
    return first_set(registry[name].make(experts, x), x), x


def points(S, x, seed=0):
    """Coordinates of any size, symmetric where they are matrices."""
    u = numpy_of(S.start(x))
    noise = np.random.default_rng(seed).normal(size=u.shape)
    return u + (noise + noise.swapaxes(-1, -2) if S.axes == 2 else noise)


def dot(u, v):
    return np.sum((numpy_of(u) * numpy_of(v)).reshape(ROWS, -1), axis=-1)


@in_every_library
@every_set
def test_the_coordinates(lib, name):
    S, x = made(lib, name)
    assert isinstance(S, OperatorSet)
    u, v = (S.project(lib.array(points(S, x, seed))) for seed in (1, 2))
    np.testing.assert_allclose(numpy_of(S.project(u)), numpy_of(u), rtol=0, atol=1e-12)
    np.testing.assert_allclose(numpy_of(S.project(S.start(x))), numpy_of(S.start(x)), rtol=0, atol=1e-12)
    assert np.all(np.sqrt(dot(u - v, u - v)) <= S.diameter(x) + 1e-12)
    g = S.pullback(lib.array(P), lib.array(M))
    assert np.all(dot(g, S.minimize(g)) <= dot(g, u) + 1e-12)
    size = np.linalg.norm(P, axis=-1) * np.linalg.norm(M, axis=-1)
    assert np.all(np.sqrt(dot(g, g)) <= S.gradient_factor(x) * size + 1e-12)
    played = numpy_of(S.operator(u) @ lib.array(M))
    np.testing.assert_allclose(dot(g, u), np.sum(P * played, axis=-1), rtol=0, atol=1e-12)
    assert S.holds_identity == (S.identity(x) is not None)
    if S.holds_identity:
        np.testing.assert_allclose(numpy_of(S.operator(S.identity(x)) @ lib.array(X)), X, rtol=0, atol=1e-15)


@in_every_library
@every_set
def test_every_point_is_an_operator(lib, name):
    S, _ = made(lib, name)
    x = lib.array(np.zeros(D))
    g = S.pullback(lib.array(P[0]), lib.array(M[0]))
    for u in (S.start(x), S.minimize(g), S.project(g)):
        check_operator(S.operator(u), x, contraction=not getattr(S, "any_size", False))


def test_every_set_is_registered():
    public = {kind for name in sets.__all__ if isinstance(kind := getattr(sets, name), type)} - {OperatorSet}
    x = np.zeros(D)
    assert {type(entry.make((Identity(),), x)) for entry in registry.values()} == public
    assert sorted(name for name, entry in registry.items() if entry.facts.get("cli")) == [
        "box",
        "hull",
        "positive",
        "spectral",
    ]
    assert {entry.facts["over"] for entry in registry.values()} == {"weights", "diagonal", "matrix", "factors"}
