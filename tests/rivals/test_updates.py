"""Online learning of updates: the literal loops, Adam as discounted FTRL, schedule-free SGD as a conversion."""

import math

import numpy as np
import pytest
import torch

import reference_rivals
import reference_updates as literal
import sentences
from conftest import numpy_of
from o2nc.rivals import Adam, BallOGD, ClippedFTRL, DiscountedFTRL, RegularizedOMD, ScheduleFreeSGD, UpdatesConversion
from runs import NOISE, ROUNDS, RUNS, X1, D, R, gradient, rounds

TAU = np.asarray([[1], [7], [15]])
CASES = {  # ours, and the literal learner
    "uniform place": (
        UpdatesConversion(RegularizedOMD(0.2, 0.7, 0.8), ROUNDS),
        lambda: reference_rivals.CompositeOMD(D, 0.2, 0.7, 0.8),
    ),
    "ftrl": (
        UpdatesConversion(DiscountedFTRL(0.1, 0.8, D=0.2), ROUNDS, r=1.5),
        lambda: literal.CoordinateFTRL(D, 0.1, 0.2),
    ),
    "adam": (
        UpdatesConversion.adam(eta=0.1, b=0.8, T=ROUNDS),
        lambda: literal.CoordinateFTRL(D, 0.1 * 0.2 / math.sqrt(1 - 0.64)),
    ),
}


def sample_of(run):
    return lambda n, x: (gradient(np.asarray(x)) + NOISE[n - 1, run]).tolist()


@pytest.mark.parametrize("name", CASES)
def test_the_conversion_is_the_literal_one(xp, name):
    conversion, learner = CASES[name]
    state = conversion.init(xp.array(X1), tau=xp.array(TAU, "int32"))
    path, state = rounds(xp, conversion, X1, NOISE, state, R)
    for run in range(RUNS):
        r = R[:, run, 0] if conversion.r is None else [conversion.r] * (ROUNDS + 2)
        y, averages = literal.updates(learner(), sample_of(run), X1[run], conversion.learner.b, ROUNDS, r)
        np.testing.assert_allclose(path[:-1, run], y, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.average.output)[run], averages[TAU[run, 0] - 1], rtol=0, atol=1e-12)


def points(conversion, x, noise, field=np.sin):
    """The points of the samples and the last state."""
    state, found = conversion.init(x), []
    for xi in noise:
        found.append(x)
        dx, state = conversion.update(field(x) + xi, state, x)
        x = x + dx
    return np.stack([*found, x]), state


LONG = np.random.default_rng(3).normal(size=(200, 3, 5))
START = np.random.default_rng(4).normal(size=(3, 5))


def test_adam_is_discounted_ftrl():
    """Adam with b2 = b1^2, without bias correction; with it, if the step size undoes it; and torch's Adam."""
    eta, b = 0.02, 0.9
    ours, _ = points(UpdatesConversion.adam(eta, b, T=200), START, LONG)
    x = point = torch.tensor(START, requires_grad=True)
    m, v, plain = np.zeros_like(START), np.zeros_like(START), START
    optimizer = torch.optim.Adam([point], lr=eta, betas=(b, b**2), eps=1e-300)
    for t, xi in enumerate(LONG, start=1):
        np.testing.assert_allclose(ours[t - 1], plain, rtol=0, atol=1e-12)
        np.testing.assert_allclose(ours[t - 1], x.detach().numpy(), rtol=0, atol=1e-12)
        s = np.sin(plain) + xi
        m, v = b * m + (1 - b) * s, b**2 * v + (1 - b**2) * s**2
        plain = plain - eta * m / np.sqrt(v)
        point.grad = torch.sin(point.detach()) + torch.tensor(xi)
        optimizer.param_groups[0]["lr"] = eta * (1 - b**t) / math.sqrt(1 - b ** (2 * t))
        optimizer.step()
    corrected, _ = points(Adam(eta, b, b**2, epsilon=1e-300), START, LONG)
    assert np.max(np.abs(corrected - ours)) > 0.1  # the correction is not nothing
    factors = [(1 - b**t) / math.sqrt(1 - b ** (2 * t)) for t in range(1, 201)]
    assert factors[0] == pytest.approx((1 - b) / math.sqrt(1 - b**2))
    assert factors[-1] == pytest.approx(1)  # so they differ in the first rounds only


def test_the_regret_of_clipped_coordinates():
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(300, 4)) * 10 ** rng.uniform(-3, 3, size=(300, 1)) + [1.0, 0.0, -1.0, 0.5]
    samples[:3] = 0.0
    learner = DiscountedFTRL(alpha=0.3, b=0.8, D=0.3)
    state, regret, energy, total = learner.init(samples[0]), np.zeros(4), np.zeros(4), np.zeros(4)
    closest = 0.0
    for s in samples:
        delta = learner.play(state)
        assert np.all(np.abs(delta) <= 0.3 * (1 + 1e-12))
        regret, total, energy = 0.8 * regret + s * delta, 0.8 * total + s, 0.64 * energy + s**2
        bound = 4 * 0.3 * np.sum(np.sqrt(energy))
        worst = np.sum(regret + 0.3 * np.abs(total))  # against the best corner of the box
        assert worst <= bound * (1 + 1e-12)
        closest = max(closest, worst / bound if bound else 0.0)
        state = learner.learn(state, s)
    assert closest > 0.2
    alone = ClippedFTRL(D=0.3, b=0.8)
    one, each = alone.init(np.zeros(1)), learner.init(np.zeros(1))
    for s in samples[:, :1]:
        np.testing.assert_allclose(alone.play(one), learner.play(each), rtol=1e-12, atol=1e-300)
        one, each = alone.learn(one, s), learner.learn(each, s)


@pytest.mark.parametrize("c", [None, 0.2])
def test_schedule_free_sgd_is_the_literal_one(xp, c):
    sgd = ScheduleFreeSGD(eta=0.1, kappa=0.7, c=c)
    path, state = rounds(xp, sgd, X1, NOISE, sgd.init(xp.array(X1)))
    for run in range(RUNS):
        share = (lambda t: 1 / t) if c is None else lambda t: c
        y, x = literal.schedule_free(sample_of(run), X1[run], 0.1, 0.7, share, ROUNDS)
        np.testing.assert_allclose(path[:-1, run], y, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.x)[run], x[-1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kappa", [0.3, 0.9])
@pytest.mark.parametrize("c", [None, 0.1])
def test_schedule_free_sgd_is_that_of_its_authors(kappa, c):
    """The package has c = 1/t; a constant c is had from it by setting the sum of its weights before every step."""
    schedulefree = pytest.importorskip("schedulefree")
    sgd = ScheduleFreeSGD(eta=0.05, kappa=kappa, c=c)
    y, state = points(sgd, START, LONG)
    point = torch.tensor(START, requires_grad=True)
    optimizer = schedulefree.SGDScheduleFree([point], lr=0.05, momentum=kappa)
    optimizer.train()
    (group,) = optimizer.param_groups
    for t, xi in enumerate(LONG):
        np.testing.assert_allclose(y[t], point.detach().numpy(), rtol=0, atol=1e-12)
        point.grad = torch.sin(point.detach()) + torch.tensor(xi)
        if c is not None:
            group["weight_sum"] = 0.05 ** group["weight_lr_power"] * (1 / c - 1)
        optimizer.step()
    optimizer.eval()
    np.testing.assert_allclose(state.x, point.detach().numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("kappa", "c"), [(0.9, 0.1), (0.0, 0.5), (1.0, 0.02)])
def test_schedule_free_sgd_is_a_conversion(kappa, c):
    """With a constant c its points are those of mirror descent on discounted losses with the sample beyond the step."""
    conversion = UpdatesConversion.schedule_free(eta=0.05, kappa=kappa, c=c, T=200)
    np.testing.assert_allclose(
        points(conversion, START, LONG)[0], points(ScheduleFreeSGD(0.05, kappa, c), START, LONG)[0], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("r", [0.0, 0.5, 1.0, 1.9])
def test_the_losses_bound_what_a_smooth_objective_falls(r):
    """f(x_t) - f(x_{t-1}) <= <grad f(y_t), Delta_t> + (r^2 + (1 - r)^2) |Delta_t|^2 / 2 for f = sum 1 - cos."""
    conversion = UpdatesConversion(RegularizedOMD(0.3, 0.0, 0.9), T=200, r=r)
    x, y, state = START, START, conversion.init(START)
    for xi in LONG:
        delta = conversion.learner.play(state.learner)
        np.testing.assert_allclose(y, x + r * delta, rtol=0, atol=1e-12)
        fall = np.sum(np.cos(x) - np.cos(x + delta), axis=-1)
        bound = np.sum(np.sin(y) * delta, axis=-1) + (r**2 + (1 - r) ** 2) / 2 * np.sum(delta**2, axis=-1)
        assert np.all(fall <= bound + 1e-12)
        x = x + delta
        dy, state = conversion.update(np.sin(y) + xi, state, y)
        y = y + dy


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: DiscountedFTRL(0.0, 0.5), "`DiscountedFTRL(alpha=...)` must be finite and positive; got 0.0"),
        (lambda: DiscountedFTRL(1.0, 1.0), "`DiscountedFTRL(b=...)` must be at least 0 and less than 1; got 1.0"),
        (lambda: DiscountedFTRL(1.0, 0.5, D=0.0), "`DiscountedFTRL(D=...)` must be positive, or infinite; got 0.0"),
        (lambda: ScheduleFreeSGD(0.0), "`ScheduleFreeSGD(eta=...)` must be finite and positive; got 0.0"),
        (lambda: ScheduleFreeSGD(0.1, kappa=1.5), "`ScheduleFreeSGD(kappa=...)` must be at least 0 and at most 1"),
        (lambda: ScheduleFreeSGD(0.1, c=-1.0), "`ScheduleFreeSGD(c=...)` must be at least 0 and at most 1; got -1.0"),
        (
            lambda: UpdatesConversion(RegularizedOMD(1.0, 0.0, 0.5), 9, r=-1.0),
            "`UpdatesConversion(r=...)` must be finite and nonnegative; got -1.0",
        ),
    ],
)
def test_wrong_values_are_sentences(make, sentence):
    sentences.check(make, ValueError, sentence)


def test_a_learner_without_discount_is_refused():
    sentences.check(
        lambda: UpdatesConversion(BallOGD(1.0, 1.0), 10), TypeError, "`learner` must have a discount `b`; got BallOGD("
    )
