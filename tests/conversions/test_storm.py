"""Variance reduction against plain loops, in `minimize` too, and what it refuses."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import o2nc
import o2nc.optax
import o2nc.torch
from broken import Scale
from conftest import numpy_of
from o2nc.constants import VarianceReduced
from o2nc.conversions import StormConversion
from o2nc.operators import Identity
from o2nc.oracles import Constant, Hedge
from reference import Hedge as LiteralHedge
from reference_storm import storm
from runs import MATRICES, ROUNDS, X1, D, experts

RNG = np.random.default_rng(3)
SAMPLES = 40
SCALES, SHIFTS = RNG.uniform(0.5, 1.5, size=(SAMPLES, D)), RNG.normal(size=(SAMPLES, D))
LOSSES = {"linear": 0.0, "descent": 1.0, "prediction": None}


class Twice(Constant):
    """Plays 2 I, which is no contraction."""

    def play(self, state, m):
        return Scale(2.0)

    def regret_bound(self, x, energy):
        return np.inf  # that of the identity would be contradicted


def sample(k, x):
    """The gradient of the k-th sample of F(x, xi) = sum_i -u_i cos x_i + v_i x_i at x."""
    return SCALES[k] * np.sin(x) + SHIFTS[k]


def known(decreasing=False, T=ROUNDS, **others):
    return VarianceReduced(gap=4.0, beta=1.3, sigma=2.0, T=T, decreasing=decreasing, **others)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("decreasing", [False, True])
def test_it_is_the_literal_one(xp, loss, decreasing):
    c, kappa = known(decreasing, batch=4), LOSSES[loss]
    conversion = StormConversion(Hedge(experts(xp), gamma=0.1), c, kappa)
    update = xp.transform(lambda s, state, again: conversion.update(s, state, again=again))
    for run in range(2):
        literal = lambda k, x: sample(k, np.asarray(x)).tolist()
        oracle = LiteralHedge([A.tolist() for A in MATRICES], [0.25] * 4, lambda t, E: 0.1)
        points, trackers, regret, _ = storm(oracle, literal, X1[run], c.beta, c.a, ROUNDS, 4, kappa, decreasing)
        x = xp.array(X1[run])
        state, again = conversion.init(x), np.mean([sample(k, X1[run]) for k in range(4)], axis=0)
        for t in range(1, ROUNDS + 1):
            np.testing.assert_allclose(numpy_of(x), points[t - 1], rtol=0, atol=1e-12)
            dx, state = update(xp.array(sample(3 + t, numpy_of(x))), state, xp.array(again))
            np.testing.assert_allclose(numpy_of(state.run.m), trackers[t - 1], rtol=0, atol=1e-12)
            x = x + dx
            again = sample(3 + t, numpy_of(x))
        np.testing.assert_allclose(numpy_of(state.run.regret)[0], regret, rtol=0, atol=1e-11)


@pytest.mark.parametrize("decreasing", [False, True])
def test_minimize_takes_each_sample_again_at_the_next_point(decreasing):
    """Which sample a call is of is drawn from rng; the points and the number of calls are those of the plain loop."""
    c, calls = known(decreasing, batch=3), []
    order = []

    def gradient(x, rng):
        calls.append(numpy_of(x))
        u = rng.random(2)  # two numbers, and then some that depend on them: the generator moves by any amount
        rng.random(int(10 * u[1]))
        k = int(u[0] * 2**40)
        if k not in order:
            order.append(k)
        scale, shift = np.random.default_rng(k).uniform(0.5, 1.5, size=(2, D))
        return scale * np.sin(x) + shift

    result = o2nc.minimize(gradient, X1[0], StormConversion(Constant(), c), record=True, seed=5)

    def literal(k, x):
        scale, shift = np.random.default_rng(order[k]).uniform(0.5, 1.5, size=(2, D))
        return (scale * np.sin(x) + shift).tolist()

    oracle = LiteralHedge([np.eye(D).tolist()], [1.0], lambda t, E: 0.1)
    points, _, _, taken = storm(oracle, literal, X1[0], c.beta, c.a, ROUNDS, 3, 0.0, decreasing)
    np.testing.assert_allclose(result.trajectory, points[:-1], rtol=0, atol=1e-11)
    assert len(order) == 3 + ROUNDS
    assert len(calls) == taken + 1  # and the first sample once more, to see that it is the same


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_minimize_is_the_same_in_every_library(library):
    array = {"torch": lambda v: torch.asarray(np.array(v)), "jax": jnp.asarray}[library]
    noisy = lambda x, rng: np.sin(numpy_of(x)) * rng.uniform(0.5, 1.5, size=x.shape)
    one = o2nc.minimize(noisy, X1, StormConversion(Constant(), known()))
    two = o2nc.minimize(lambda x, rng: array(noisy(x, rng)), array(X1), StormConversion(Constant(), known()))
    np.testing.assert_allclose(one.last, numpy_of(two.last), rtol=0, atol=1e-12)


def test_the_certificates_of_a_run():
    c = VarianceReduced(gap=4.0, beta=1.2, sigma=0.5, T=200)
    noisy = lambda x, rng: np.sin(x) + 0.5 * np.sin(x + 2 * np.pi * rng.random(x.shape)) / np.sqrt(2)
    result = o2nc.minimize(noisy, np.full((8, 2), 1.5), StormConversion(Constant(), c), record=True)
    measured = float((np.sin(result.trajectory) ** 2).sum(-1).mean())
    assert result.certificate.label == "a-posteriori"
    assert result.a_priori.label == "a-priori"
    assert result.a_priori.bound == pytest.approx(result.certificate.bound)  # the regret of the identity is 0
    assert measured < result.a_priori.bound
    assert "no tight certificate" in result.reasons["tight"]
    oracle = Hedge([Identity(), Identity()])
    why = "the oracle states no regret bound that holds without a bound on the trackers"
    assert StormConversion(oracle, c).a_priori(np.ones(2)) == why


@pytest.mark.filterwarnings("ignore:There is no certificate")
def test_what_a_run_contradicts():
    noisy = lambda x, rng: np.sin(x) + rng.choice([-1.0, 1.0], size=x.shape)
    small = VarianceReduced(gap=4.0, beta=1.0, sigma=0.5, T=20)
    result = o2nc.minimize(noisy, np.full((64, 2), 1.5), StormConversion(Constant(), small))
    assert "sigma = 0.5 or beta = 1 is too small" in result.reason
    twice = Twice()
    calm = lambda x, rng: np.sin(x)
    assert "norm above 1" in o2nc.minimize(calm, np.ones(2), StormConversion(twice, small)).reason
    assert o2nc.minimize(calm, np.ones(2), StormConversion(twice, small, None)).certificate is not None


def test_randomness_from_elsewhere_is_refused():
    other = np.random.default_rng(0)
    with pytest.raises(ValueError, match="`gradient` must draw its randomness from `rng` only"):
        o2nc.minimize(lambda x, rng: x + other.normal(size=x.shape), np.ones(2), StormConversion(Constant(), known()))


def test_a_batch_that_is_not_finite_is_refused():
    broken = lambda x, rng: x * np.inf
    with pytest.raises(o2nc.NonfiniteGradientError, match="round 1"):
        o2nc.minimize(broken, np.ones(2), StormConversion(Constant(), known()))


def test_front_ends_without_a_second_look_refuse_it():
    conversion = StormConversion(Constant(), known())
    sentence = r"StormConversion needs the sample of the last round once more, .* \(`again`\), which `%s` cannot give"
    with pytest.raises(ValueError, match=sentence % "Converted"):
        o2nc.torch.Converted([torch.nn.Parameter(torch.ones(2))], conversion)
    with pytest.raises(ValueError, match=sentence % "convert"):
        o2nc.optax.convert(conversion)
    with pytest.raises(ValueError, match=r"`update` of StormConversion needs .* `again`; got None"):
        conversion.update(np.ones(2), conversion.init(np.ones(2)))


def test_the_constants():
    c = known(T=10**6)
    assert c.a == pytest.approx((4 * 1.3 / 4 / 10**6) ** (2 / 3))
    assert c.batch == int(np.ceil(1 / (2 * c.a**2 * 10**6)))
    assert known(decreasing=True).batch == 1
    assert known(batch=7).batch == 7
    assert known(a=0.5).a == 0.5
    assert VarianceReduced(gap=1.0, beta=2.0, sigma=0.0, T=5).eta == 0.5  # no noise: gradient descent


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: known(a=1.5), r"`a` must lie in \(0, 1\]; got 1.5"),
        (lambda: known(batch=0), "`batch` must be at least 1; got 0"),
        (lambda: known(T=0), "`T` must be at least 1; got 0"),
        (lambda: VarianceReduced(0.0, 1.0, 1.0, 5), "`gap` must be finite and positive; got 0.0"),
        (lambda: StormConversion(Constant(), known(), 1e9), r"`kappa` must be at most 1/\(beta eta\) = .*; got 100"),
        (lambda: StormConversion(Constant(), known(), -1.0), "`kappa` must be finite and nonnegative; got -1.0"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_sentences(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_wrong_types_are_sentences():
    with pytest.raises(TypeError, match=r"`constants` must be VarianceReduced\(gap, beta, sigma, T\); got 3"):
        StormConversion(Constant(), 3)
    with pytest.raises(TypeError, match="`decreasing` must be True or False; got 2"):
        known(decreasing=2)
