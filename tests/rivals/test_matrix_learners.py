"""Leon and Pion: plain loops over their formulas, regret below the stated bounds, and runs that minimise."""

import math

import numpy as np
import pytest

import sentences
from conftest import BACKENDS, numpy_of
from o2nc import Blocks, Nonsmooth
from o2nc.certificates import augmented_leader, perturbed_leader
from o2nc.operators import gaussian_draws
from o2nc.rivals import ClippedFTRL, ExponentiatedConversion, Leon, Pion
from reference_matrices import polar, root
from runs import D

SHAPES = ((1, 2), (2,))  # of four numbers
WIDE = ((3, 2), (2, 4), (3,))  # of seventeen: a tall matrix, a wide one, a vector
B, RADIUS, ROUNDS = 0.8, 0.3, 5
NOISE = np.random.default_rng(6).normal(size=(ROUNDS, 3, D))
R = np.random.default_rng(7).random(size=(ROUNDS, 3, 1))
LEARNERS = {
    "leon": Leon(RADIUS, B, SHAPES, eta=0.6),
    "pion": Pion(RADIUS, B, SHAPES, eta=0.6, draws=2, seed=3),
}


@pytest.fixture(params=[backend for backend in BACKENDS if backend.name != "jax"], ids=repr)
def xp(request):
    """JAX is compiled here: its eager mode is slow."""
    return request.param


def cut(v, shapes):
    """The blocks of an array as wide matrices, each filled column by column, and whether it was turned."""
    found, start = [], 0
    for shape in shapes:
        piece = v[start : start + math.prod(shape)]
        A = piece.reshape(shape, order="F") if len(shape) == 2 else piece[None, :]
        found.append((A.T, True) if A.shape[0] > A.shape[1] else (A, False))
        start += math.prod(shape)
    return found


def factor(name, M, V):
    if name == "leon":
        return polar(np.hstack([M, 0.6 * root(V)]))[:, : M.shape[1]]
    N, _ = gaussian_draws(2, M.shape, 3, M)
    pad = np.zeros((len(M), N.shape[-1] - M.shape[1]))
    return sum(polar(np.hstack([M, pad]) + 0.6 * root(V) @ n)[:, : M.shape[1]] for n in (*N, *-N)) / 4


def literal(name, samples, shapes):
    """The displacement before each sample, with sums over all rounds anew."""
    played = []
    for t in range(len(samples)):
        pieces = []
        for k in range(len(shapes)):
            blocks = [cut(s, shapes)[k] for s in samples[:t]]
            if not blocks:
                pieces.append(np.zeros(math.prod(shapes[k])))
                continue
            weights = [B ** (t - 1 - i) for i in range(t)]
            M = sum(w * A for w, (A, _) in zip(weights, blocks, strict=True))
            V = sum(w**2 * A @ A.T for w, (A, _) in zip(weights, blocks, strict=True))
            Z = -RADIUS * factor(name, M, V)
            pieces.append((Z.T if blocks[0][1] else Z).ravel(order="F"))
        played.append(np.concatenate(pieces))
    return np.stack(played)


@pytest.mark.parametrize("name", LEARNERS)
def test_they_are_the_literal_ones(xp, name):
    """The samples are given, so the path is made of the displacements, each times its exponential variable."""
    conversion = ExponentiatedConversion(LEARNERS[name], T=ROUNDS)
    state, x = conversion.init(xp.array(NOISE[0]), tau=ROUNDS), xp.array(np.zeros((3, D)))
    for run_s, r in zip(NOISE, R, strict=True):
        dx, state = xp.transform(conversion.update)(xp.array(run_s), state, x, r=xp.array(r))
        moved = numpy_of(dx)
    for run in range(3):
        deltas = literal(name, [*NOISE[:, run], np.zeros(D)], SHAPES)
        expected = -math.log(1 - R[-1, run, 0]) * deltas[ROUNDS]
        np.testing.assert_allclose(moved[run], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_displacement_of_matrices_of_all_shapes(name):
    learner = type(LEARNERS[name])(RADIUS, B, WIDE, eta=0.6, **({} if name == "leon" else {"draws": 2, "seed": 3}))
    samples = np.random.default_rng(2).normal(size=(8, 17))
    state, expected = learner.init(samples[0]), literal(name, samples, WIDE)
    for s, delta in zip(samples, expected, strict=True):
        np.testing.assert_allclose(learner.play(state), delta, rtol=0, atol=1e-12)
        state = learner.learn(state, s)


def test_blocks_with_more_axes_and_with_none():
    a, b = np.random.default_rng(3).normal(size=(2, 3, 2)), np.asarray(2.0)
    learner = Leon(1.0, 0.5)
    state = learner.learn(learner.init(Blocks((a, b))), Blocks((a, b)))
    flat = learner.learn(learner.init(Blocks((a.reshape(2, 6),))), Blocks((a.reshape(2, 6),)))
    found = learner.play(state).arrays
    np.testing.assert_array_equal(found[0].reshape(2, 6), learner.play(flat).arrays[0])
    assert float(found[1]) == pytest.approx(-1 / math.sqrt(1.75))


def test_a_vector_is_clipped_ftrl_but_for_the_root():
    samples = np.random.default_rng(4).normal(size=(9, 5))
    leon, ftrl = Leon(0.3, 0.8, ((5,),), eta=0.9), ClippedFTRL(0.3, 0.8)
    one, two = leon.init(samples[0]), ftrl.init(samples[0])
    for s in samples:
        one, two = leon.learn(one, s), ftrl.learn(two, s)
        expected = -0.3 * two.m / np.sqrt(np.sum(two.m**2) + 0.81 * two.v)
        np.testing.assert_allclose(leon.play(one), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", LEARNERS)
def test_stated_regret_bounds(name):
    """Against the best displacement until each round, and against random ones; samples of all sizes."""
    rng = np.random.default_rng(5)
    samples = rng.normal(size=(120, 17)) * 10 ** rng.uniform(-3, 3, size=(120, 1)) + [1.0] * 17
    learner = (Leon if name == "leon" else Pion)(RADIUS, B, WIDE)
    mats = [A for A, _ in cut(samples[0], WIDE)]
    if name == "leon":
        factors = [augmented_leader(1.0)] * len(mats)
    else:
        factors = [perturbed_leader(1.0, float(gaussian_draws(1, A.shape, 0, A)[1][0])) for A in mats]
    state, lost, total, worst = learner.init(samples[0]), 0.0, np.zeros(17), 0.0
    squares = [np.zeros((len(A), len(A))) for A in mats]
    for s in samples:
        lost, total = B * lost + s @ learner.play(state), B * total + s
        squares = [B**2 * V + A @ A.T for V, (A, _) in zip(squares, cut(s, WIDE), strict=True)]
        bound = RADIUS * sum(c * np.trace(root(V)) for c, V in zip(factors, squares, strict=True))
        best = sum(np.linalg.svd(A, compute_uv=False).sum() for A, _ in cut(total, WIDE))
        other = sum(np.sum(polar(rng.normal(size=A.shape)) * A) for A, _ in cut(total, WIDE))
        assert lost + RADIUS * max(best, other) <= bound * (1 + 1e-9)
        worst = max(worst, (lost + RADIUS * best) / bound)
        state = learner.learn(state, s)
    assert worst > (0.45 if name == "leon" else 0.3)
    assert all(np.linalg.norm(A, 2) <= RADIUS * (1 + 1e-12) for A, _ in cut(learner.play(state), WIDE))


@pytest.mark.parametrize("kind", [Leon, Pion])
def test_tuned_ones_minimise_and_keep_their_bound(kind):
    """The sum of the absolute values of a matrix and noise, from 0.5: the measure against the terms of `tuned`."""
    shapes, constants = ((2, 2),), Nonsmooth(L=2.0, M=2.0, sigma=0.5, lam=2.0, T=2000)
    learner = kind.tuned(constants, shapes)
    conversion, rng = ExponentiatedConversion(learner, constants.T), np.random.default_rng(0)
    x = np.full((16, 4), 0.5)
    state = conversion.init(x, tau=constants.T)
    a, kept, mean, weight = 1 - learner.b, [], np.zeros_like(x), 0.0
    for _ in range(constants.T):
        g = np.sign(x)
        mean, weight = learner.b * mean + g, learner.b * weight + 1
        kept.append(np.linalg.norm(mean / weight, axis=-1).mean())
        s = g + 0.25 * rng.choice([-1.0, 1.0], size=x.shape)
        dx, state = conversion.update(s, state, x, r=rng.random((16, 1)))
        x = x + dx
    r, T = 2, constants.T
    bound = constants.M / (learner.D * T) + (kind.tuning + 1) * math.sqrt(r) * constants.B * math.sqrt(a)
    bound += constants.B / (a * T)  # the first rounds, whose average is short
    assert np.mean(kept) <= bound
    assert np.mean(np.abs(conversion.output(state, x))) < 0.1


CASES = {
    "radius": (lambda: Leon(0.0, 0.5), ValueError, "`Leon(D=...)`", "got 0.0"),
    "discount": (lambda: Pion(1.0, 1.0), ValueError, "`Pion(b=...)`", "got 1.0"),
    "eta": (lambda: Leon(1.0, 0.5, eta=-1.0), ValueError, "`Leon(eta=...)`", "got -1.0"),
    "noise": (lambda: Pion(1.0, 0.5, eta=0.0), ValueError, "`Pion(eta=...)`", "got 0.0"),
    "draws": (lambda: Pion(1.0, 0.5, draws=0), ValueError, "`Pion(draws=...)`", "got 0"),
    "seed": (lambda: Pion(1.0, 0.5, seed=-1), ValueError, "`seed`", "got -1"),
    "shapes": (lambda: Leon(1.0, 0.5).init(np.ones(4)), ValueError, "`Leon(shapes=...)`", "got none"),
}


@pytest.mark.parametrize("name", CASES)
def test_errors(name):
    sentences.check(*CASES[name])
