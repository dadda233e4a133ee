"""Every direction of the registry: pure, compiled, entry by entry if it says so, free of scale if it says so."""

import math
from dataclasses import FrozenInstanceError, dataclass
from typing import ClassVar, NamedTuple

import jax
import numpy as np
import pytest

from conftest import BACKENDS, numpy_of
from o2nc import Blocks
from o2nc.conversions import PracticalConversion
from o2nc.directions import Direction, Momentum, Muon, Numbers, OnMatrices, find, find_all, registry
from o2nc.oracles import Adaptive
from o2nc.states import leaves
from o2nc.vectors import apply, zeros_like
from sentences import check


class CountedState(NamedTuple):
    total: Blocks  # the sum of the samples
    t: Numbers  # how many there were


@dataclass(frozen=True)
class Average:
    """A direction of a user's own, with a state entry by entry and a counter."""

    name: ClassVar[str] = "average"
    scale_free: ClassVar[bool] = False
    whole: ClassVar[bool] = False

    def init(self, x):
        return CountedState(total=zeros_like(x), t=Numbers.zeros(x))

    def direction(self, state, m):
        return m + state.t.map(lambda t: 0.1 / (1 + t)).times(state.total)

    def learn(self, state, s):
        return CountedState(total=state.total + s, t=state.t.map(lambda t: t + 1))


@dataclass(frozen=True)
class Doubled(OnMatrices):
    """A direction of matrices of a user's own."""

    name: ClassVar[str] = "doubled"

    def matrix(self, M):
        return M + M


CASES = {name: entry.facts.get("example", entry.make) for name, entry in registry.items()}
CASES |= {"a user's own": Average, "a user's own of matrices": Doubled}
SHAPES = [(3, 2), (4,), ()]
RNG = np.random.default_rng(0)
SAMPLES = [tuple(RNG.normal(size=shape) for shape in SHAPES) for _ in range(4)]
ALL = pytest.mark.parametrize("name", CASES)
JITTED = [backend for backend in BACKENDS if backend.name != "jax"]  # JAX is compiled here: its eager mode is slow


@pytest.fixture(params=JITTED, ids=repr)
def xp(request):
    return request.param


def blocks(xp, arrays, scale=1.0):
    return Blocks(tuple(xp.array(scale * a) for a in arrays))


def after(direction, samples):
    state = direction.init(samples[0])
    for s in samples:
        state = direction.learn(state, s)
    return state


def numbers(v):
    return [numpy_of(a) for _, a in leaves(v)]


@ALL
def test_it_is_a_frozen_direction(name):
    direction = CASES[name]()
    assert isinstance(direction, Direction)
    assert isinstance(direction.name, str)
    with pytest.raises((FrozenInstanceError, AttributeError)):
        direction.name = "other"


@ALL
def test_it_is_pure_and_runs_on_every_library(xp, name):
    direction, samples = CASES[name](), [blocks(xp, s) for s in SAMPLES]

    def run(*samples):
        state = after(direction, samples[:-1])
        return state, direction.direction(state, samples[-1])

    before = [numbers(s) for s in samples]
    first, second = (xp.transform(run)(*samples) for _ in range(2))
    for a, b in zip(numbers(first), numbers(second), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(before, [numbers(s) for s in samples], strict=True):
        np.testing.assert_array_equal(np.concatenate([v.ravel() for v in a]), np.concatenate([v.ravel() for v in b]))
    assert [a.shape for a in numbers(first[1])] == SHAPES
    direct = direction.direction(after(direction, [Blocks(s) for s in SAMPLES[:-1]]), Blocks(SAMPLES[-1]))
    for a, b in zip(numbers(first[1]), direct.arrays, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@ALL
def test_it_is_free_of_scale_or_follows_it(name):
    direction, results = CASES[name](), []
    for scale in (1.0, 1e3):
        samples = [Blocks(tuple(scale * a for a in s)) for s in SAMPLES]
        results.append(direction.direction(after(direction, samples[:-1]), samples[-1]))
    factor = 1.0 if direction.scale_free else 1e3
    for a, b in zip(results[0].arrays, results[1].arrays, strict=True):
        np.testing.assert_allclose(factor * a, b, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name, make in CASES.items() if not make().whole])
def test_elementwise_is_entry_by_entry(name):
    """A flat piece of a block, computed alone, has the same entries; this is how front ends cut their work."""
    direction = CASES[name]()
    whole = direction.direction(after(direction, [Blocks(s[:1]) for s in SAMPLES[:-1]]), Blocks(SAMPLES[-1][:1]))
    piece = [Blocks((s[0].ravel()[2:5],)) for s in SAMPLES]
    alone = direction.direction(after(direction, piece[:-1]), piece[-1])
    np.testing.assert_allclose(whole.arrays[0].ravel()[2:5], alone.arrays[0], rtol=1e-15)


@ALL
def test_blocks_do_not_see_each_other(name):
    direction = CASES[name]()
    together = direction.direction(after(direction, [Blocks(s) for s in SAMPLES[:-1]]), Blocks(SAMPLES[-1]))
    for i, d in enumerate(together.arrays):
        one = [Blocks((s[i],)) for s in SAMPLES]
        np.testing.assert_allclose(d, direction.direction(after(direction, one[:-1]), one[-1]).arrays[0], rtol=1e-14)


@ALL
def test_no_tracker_no_direction_and_no_nan(name):
    direction, zero = CASES[name](), Blocks(tuple(np.zeros(shape) for shape in SHAPES))
    found = direction.direction(direction.init(zero), zero)
    assert all(not a.any() for a in found.arrays)
    found = direction.direction(after(direction, [Blocks(SAMPLES[0]), zero]), zero)
    assert all(np.isfinite(a).all() for a in found.arrays)


@ALL
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_keeps_the_dtype(xp, name, dtype):
    direction = CASES[name]()

    def run(*samples):
        state = after(direction, samples)
        return state, direction.direction(state, samples[0])

    found = xp.transform(run)(*(Blocks(tuple(xp.array(a, dtype) for a in s)) for s in SAMPLES))
    assert all(str(a.dtype).endswith(dtype) for _, a in leaves(found))


@ALL
def test_everybody_can_use_it(name):
    """In the oracle of Theorem 1 and in the practical rule, compiled."""
    direction, samples = CASES[name](), [Blocks(s) for s in SAMPLES]
    oracle, rule = Adaptive([Momentum(), direction]), PracticalConversion(["momentum", direction], lr=0.1)
    m = samples[0]
    played = oracle.play(oracle.init(m), m) @ m
    length = lambda v: math.sqrt(sum(float(np.sum(a * a)) for a in v.arrays))
    assert length(played) <= length(m) * (1 + 1e-12)
    state = compiled = rule.init(m)
    for s in samples:
        dx, state = rule.update(s, state)
        jitted, compiled = jax.jit(rule.update)(s, compiled)
        for a, b in zip(dx.arrays, jitted.arrays, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_names_functions_and_directions_are_found():
    names = ["momentum", "adam", "polar", "sign", "shampoo", "muon", "soap", "leon"]
    assert [find("d", name).name for name in names] == names
    assert find("d", "polar", b2=0.5, eps=0.1).fallback == find("d", "adam", b2=0.5, eps=0.1)
    assert find("d", np.tanh).name == "tanh"
    own = Average()
    assert find("d", own) is own
    check(lambda: find("experts[1]", "adem"), ValueError, "`experts[1]`", "'adam'", "'adem'")
    check(lambda: find("experts[1]", "mask"), ValueError, "`experts[1]`", "'mask'")
    check(lambda: find("experts[1]", 3.0), ValueError, "`experts[1]`", "3.0")
    check(lambda: find("experts[1]", Average), ValueError, "`experts[1]`", "Average")


def test_one_number_a_block():
    x = Blocks((np.ones((2, 2)), np.ones(3), np.ones(())))
    c = Numbers(np.asarray([1.0, 2.0, 3.0]))
    assert [float(np.max(a)) for a in c.times(x).arrays] == [1.0, 2.0, 3.0]
    assert [a.shape for a in c.times(x).arrays] == [(2, 2), (3,), ()]
    assert Numbers.zeros(np.ones((5, 3))).values.shape == (5, 1)
    np.testing.assert_array_equal(apply(lambda a: a, Numbers(np.full((5, 1), 2.0)).times(np.ones((5, 3)))), 2.0)


@pytest.mark.parametrize("name", [name for name, make in CASES.items() if make().scale_free])
def test_it_fades_with_the_tracker(name):
    """As it does for Adam: at full length above the floor, and gone when the tracker is."""
    direction = CASES[name]()
    state = after(direction, [Blocks(s) for s in SAMPLES[:-1]])
    sizes = [direction.direction(state, Blocks(tuple(scale * a for a in SAMPLES[-1]))) for scale in (1, 1e-13, 1e-300)]
    for full, small, tiny in zip(*(d.arrays for d in sizes), strict=True):
        assert np.all(np.abs(small) < 1e-4 * np.abs(full).max() + 1e-12)
        assert np.all(np.abs(tiny) < 1e-200)


@pytest.mark.parametrize(
    ("given", "end"),
    [("moun", "got 'moun'. Did you mean 'muon'?"), (Muon, "A call of it makes one: Muon(...)."), (3, "got 3.")],
)
def test_what_is_no_direction_is_a_sentence_with_the_nearest(given, end):
    with pytest.raises(ValueError, match=r"^`experts\[0\]` must be 'adam', .* a function of the tracker; ") as error:
        find_all([given])
    assert str(error.value).endswith(end)
