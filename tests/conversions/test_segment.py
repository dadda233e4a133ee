"""Samples at the start, at the end and on the segment, with the linear and the descent loss, against plain loops."""

import numpy as np
import pytest

import reference
from conftest import numpy_of
from o2nc import SegmentConversion, SmoothConversion
from o2nc.oracles import Hedge
from runs import MATRICES, NOISE, ROUNDS, RUNS, SMOOTH, X1, R, experts, gradient, rounds


def literal(run, r, kappa):
    oracle = reference.Hedge([A.tolist() for A in MATRICES], [0.25] * 4, lambda t, E: 0.7)
    sample = lambda t, x: (gradient(np.asarray(x)) + NOISE[t - 1, run]).tolist()
    place = {t: r if r is not None else R[t, run, 0] for t in range(1, ROUNDS + 1)}
    return reference.segment_algorithm(
        oracle, sample, X1[run], SMOOTH.M, SMOOTH.beta, SMOOTH.sigma, ROUNDS, place, kappa
    )


@pytest.mark.parametrize("kappa", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("r", [0.0, 0.5, 1.0, None])
def test_the_segment_conversion_is_the_literal_one(xp, r, kappa):
    conversion = SegmentConversion(Hedge(experts(xp), gamma=0.7), SMOOTH, r=r, kappa=kappa)
    y, state = rounds(xp, conversion, X1, NOISE, conversion.init(xp.array(X1)), R if r is None else None)
    assert float(numpy_of(state.run.clipped).sum()) > 0
    for run in range(RUNS):
        _, points, regret = literal(run, r, kappa)
        np.testing.assert_allclose(y[:-1, run], list(points.values()), rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.run.regret)[run, 0], regret, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_the_start_of_the_segment_is_algorithm_1(xp, kappa):
    one = SmoothConversion(Hedge(experts(xp), gamma=0.7), SMOOTH, kappa=kappa)
    two = SegmentConversion(Hedge(experts(xp), gamma=0.7), SMOOTH, r=0.0, kappa=kappa)
    x, state = rounds(xp, one, X1, NOISE, one.init(xp.array(X1)))
    y, same = rounds(xp, two, X1, NOISE, two.init(xp.array(X1)))
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)
    for name in ("regret", "Q", "N", "W", "clipped"):
        np.testing.assert_allclose(numpy_of(one.sums(state)[name]), numpy_of(two.sums(same)[name]), rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("kwargs", "sentence"),
    [
        ({"r": 2.0}, r"`r` must be None or a number in \[0, 1\]; got 2.0"),
        ({"kappa": -1.0}, "`kappa` must be finite and nonnegative; got -1.0"),
        ({"kappa": 1e6}, "`kappa` must be at most c/a = .*; got 1000000.0"),
    ],
)
def test_wrong_arguments_are_sentences(kwargs, sentence):
    with pytest.raises(ValueError, match=sentence):
        SegmentConversion(Hedge(experts_of_numpy()), SMOOTH, **kwargs)


def test_a_uniform_place_is_needed_exactly_when_it_is_not_fixed():
    x = X1[0]
    for r, given in ((1.0, 0.5), (None, None)):
        conversion = SegmentConversion(Hedge(experts_of_numpy()), SMOOTH, r=r)
        with pytest.raises(ValueError, match="if and only if"):
            conversion.update(x, conversion.init(x), x, r=given)


def experts_of_numpy():
    from conftest import BACKENDS

    return experts(BACKENDS[0])
