"""The rivals of Algorithm 2 against their literal transcriptions, and what their papers say of them."""

import math

import numpy as np
import pytest

import reference_rivals as literal
import sentences
from conftest import numpy_of
from o2nc import Nonsmooth, Smooth
from o2nc.rivals import (
    BallOGD,
    ClippedFTRL,
    ExponentiatedConversion,
    NormalizedSGD,
    RegularizedOMD,
    ShiftingConversion,
    UpdatesConversion,
)
from o2nc.rivals.exponentiated import exponential
from runs import NOISE, ROUNDS, RUNS, X1, D, R, gradient, rounds

EPOCH = 4
LEARNERS = {  # ours, and the literal one
    "BallOGD": (BallOGD(D=0.3, eta=0.1), lambda: literal.ProjectedOGD(D, 0.3, 0.1)),
    "RegularizedOMD": (RegularizedOMD(0.2, 0.7, 0.8), lambda: literal.CompositeOMD(D, 0.2, 0.7, 0.8)),
    "ClippedFTRL": (ClippedFTRL(D=0.3, b=0.8), lambda: literal.ScaleFreeFTRL(D, 0.3)),
}
CONSTANTS = Nonsmooth(L=1.0, M=1.0, sigma=0.5, lam=2.0, T=2000)
TUNED = {
    "shifting": ShiftingConversion.tuned(CONSTANTS),
    "momentum": ExponentiatedConversion(RegularizedOMD.tuned(CONSTANTS), CONSTANTS.T),
    "clipped": ExponentiatedConversion(ClippedFTRL.tuned(CONSTANTS), CONSTANTS.T),
    "uniform": UpdatesConversion(RegularizedOMD.tuned(CONSTANTS), CONSTANTS.T),
}


def sample_of(run):
    return lambda n, x: (gradient(np.asarray(x)) + NOISE[n - 1, run]).tolist()


def test_the_shifting_conversion_is_the_literal_one(xp):
    ours, theirs = LEARNERS["BallOGD"]
    conversion = ShiftingConversion(ours, epoch=EPOCH, T=ROUNDS)
    tau = np.asarray([[4], [8], [12]])
    path, state = rounds(xp, conversion, X1, NOISE, conversion.init(xp.array(X1), tau=xp.array(tau, "int32")), R)
    for run in range(RUNS):
        w, averages = literal.shifting(theirs, sample_of(run), X1[run], EPOCH, ROUNDS // EPOCH, R[:, run, 0])
        np.testing.assert_allclose(path[: len(w), run], w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.average.output)[run], averages[run], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["RegularizedOMD", "ClippedFTRL"])
def test_the_exponentiated_conversion_is_the_literal_one(xp, name):
    ours, theirs = LEARNERS[name]
    conversion = ExponentiatedConversion(ours, T=ROUNDS)
    tau = np.asarray([[1], [7], [15]])
    path, state = rounds(xp, conversion, X1, NOISE, conversion.init(xp.array(X1), tau=xp.array(tau, "int32")), R)
    for run in range(RUNS):
        s = [-math.log(1 - u) for u in R[:, run, 0]]
        x, averages = literal.exponentiated(theirs(), sample_of(run), X1[run], ours.b, ROUNDS, s)
        np.testing.assert_allclose(path[:-1, run], x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.average.mean)[run], averages[-1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.average.output)[run], averages[tau[run, 0] - 1], rtol=0, atol=1e-12)


def test_normalised_sgd_is_the_literal_one(xp):
    sgd = NormalizedSGD(eta=0.1, b=0.7)
    path, _ = rounds(xp, sgd, X1, NOISE, sgd.init(xp.array(X1)))
    for run in range(RUNS):
        x = literal.normalized(sample_of(run), X1[run], 0.1, 0.7, ROUNDS)
        np.testing.assert_allclose(path[:, run], x, rtol=0, atol=1e-12)
    dx, _ = sgd.update(xp.array(np.zeros(D)), sgd.init(xp.array(np.zeros(D))))
    assert not numpy_of(dx).any()


def test_regularised_mirror_descent_is_momentum():
    learner = RegularizedOMD(eta=0.2, mu=0.7, b=0.8)
    b = 0.8 / (1 + 0.2 * 0.7)
    state, m = learner.init(X1), np.zeros_like(X1)
    for s in NOISE:
        state, m = learner.learn(state, s), b * m + (1 - b) * s
        np.testing.assert_allclose(learner.play(state), -0.2 * b / (1 - b) * m, rtol=0, atol=1e-12)


def plays(learner, samples):
    """The displacement before each sample."""
    state, deltas = learner.init(samples[0]), []
    for s in samples:
        deltas.append(learner.play(state))
        state = learner.learn(state, s)
    return np.stack(deltas)


def wild_samples():
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(200, 5, 3)) * 10 ** rng.uniform(-3, 3, size=(200, 5, 1)) + [1.0, 0.0, -1.0]
    samples[:3] = 0.0  # nothing to go by
    return samples


def discounted(terms, b):
    """sum_{i <= t} b^{t-i} terms_i for every t."""
    sums = [np.zeros_like(terms[0])]
    for term in terms:
        sums.append(b * sums[-1] + term)
    return np.stack(sums[1:])


def size(v):
    return np.linalg.norm(v, axis=-1)


@pytest.mark.parametrize("learner", [BallOGD(D=0.3, eta=0.01), ClippedFTRL(D=0.3, b=0.8)])
def test_displacements_stay_in_the_ball(learner):
    lengths = size(plays(learner, wild_samples()))
    assert np.all(lengths <= 0.3 * (1 + 1e-12))
    assert lengths.max() > 0.3 * (1 - 1e-12)


@pytest.mark.parametrize("comparator", ["best", "random"])
def test_stated_regret_bounds(comparator):
    """Against the best point of the ball for the losses until each round, and against random ones."""
    samples, radius, b, eta, mu = wild_samples(), 0.3, 0.8, 0.02, 0.5

    def regret(deltas, b):
        total = discounted(samples, b)
        u = -total / np.maximum(size(total)[..., None], 1e-300)
        if comparator == "random":
            u = np.random.default_rng(2).normal(size=u.shape)
            u = u / size(u)[..., None]
        return discounted(np.sum(samples * deltas, axis=-1), b) - radius * np.sum(total * u, axis=-1)

    square, close = size(samples) ** 2, 1 + 1e-9
    ogd = regret(plays(BallOGD(radius, eta), samples), 1.0)
    assert np.all(ogd <= close * (radius**2 / (2 * eta) + eta / 2 * discounted(square, 1.0)))
    ftrl = regret(plays(ClippedFTRL(radius, b), samples), b)
    assert np.all(ftrl <= close * 4 * radius * np.sqrt(discounted(square, b**2)))
    deltas = plays(RegularizedOMD(eta, mu, b), samples)
    paid = regret(deltas, b) + mu / 2 * discounted(size(deltas) ** 2, b)
    costs = radius**2 / (2 * eta * b) + eta / 2 * discounted(square, b) + mu * radius**2 / (2 * b * (1 - b))
    assert np.all(paid <= close * costs)


def run(conversion, x, field, tau=None, seed=0):
    """The points of the samples, the gradients there, and the last state; ``field`` is the gradient without noise."""
    rng = np.random.default_rng(seed)
    state, points, gradients = conversion.init(x, tau=tau), [], []
    for _ in range(CONSTANTS.T):
        points.append(x)
        gradients.append(field(x))
        s = gradients[-1] + CONSTANTS.sigma * rng.choice([-1.0, 1.0], size=x.shape) / math.sqrt(x.shape[-1])
        dx, state = conversion.update(s, state, x, r=rng.random((*x.shape[:-1], 1)))
        x = x + dx
    return np.stack(points), np.stack(gradients), state


def valley(x):
    """A gradient of max(|x_1 - x_2|, |x_1 + x_2| / 2) / sqrt(2): kinks everywhere at the bottom, L = 1."""
    steep = np.abs(x[..., :1] - x[..., 1:]) > np.abs(x[..., :1] + x[..., 1:]) / 2
    one, two = np.sign(x[..., :1] - x[..., 1:]), np.sign(x[..., :1] + x[..., 1:]) / 2
    return np.where(steep, one * [1.0, -1.0], two * [1.0, 1.0]) / math.sqrt(2)


FIELDS = pytest.mark.parametrize(("field", "x"), [(np.sign, [0.9]), (valley, [0.8, -0.3])])


def leading(a, radius, noise):
    """The leading terms of the bound on the measure of an exponentiated conversion."""
    M, lam, T = CONSTANTS.M, CONSTANTS.lam, CONSTANTS.T
    return M / (radius * T) + noise * CONSTANTS.B * math.sqrt(a) + 12 * lam * radius**2 / a**2


def parts(name):
    """1 - b, the radius of the comparator, and the factor of the noise in the bound."""
    learner = TUNED[name].learner
    a = 1 - learner.b
    return (a, learner.D, 5.0) if name == "clipped" else (a, learner.mu * a**2 / (24 * CONSTANTS.lam), 2.0)


@FIELDS
def test_the_tuned_shifting_conversion_minimises_and_keeps_its_bound(field, x):
    """The measure, averaged over the epochs and over 32 replications, against Corollary 9."""
    conversion, (M, B, lam, T) = TUNED["shifting"], (CONSTANTS.M, CONSTANTS.B, CONSTANTS.lam, CONSTANTS.T)
    n, K, delta = conversion.epoch, T // conversion.epoch, conversion.learner.D * conversion.epoch
    points, gradients, state = run(conversion, np.tile(np.asarray(x), (32, 1)), field)
    assert np.mean(size(state.average.output)) < 0.15 * size(np.asarray(x))
    points, gradients = (v[: K * n].reshape(K, n, *v.shape[1:]) for v in (points, gradients))
    spread = size(points - np.mean(points, axis=1, keepdims=True))
    assert spread.max() <= delta
    measure = size(np.mean(gradients, axis=1)) + lam * np.mean(spread**2, axis=1)
    bound = 2 * M / (delta * T) + max(5 * (B**2 * M / (T * delta)) ** (1 / 3), 6 * B / math.sqrt(T))
    assert np.mean(measure) <= bound + lam * delta**2


@pytest.mark.parametrize("name", ["momentum", "clipped", "uniform"])
@FIELDS
def test_tuned_exponentiated_conversions_minimise_and_keep_their_bounds(name, field, x):
    """The measure, averaged over the rounds and over 32 replications, against the bound with all its terms.

    At this T the bound of the clipped one is above L, where every point is: there the first assertion says more.
    """
    conversion, (a, radius, noise), T = TUNED[name], parts(name), CONSTANTS.T
    points, gradients, state = run(conversion, np.tile(np.asarray(x), (32, 1)), field)
    assert np.mean(size(state.average.output)) < 0.15 * size(np.asarray(x))
    c = 1 - (1 - a) ** np.arange(1, T + 1)
    moment = lambda v: a * discounted(v, 1 - a) / c.reshape(-1, *(1,) * (v.ndim - 1))
    spread = moment(np.sum(points**2, axis=-1)) - size(moment(points)) ** 2
    measure = size(moment(gradients)) + CONSTANTS.lam * spread
    bound = leading(a, radius, noise) * (1 + 1 / (a * T)) / (1 - a) + CONSTANTS.L / (a * T)
    assert np.mean(measure) <= bound


def test_the_output_is_the_direct_sum():
    for name, conversion in TUNED.items():
        start, tau = (
            np.full((2, 2), 0.7),
            np.asarray([[conversion.tau(0.5, conversion.T)], [conversion.tau(0.97, conversion.T)]]),
        )
        points, _, state = run(conversion, start, valley, tau=tau, seed=3)
        for k, (end,) in enumerate(tau):
            w = np.ones(conversion.epoch) if name == "shifting" else conversion.learner.b ** np.arange(end)[::-1]
            direct = w @ points[end - len(w) : end, k] / w.sum()
            np.testing.assert_allclose(state.average.output[k], direct, rtol=0, atol=1e-12)


def test_the_round_of_the_output_is_uniform():
    u = (np.arange(1200) + 0.5) / 1200
    shifting, other = (
        ShiftingConversion(BallOGD(1.0, 1.0), epoch=4, T=15),
        ExponentiatedConversion(ClippedFTRL(1.0, 0.5), T=15),
    )
    assert np.unique([shifting.tau(v, 15) for v in u], return_counts=True)[0].tolist() == [4, 8, 12]
    assert set(np.unique([shifting.tau(v, 15) for v in u], return_counts=True)[1]) == {400}
    assert set(np.unique([other.tau(v, 15) for v in u], return_counts=True)[1]) == {80}
    assert int(shifting.init(np.zeros(1)).average.tau[0]) == 12
    assert int(other.init(np.zeros(1)).average.tau[0]) == 15


@pytest.mark.parametrize("name", ["momentum", "clipped"])
def test_the_tuned_discount_and_radius_minimise_the_bound(name):
    a, radius, noise = parts(name)
    h = 1e-6
    slopes = [
        leading(a * (1 + h), radius, noise) - leading(a * (1 - h), radius, noise),
        leading(a, radius * (1 + h), noise) - leading(a, radius * (1 - h), noise),
    ]
    np.testing.assert_allclose(np.asarray(slopes) / (2 * h), 0, atol=1e-8)
    others = [(p, q) for p in (0.5, 1, 2) for q in (0.5, 1, 2) if (p, q) != (1, 1)]
    assert all(leading(a * p, radius * q, noise) > leading(a, radius, noise) for p, q in others)
    if name == "momentum":
        assert math.isclose(TUNED[name].learner.eta, radius * math.sqrt(a) / CONSTANTS.B)


def test_the_tuned_delta_minimises_the_bound():
    M, B, lam, T = CONSTANTS.M, CONSTANTS.B, CONSTANTS.lam, CONSTANTS.T
    conversion = TUNED["shifting"]
    delta = conversion.learner.D * conversion.epoch
    bound = lambda delta: 5 * (B**2 * M / (T * delta)) ** (1 / 3) + lam * delta**2
    np.testing.assert_allclose(bound(delta * 1.0001) - bound(delta * 0.9999), 0, atol=1e-10)
    assert conversion.epoch == math.ceil((B * T * delta / M) ** (2 / 3))
    assert math.isclose(conversion.learner.eta, conversion.learner.D / (B * math.sqrt(conversion.epoch)))


def test_a_uniform_number_that_is_rounded_to_one_gives_a_finite_step(xp):
    for dtype in ("float32", "float64"):
        assert np.all(np.isfinite(numpy_of(exponential(xp.array([1.0, 0.0], dtype)))))


def test_the_tuned_step_of_normalised_sgd():
    sgd = NormalizedSGD.tuned(Smooth.paper(M=2.0, beta=3.0, sigma=0.0, T=50))
    assert sgd.b == 0
    assert math.isclose(sgd.eta, math.sqrt(2.0 / 3.0 / 50))


CLIPPED = ClippedFTRL(D=1.0, b=0.9)
EXPONENTIATED = ExponentiatedConversion(CLIPPED, T=9)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: BallOGD(D=0.0, eta=1.0), "`BallOGD(D=...)` must be finite and positive; got 0.0"),
        (lambda: BallOGD(D=1.0, eta=-1.0), "`BallOGD(eta=...)` must be finite and positive; got -1.0"),
        (lambda: RegularizedOMD(0.0, 1.0, 0.5), "`RegularizedOMD(eta=...)` must be finite and positive; got 0.0"),
        (lambda: RegularizedOMD(1.0, -1.0, 0.5), "`RegularizedOMD(mu=...)` must be finite and nonnegative; got -1.0"),
        (lambda: RegularizedOMD(1.0, 1.0, 1.0), "`RegularizedOMD(b=...)` must be at least 0 and less than 1; got 1.0"),
        (lambda: ClippedFTRL(D=-1.0, b=0.5), "`ClippedFTRL(D=...)` must be finite and positive; got -1.0"),
        (lambda: ClippedFTRL(D=1.0, b=1.5), "`ClippedFTRL(b=...)` must be at least 0 and less than 1; got 1.5"),
        (lambda: NormalizedSGD(eta=0.0), "`NormalizedSGD(eta=...)` must be finite and positive; got 0.0"),
        (lambda: ShiftingConversion(CLIPPED, 11, 10), "`epoch` must be at least 1 and at most T = 10; got 11"),
        (lambda: ShiftingConversion.tuned(CONSTANTS, delta=-1.0), "`delta` must be finite and positive; got -1.0"),
        (lambda: ExponentiatedConversion(CLIPPED, T=0), "`T` must be at least 1; got 0"),
        (lambda: EXPONENTIATED.init(np.zeros(1), tau=10), "`tau` must be a round, from 1 to T = 9; got 10"),
        (lambda: EXPONENTIATED.tau(1.0, 9), "`u` must lie in [0, 1); got 1.0"),
    ],
)
def test_wrong_values_are_sentences(make, sentence):
    sentences.check(make, ValueError, sentence)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ClippedFTRL(D="1", b=0.5), "`ClippedFTRL(D=...)` must be a number; got '1'"),
        (lambda: ShiftingConversion(CLIPPED, 1.5, 10), "`epoch` must be a whole number; got 1.5"),
        (lambda: ShiftingConversion(0.1, 1, 10), "`learner` must have the methods `init`, `play` and `learn`; got 0.1"),
        (
            lambda: ExponentiatedConversion(ClippedFTRL, 10),
            "`learner` must have the methods `init`, `play` and `learn`",
        ),
        (lambda: ExponentiatedConversion(BallOGD(1.0, 1.0), 10), "`learner` must have a discount `b`; got BallOGD("),
    ],
)
def test_wrong_types_are_sentences(make, sentence):
    sentences.check(make, TypeError, sentence)


def test_tuning_needs_rounds_enough():
    few = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=4)
    sentences.check(lambda: RegularizedOMD.tuned(few), ValueError, "`T` must be larger than 4.9", "got 4")
    one = Nonsmooth(L=1.0, M=0.1, sigma=0.0, lam=1.0, T=1)
    sentences.check(
        lambda: ShiftingConversion.tuned(one), ValueError, "`T` must be at least 2 for the tuned epochs; got 1"
    )


@pytest.mark.parametrize("conversion", [ShiftingConversion(CLIPPED, 2, 10), ExponentiatedConversion(CLIPPED, 10)])
def test_update_needs_the_point_and_the_uniform(conversion):
    x = np.zeros(2)
    state, name = conversion.init(x), type(conversion).__name__
    needs = f"`update` of {name} needs"
    coin, point = f"{needs} a uniform number a round, `r`", f"{needs} the point of the sample, `x`"
    sentences.check(lambda: conversion.update(x, state, x), ValueError, coin)
    sentences.check(lambda: conversion.update(x, state, r=0.5), ValueError, point)
    sentences.check(
        lambda: conversion.update(np.zeros(3), state, x, r=0.5), ValueError, "`s` must have the shape of `x`"
    )
