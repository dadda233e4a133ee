"""Whatever the past, the tracker and the experts: what `Adaptive` plays is short, predictable, and without NaN."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from o2nc import Smooth, SmoothConversion, minimize
from o2nc.directions import Adam, Function, Mask, Momentum, Muon, Polar, Shampoo, Sign, Soap
from o2nc.learners import AdaHedge, DiscountedHedge, FixedShare, Hedge, OptimisticHedge, ShortMemoryHedge, Squint
from o2nc.losses import DescentLoss, LinearLoss
from o2nc.operators import act
from o2nc.oracles import Adaptive

D = 6
DIRECTIONS = {
    "momentum": Momentum(),
    "adam": Adam(b2=0.9),
    "sign": Sign(),
    "mask": Mask(np.asarray([1.0, 0.0, 1.0, 0.5, 0.0, 1.0])),
    "polar": Polar(shapes=[(2, 2), (2,)], steps=None),
    "newton-schulz": Polar(shapes=[(3, 2)], steps=5),
    "shampoo": Shampoo(shapes=[(2, 2), (2,)]),
    "muon": Muon(shapes=[(2, 2), (2,)]),
    "soap": Soap(shapes=[(3, 2)], every=2),
    "long": Function(lambda m: 1e3 * m[..., ::-1] + 1.0),  # longer than m, and not 0 where m is
}
LEARNERS = {
    "adahedge": AdaHedge(),
    "hedge": Hedge(gamma=2.0),
    "squint": Squint(scale=10.0),
    "discounted": DiscountedHedge(),
    "short": ShortMemoryHedge(),
    "optimistic": OptimisticHedge(),
    "share": FixedShare(),
}

numbers = st.one_of(st.just(0.0), st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda v: abs(v) > 1e-6))
vectors = arrays(np.float64, (D,), elements=numbers)
pasts = st.lists(st.tuples(vectors, vectors), max_size=6)  # (sample, tracker) of each round so far
experts = st.lists(st.sampled_from(sorted(DIRECTIONS)), min_size=1, max_size=4)
learners = st.sampled_from(sorted(LEARNERS))


def after(names, learner, past, kappa=0.0):
    """The oracle and its state after the rounds of the past."""
    oracle = Adaptive([DIRECTIONS[name] for name in names], LEARNERS[learner])
    state = oracle.init(np.zeros(D))
    for s, m in past:
        state = oracle.learn(state, DescentLoss(s, m, 1.0, kappa) if kappa else LinearLoss(s, m, 1.0))
    return oracle, state


def played(oracle, state, m):
    return act(oracle.play(state, m), m)


@settings(max_examples=150, deadline=None)
@given(experts, learners, pasts, vectors, st.sampled_from([0.0, 0.5]))
def test_the_step_is_not_longer_than_the_tracker(names, learner, past, m, kappa):
    d = played(*after(names, learner, past, kappa), m)
    assert np.isfinite(d).all()
    assert np.linalg.norm(d) <= np.linalg.norm(m) * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(experts, learners, pasts)
def test_no_tracker_no_step_and_learning_goes_on(names, learner, past):
    zero = np.zeros(D)
    oracle, state = after(names, learner, [*past, (np.ones(D), zero)])
    np.testing.assert_array_equal(played(oracle, state, zero), zero)
    assert np.isfinite(oracle.weights(state)).all()
    assert np.isfinite(played(oracle, state, np.ones(D))).all()


@settings(max_examples=60, deadline=None)
@given(experts, learners, pasts, vectors, vectors, vectors)
def test_the_sample_of_the_round_does_not_enter_its_step(names, learner, past, x, s, other):
    """Through Algorithm 1: the same past and two samples in round t give the same step in round t."""
    oracle = Adaptive([DIRECTIONS[name] for name in names], LEARNERS[learner])
    conversion = SmoothConversion(oracle, Smooth.paper(M=2.0, beta=1.0, sigma=1.0, T=10), kappa=4.0)
    state = conversion.init(x)
    for sample, _ in past:
        _, state = conversion.update(sample, state)
    np.testing.assert_array_equal(conversion.update(s, state)[0], conversion.update(other, state)[0])


def test_the_sample_enters_the_next_step():
    """The property above can fail: one round later the two samples have made a difference."""
    conversion = SmoothConversion(Adaptive([Momentum(), Adam()]), Smooth.paper(M=2.0, beta=1.0, sigma=1.0, T=10))
    x = np.ones(D)
    states = [conversion.update(s, conversion.init(x))[1] for s in (x, -x)]
    steps = [conversion.update(x, state)[0] for state in states]
    assert np.linalg.norm(steps[0] - steps[1]) > 0


@settings(max_examples=60, deadline=None)
@given(experts, learners, st.floats(0.0, 1e6))
def test_an_a_priori_bound_needs_the_identity_and_a_learner_with_one(names, learner, energy):
    oracle = Adaptive([DIRECTIONS[name] for name in names], LEARNERS[learner])
    bounded = "momentum" in names and learner not in ("discounted", "short", "share")
    assert math.isfinite(oracle.regret_bound(np.zeros(D), energy)) == bounded


@pytest.mark.parametrize(("others", "label"), [([Momentum()], "a-priori"), ([], None)])
def test_the_certificate_of_a_run(others, label):
    """A run always has its a-posteriori certificate; the a-priori one only with the identity among the experts."""
    constants = Smooth.paper(M=2.0 * D, beta=1.0, sigma=0.5, T=50)
    found = minimize(
        lambda x, rng: np.sin(x) + 0.2 * rng.choice([-1.0, 1.0], size=x.shape),
        np.ones((4, D)),
        oracle=Adaptive([Adam(), Sign(), *others]),
        constants=constants,
    )
    assert found.certificate.label == "a-posteriori"
    assert (found.a_priori and found.a_priori.label) == label
