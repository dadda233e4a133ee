"""SOAP's direction against the algorithm of its paper in plain loops, with bases by orthogonal iteration."""

import numpy as np
import pytest

from conftest import BACKENDS, numpy_of
from o2nc import Blocks
from o2nc.directions import Adam, Momentum, Numbers, Soap
from o2nc.directions.soap import Side, SoapBlock
from o2nc.states import ByBlock
from o2nc.vectors import mat, vec
from reference_soap import SOAP, Published, turn_of
from sentences import check

RNG = np.random.default_rng(0)
JITTED = [backend for backend in BACKENDS if backend.name != "jax"]  # JAX is compiled here: its eager mode is slow
ROUNDS, EVERY = 11, 3  # the basis is turned three times
EXACT = 1e-10  # rounding by the condition of an iteration, at most the longest side times 1e4
SHAPES = [(4, 3), (3, 4), (7, 2), (3, 3)]  # also where the first samples have fewer dimensions than a side


@pytest.fixture(params=JITTED, ids=repr)
def xp(request):
    return request.param


def directions(expert, samples, xp=BACKENDS[0], tracker=lambda t, s: s, dtype="float64"):
    """The direction of each round, after its sample was learned."""
    step = xp.transform(lambda state, s, m: ((new := expert.learn(state, s)), expert.direction(new, m)))
    state = expert.init(Blocks((xp.array(np.zeros_like(samples[0]), dtype),)))
    for t, s in enumerate(samples):
        state, d = step(state, Blocks((xp.array(s, dtype),)), Blocks((xp.array(tracker(t, s), dtype),)))
        yield numpy_of(d.arrays[0])


def anisotropic(*shape):
    """Samples of different scales along rows and columns."""
    scales = np.geomspace(1, 0.1, shape[-2])[:, None] * np.geomspace(1, 0.2, shape[-1])
    return scales * RNG.normal(size=shape)


@pytest.mark.parametrize("every", [1, EVERY])
@pytest.mark.parametrize("limit", [4, 3, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_is_soap(xp, shape, limit, every):
    """Of both sides, of one side, and of none, which is Adam."""
    samples = anisotropic(ROUNDS, *shape)
    literal = SOAP(shape, (0.9, 0.8), 1e-3, every, limit)
    expert = Soap(b1=0.9, b2=0.8, eps=1e-3, every=every, limit=limit)
    for t, (s, d) in enumerate(zip(samples, directions(expert, samples, xp), strict=True)):
        np.testing.assert_allclose(d, literal.update(s), rtol=0, atol=EXACT, err_msg=str(t))


def test_shapes_turn_their_bases_in_turns(xp):
    """Each as one that turns later; and all at once if nobody asks for turns."""
    samples = [[RNG.normal(size=shape) for shape in SHAPES] for _ in range(ROUNDS)]
    for turn in (None, 0, 2):
        expert, state = Soap(every=EVERY, turn=turn), None
        literal = [SOAP(s, precondition_frequency=EVERY, turn=0 if turn is None else turn + turn_of(s)) for s in SHAPES]
        step = xp.transform(lambda state, s, expert=expert: ((new := expert.learn(state, s)), expert.direction(new, s)))
        state = expert.init(Blocks(tuple(xp.array(np.zeros(shape)) for shape in SHAPES)))
        for s in samples:
            state, d = step(state, Blocks(tuple(map(xp.array, s))))
            for own, a, b in zip(literal, s, d.arrays, strict=True):
                np.testing.assert_allclose(numpy_of(b), own.update(a), rtol=0, atol=EXACT)


def test_the_bases_matter():
    """The directions of the limits above are different ones, and so is one whose basis is never turned."""
    samples = anisotropic(ROUNDS, 4, 3)
    found = [
        list(directions(Soap(every=every, limit=n), samples))[-1] for every, n in ((3, 4), (3, 3), (3, 2), (99, 4))
    ]
    for i, a in enumerate(found):
        assert all(np.abs(a - b).max() > 0.05 for b in found[:i])


def test_the_average_may_be_the_tracker():
    samples, m, b1 = anisotropic(ROUNDS, 4, 3), [], 0.9
    for s in samples:
        m.append(b1 * m[-1] + (1 - b1) * s if m else 0 * s)  # the first is left out
    hat = lambda t, s: m[t] / (1 - b1**t) if t else s
    for a, b in zip(
        directions(Soap(b1=None, every=EVERY), samples, tracker=hat),
        directions(Soap(b1=b1, every=EVERY), samples, tracker=hat),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_without_sides_it_is_adam_that_has_not_seen_the_first_sample():
    samples = anisotropic(ROUNDS, 4, 3)
    adam = Adam(b2=0.8, eps=0.0)
    state = adam.init(samples[0])
    for t, (s, d) in enumerate(zip(samples, directions(Soap(b1=0.0, b2=0.8, eps=0.0, limit=1), samples), strict=True)):
        if t:
            state = adam.learn(state, s)
            root = np.sqrt(state.v)
            expected = adam.direction(state, s) * root / (root + 0.01 * np.sqrt(np.mean(state.v)))
            np.testing.assert_allclose(d, expected, rtol=1e-12)
        else:
            assert not d.any()


@pytest.mark.parametrize("tracker", [1.0, 1e-7])
def test_above_the_floor_the_tracker_does_not_enter(tracker):
    samples = anisotropic(ROUNDS, 4, 3)
    other = lambda t, s: tracker * np.ones_like(s)
    for a, b in zip(directions(Soap(), samples, tracker=other), directions(Soap(), samples), strict=True):
        np.testing.assert_array_equal(a, b)


def test_below_the_floor_it_fades():
    samples = anisotropic(3, 4, 3)
    *_, full = directions(Soap(), samples)
    *_, half = directions(Soap(floor=2.0), samples, tracker=lambda t, s: np.ones_like(s))
    np.testing.assert_allclose(half, full / 2, rtol=1e-14)


def test_a_stack_is_its_matrices_and_a_convolution_one_matrix(xp):
    samples = anisotropic(ROUNDS, 2, 3, 3)
    stack = list(directions(Soap(every=EVERY), samples, xp))
    for k in range(2):
        for a, b in zip(stack, directions(Soap(every=EVERY), samples[:, k], xp), strict=True):
            np.testing.assert_allclose(a[k], b, rtol=0, atol=1e-12)
    samples = anisotropic(ROUNDS, 4, 3).reshape(ROUNDS, 4, 3, 1, 1)
    for K in (samples, samples[..., 0]):
        for a, b in zip(
            directions(Soap(stacks=False), K, xp), directions(Soap(), K.reshape(ROUNDS, 4, 3), xp), strict=True
        ):
            np.testing.assert_allclose(a.reshape(4, 3), b, rtol=0, atol=1e-12)


def test_a_batch_of_vectors_is_one_vector_at_a_time(xp):
    """With a count of its own each: a replication that has begun later turns its basis later."""
    flat, x = Soap(shapes=[(3, 3), (4,)], every=EVERY), RNG.normal(size=(ROUNDS, 2, 13))
    learn = xp.transform(flat.learn)
    state = flat.init(xp.array(x[0]))
    for t, s in enumerate(x):
        new = learn(state, xp.array(s))
        if t == 0:  # the second row has not begun
            kept = numpy_of(new.n.values) * np.asarray([[1.0], [0.0]])
            new = flat.init(xp.array(x[0]))._replace(n=new.n._replace(values=xp.array(kept)))
            first = learn(flat.init(xp.array(x[0])), xp.array(s * np.asarray([[1.0], [0.0]])))
            new = new._replace(blocks=first.blocks)
        state = new
    found = numpy_of(xp.transform(flat.direction)(state, xp.array(x[-1])))
    for row in range(2):
        *_, d = directions(Soap(every=EVERY), [mat(s[:9], 3, 3) for s in x[row:, row]])
        np.testing.assert_allclose(found[row, :9], vec(d), rtol=0, atol=EXACT)


def test_a_length_if_asked():
    samples = anisotropic(ROUNDS, 4, 3)
    for own, d in zip(directions(Soap(), samples[:5]), directions(Soap(length=0.3), samples[:5]), strict=True):
        size = np.sqrt(np.mean(own**2))
        np.testing.assert_allclose(d, 0.3 * own / size if size else own, rtol=0, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-30, 1e15])
def test_no_nan_of_samples_that_are_zero_of_low_rank_or_extreme(xp, scale):
    e = np.zeros((4, 3))
    e[0, 0] = scale
    for dtype in ("float32", "float64"):
        for d in directions(Soap(every=2), [0 * e, e, 0 * e, e, scale + 0 * e, e, 0 * e], xp, dtype=dtype):
            assert np.isfinite(d).all()


def test_a_state_of_version_0_2_goes_on():
    """It has the same arrays, with bases of eigenvectors that are sorted; the squares belong to their columns."""
    samples, old = anisotropic(25, 4, 3), Published((4, 3))
    for s in samples[:14]:
        old.update(s)
    left, right = (Side(G, Q) for G, Q in zip(old.GG, old.Q, strict=True))
    block = SoapBlock((old.exp_avg,), old.exp_avg_sq, (left,), (right,))
    expert, literal = Soap(), SOAP((4, 3))
    state = expert.init(Blocks((samples[0],)))
    state = state._replace(n=Numbers(np.asarray([14.0])), blocks=ByBlock((block,)))
    vars(literal).update(step=old.step, GG=[G.copy() for G in old.GG], Q=old.Q)
    literal.exp_avg, literal.exp_avg_sq = old.exp_avg.copy(), old.exp_avg_sq.copy()
    for s in samples[14:]:
        state = expert.learn(state, Blocks((s,)))
        d, theirs = expert.direction(state, Blocks((s,))).arrays[0], old.update(s)
        np.testing.assert_allclose(d, literal.update(s), rtol=0, atol=EXACT)
        assert np.sum(d * theirs) > 0.9 * np.linalg.norm(d) * np.linalg.norm(theirs)


WRONG = {
    "b1": (lambda: Soap(b1=1.0), ValueError, "`Soap(b1=...)`", "less than 1; got 1.0"),
    "b2": (lambda: Soap(b2=-0.1), ValueError, "`Soap(b2=...)`", "got -0.1"),
    "eps": (lambda: Soap(eps=-1.0), ValueError, "`Soap(eps=...)`", "nonnegative; got -1.0"),
    "every": (lambda: Soap(every=0), ValueError, "`Soap(every=...)` must be a whole number of at least 1; got 0"),
    "limit": (lambda: Soap(limit=2.5), ValueError, "`Soap(limit=...)` must be a whole number", "got 2.5"),
    "turn": (lambda: Soap(turn=0.5), TypeError, "`Soap(turn=...)` must be None or a whole number; got 0.5"),
    "length": (lambda: Soap(length=0.0), ValueError, "`Soap(length=...)`", "positive; got 0.0"),
    "an array": (lambda: Soap().init(np.ones(3)), ValueError, "`Soap(shapes=...)` must be given", "got none"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)


def test_other_blocks_take_the_fallback():
    expert, m = Soap(fallback=Momentum()), Blocks((np.ones(3), np.ones((3, 2)), np.ones(())))
    d = expert.direction(expert.learn(expert.init(m), m), m)
    assert d.arrays[0] is m.arrays[0]
    assert [direction.name for direction in expert.on(m)] == ["momentum", "soap", "momentum"]
