"""What `minimize` and own loops say of replications, of Algorithm 2, and of bounds that say nothing."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import o2nc
from conftest import numpy_of
from o2nc import Blocks, Nonsmooth, Smooth, SmoothConversion
from o2nc.certificates import tight_nonsmooth
from o2nc.conversions import NonsmoothConversion, PredictionConversion, SegmentConversion
from o2nc.conversions.base import Samples
from o2nc.noise import SubGaussian
from o2nc.operators import Identity
from o2nc.oracles import Constant, Hedge
from o2nc.rivals import SGD

SMOOTH = Smooth(gap=4.0, beta=1.0, sigma=0.5, T=40)
NONSMOOTH = Nonsmooth(L=1.8, M=6.0, sigma=0.5, lam=0.1, T=60)
LIBRARIES = {"numpy": np.asarray, "torch": lambda v: torch.asarray(np.array(v)), "jax": jnp.asarray}


def shared(x, rng):
    """One noise for all rows: not independent."""
    return np.sin(x) + 0.2 * rng.normal(size=x.shape[-1])


def own(x, rng):
    return np.sin(x) + 0.2 * rng.normal(size=x.shape)


class Longer:
    """An operator that is no contraction."""

    def __matmul__(self, v):
        return 1.5 * v


@pytest.mark.filterwarnings("ignore:There is no certificate")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("make", [SmoothConversion, PredictionConversion, SegmentConversion])
def test_replications_with_one_noise_get_no_interval(make, dtype):
    """With less noise than was declared, in few rounds, it is not proved that it is one: a note says what is seen."""
    x1, conversion = np.full((8, 3), 1.5, dtype=dtype), make(Constant(), SMOOTH)
    result = o2nc.minimize(lambda x, rng: shared(x, rng).astype(dtype), x1, conversion)
    if result.certificate is None:
        assert "the replications are not independent" in result.reason
        assert result.tight is result.a_priori is None
    found = conversion.certificate(result.state)  # of an own loop too
    assert found.interval is None
    assert "all 8 replications are equal though sigma = 0.5" in found.note
    assert o2nc.minimize(lambda x, rng: own(x, rng).astype(dtype), x1, conversion).certificate.note == ""
    assert o2nc.minimize(lambda x, rng: shared(x, rng).astype(dtype), x1[:1], conversion).certificate is not None


def test_without_noise_replications_may_be_equal():
    constants = Smooth(gap=4.0, beta=1.0, sigma=0.0, T=40)
    result = o2nc.minimize(lambda x, rng: np.sin(x), np.full((8, 3), 1.5), oracle=Constant(), constants=constants)
    low, high = result.certificate.interval
    assert low == high == result.certificate.bound


def test_first_samples_that_are_equal_are_noted():
    """Coins of their own make replications differ that share their noise; so does noise that begins late."""
    quiet = lambda x, rng: np.sin(x) + 0.05 * rng.normal(size=x.shape[-1])
    for conversion in (SegmentConversion(Constant(), SMOOTH, r=None), NonsmoothConversion(Constant(), NONSMOOTH)):
        result = o2nc.minimize(quiet, np.full((8, 3), 1.5), conversion)
        assert "equal in all 8 replications though sigma = 0.5" in result.tight.note
        assert o2nc.minimize(own, np.full((8, 3), 1.5), conversion).tight.note == ""


def test_rare_noise_may_be_absent_from_the_first_samples():
    gradient = lambda x, rng: np.sin(x) + 2.0 * (rng.random(x.shape) < 0.02) * rng.choice([-1.0, 1.0], size=x.shape)
    result = o2nc.minimize(gradient, np.full((3, 2), 1.5), oracle=Constant(), constants=SMOOTH, seed=2)
    assert result.tight.interval[0] < result.tight.bound < result.tight.interval[1]
    assert "equal in all 3 replications" in result.tight.note


@pytest.mark.parametrize("make", [SmoothConversion, SegmentConversion])
def test_own_loops_are_told_of_operators_that_are_no_contractions(make):
    conversion, x = make(Constant(Longer()), SMOOTH), np.full(3, 1.5)
    state = conversion.init(x)
    for _ in range(SMOOTH.T):
        dx, state = conversion.update(np.sin(x), state)
        x = x + dx
    why = f"the oracle played an operator of norm above 1 in {SMOOTH.T - 1} rounds"
    assert conversion.certificate(state) == why
    assert conversion.tight(state, Samples([3.0], [], [100.0])) == why


def algorithm_2(gradient, tau=None, oracle=None):
    conversion, rng, y = NonsmoothConversion(oracle or Constant(), NONSMOOTH), np.random.default_rng(0), np.ones((4, 2))
    state = conversion.init(y, tau=tau)
    for _ in range(NONSMOOTH.T):
        dy, state = conversion.update(gradient(y, rng), state, y, r=rng.random((4, 1)))
        y = y + dy
    return conversion, state


def test_an_output_whose_round_was_not_drawn_is_not_certified():
    conversion, state = algorithm_2(own)
    samples = Samples([1.0] * 4, [], [1.0] * 4)
    why = "the round tau of the output was not drawn"
    assert conversion.certificate(state) == conversion.tight(state, samples) == why
    conversion, state = algorithm_2(own, tau=50)
    assert conversion.certificate(state).replications == conversion.tight(state, samples).replications == 4


def weights_of_the_output(c):
    """Pr(tau = t) and c_t, written out."""
    ct = 1 - (1 - c.a) ** np.arange(1, c.T + 1)
    law = ct / c.T
    law[-1] = 1 - law[:-1].sum()
    return law, ct


@pytest.mark.parametrize("batch", [(), (4,)], ids=["one", "batch"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_tight_certificate_of_algorithm_2(library, batch):
    """Tracker and spread from the recorded points and samples, by their definitions."""
    make, c, drawn = LIBRARIES[library], NONSMOOTH, []

    def gradient(x, rng):
        drawn.append(own(numpy_of(x), rng))
        return make(drawn[-1])

    result = o2nc.minimize(
        gradient, make(np.full((*batch, 3), 1.5)), oracle=Hedge([Identity(), Identity()]), constants=c, record=True
    )
    y, (law, ct), m = numpy_of(result.trajectory), weights_of_the_output(c), np.zeros((*batch, 3))
    tracker, spread = np.zeros(batch), np.zeros(batch)
    for t, s in enumerate(drawn, start=1):
        m = (1 - c.a) * m + c.a * s
        m = m * np.minimum(1, c.L / np.linalg.norm(m, axis=-1, keepdims=True))
        tracker = tracker + law[t - 1] / ct[t - 1] * np.linalg.norm(m, axis=-1)
        q = c.a * (1 - c.a) ** np.arange(t - 1, -1, -1) / ct[t - 1]
        away = y[:t] - np.tensordot(q, y[:t], 1)
        spread = spread + law[t - 1] * np.tensordot(q, (away**2).sum(-1), 1)
    by_hand = tight_nonsmooth(c, np.atleast_1d(tracker), np.atleast_1d(spread))
    assert result.tight.terms == pytest.approx(by_hand.terms, rel=1e-9)
    assert result.tight.interval == (by_hand.interval and pytest.approx(by_hand.interval, rel=1e-9))
    assert result.tight.label == ("a-posteriori" if batch else "plug-in")
    assert "tight" not in result.reasons


def test_whatever_is_missing_has_a_reason():
    for conversion in (SGD(eta=0.1), o2nc.conversions.UntunedConversion(Constant())):
        result = o2nc.minimize(own, np.full(3, 1.5), conversion, rounds=5)
        assert set(result.reasons) == {"certificate", "a_priori", "tight"}
        assert all(result.reasons.values())


def test_a_vacuous_bound_is_called_vacuous():
    paper = Smooth.paper(M=6.0, beta=1.0, sigma=0.5, T=40)
    result = o2nc.minimize(own, np.full(3, 1.5), oracle=Constant(), constants=paper)
    assert "vacuous: every point has at most 6" in str(result.certificate)
    assert not result.tight.vacuous
    sharp = Smooth(gap=2.8, M=6.0, beta=1.0, sigma=0.5, T=40)
    result = o2nc.minimize(own, np.full(3, 1.5), oracle=Constant(), constants=sharp)
    assert result.certificate.trivial == result.a_priori.trivial == result.tight.trivial == 6.0
    assert not result.certificate.vacuous


@pytest.mark.parametrize("batch", [(), (4,)], ids=["one", "batch"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_trajectory_is_one_array_time_first(library, batch):
    make, seen = LIBRARIES[library], []

    def gradient(x, rng):
        seen.append(numpy_of(x))
        return make(np.sin(seen[-1]) + 0.2 * rng.normal(size=seen[-1].shape))

    x1 = make(np.full((*batch, 3), 1.5))
    result = o2nc.minimize(gradient, x1, oracle=Constant(), constants=SMOOTH, record=True)
    assert type(result.trajectory) is type(x1)
    assert result.trajectory.dtype == x1.dtype
    np.testing.assert_array_equal(numpy_of(result.trajectory), np.stack(seen))


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_trajectory_of_blocks_is_blocks_of_such_arrays(library):
    make = LIBRARIES[library]
    gradient = lambda x, rng: Blocks(tuple(make(np.sin(numpy_of(a))) for a in x.arrays))
    x1 = Blocks((make(np.ones((2, 2))), make(np.asarray(1.0))))
    result = o2nc.minimize(gradient, x1, oracle=Constant(), constants=SMOOTH, record=True)
    assert isinstance(result.trajectory, Blocks)
    assert [tuple(a.shape) for a in result.trajectory.arrays] == [(SMOOTH.T, 2, 2), (SMOOTH.T,)]
    assert all(type(a) is type(b) for a, b in zip(result.trajectory.arrays, x1.arrays, strict=True))
    for points, a in zip(result.trajectory.arrays, x1.arrays, strict=True):
        np.testing.assert_array_equal(numpy_of(points[0]), numpy_of(a))


@pytest.mark.parametrize("wrong", [{"gap": 1e-3}, {"beta": 0.01}])
def test_a_gap_or_beta_that_the_samples_contradict_gets_no_certificate(wrong):
    true = {"gap": 4.3, "beta": 1.0, "sigma": 0.1 * 3**0.5, "T": 500}
    gradient = lambda x, rng: np.sin(x) + 0.1 * rng.normal(size=x.shape)
    assert o2nc.minimize(gradient, np.full((16, 3), 2.0), oracle=Constant(), constants=Smooth(**true)).reason == ""
    with pytest.warns(UserWarning, match="too small"):
        found = o2nc.minimize(gradient, np.full((16, 3), 2.0), oracle=Constant(), constants=Smooth(**true | wrong))
    assert found.certificate is None


def test_a_bound_of_one_run_below_0_is_no_certificate():
    constants = Smooth.one_run(gap=4.3, beta=1.0, noise=SubGaussian(p=0.02, d=3), T=5000)
    gradient = lambda x, rng: np.sin(x) + 0.1 * rng.normal(size=x.shape)  # five times as large
    with pytest.warns(UserWarning, match="too small"):
        found = o2nc.minimize(gradient, np.full(3, 2.0), oracle=Constant(), constants=constants)
    assert found.certificate is None
    negative = SmoothConversion(Constant(), constants).negative(found.state)
    assert "negative" in negative
    assert "the declared noise, beta or gap is too small" in negative


def test_a_tight_bound_above_the_certificate_is_noted():
    """It does not use the gap, so a gap that is too small is the likely reason."""
    draw = lambda x, rng: np.sin(x) + 0.3 * rng.choice([-1.0, 1.0], size=x.shape)
    x1, known = np.full((16, 1), 2.0), {"beta": 1.0, "sigma": 0.3, "T": 300}
    for gap, is_noted in ((1.5, False), (0.02, True)):
        constants = o2nc.Smooth(gap=gap, **known)
        result = o2nc.minimize(draw, x1, o2nc.SmoothConversion(o2nc.oracles.OGD(o2nc.sets.Box(), eta=0.1), constants))
        if result.certificate is not None:
            assert ("clearly above" in result.certificate.note) == is_noted
        else:
            assert is_noted
