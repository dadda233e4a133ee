"""Constants that are true are not contradicted, and false ones are: the tests of `o2nc.certificates.declared`."""

import math

import numpy as np
import pytest

import o2nc
from honest import NOISE, sampler
from o2nc import Blocks, Nonsmooth, Smooth, SmoothConversion
from o2nc.certificates.declared import DELTA
from o2nc.constants import VarianceReduced
from o2nc.conversions import (
    DoublingConversion,
    NonsmoothConversion,
    PredictionConversion,
    SegmentConversion,
    StormConversion,
)
from o2nc.noise import Bounded, HeavyTailed
from o2nc.operators import Identity
from o2nc.oracles import AdaHedge, Constant, Hedge
from o2nc.states import rebuild

CHANCE = 1e-3  # that a test of a rate fails though the rate is DELTA


def most_alarms(runs):
    """The number of false alarms that has probability at most CHANCE to be exceeded, each being one of DELTA."""
    total, k = 0.0, 0
    while True:
        log = math.lgamma(runs + 1) - math.lgamma(k + 1) - math.lgamma(runs - k + 1)
        total += math.exp(log + k * math.log(DELTA) + (runs - k) * math.log1p(-DELTA))
        if total >= 1 - CHANCE:
            return k
        k += 1


def objections(conversion, kind, sigma, n, runs, T, seed=0, x1=1.0):
    """Of ``runs`` honest runs with n replications: all replications of all runs are one batch, and judged in parts."""
    gradient, rng, coins = sampler(kind, sigma), np.random.default_rng(seed), np.random.default_rng(seed + 1)
    x = np.full((runs * n, 1), x1)
    state = conversion.init(x, **({"tau": T} if "tau" in conversion.needs else {}))
    for _ in range(T):
        given = {"r": coins.random((runs * n, 1))} if "r" in conversion.needs else {}
        dx, state = conversion.update(gradient(x, rng), state, x, **given)
        x = x + dx
    return [why for k in range(runs) if (why := conversion.objection(part(state, slice(k * n, (k + 1) * n))))]


def part(state, rows):
    """The state of some rows of a batch; what all share has one row."""
    values = (v[rows] if v.ndim > 1 else v for v in leaves(state))
    return rebuild(state, values)


def leaves(state):
    for value in state:
        yield from leaves(value) if isinstance(value, tuple) else (value,)


CONVERSIONS = {
    "smooth": lambda sigma, T: SmoothConversion(Constant(), Smooth(gap=0.5, beta=1.0, sigma=sigma, T=T)),
    "prediction": lambda sigma, T: PredictionConversion(Constant(), Smooth(gap=0.5, beta=1.0, sigma=sigma, T=T)),
    "segment": lambda sigma, T: SegmentConversion(Constant(), Smooth(gap=0.5, beta=1.0, sigma=sigma, T=T), r=None),
    "hedge": lambda sigma, T: SmoothConversion(
        AdaHedge([Identity(), o2nc.operators.Diagonal(np.asarray([0.5]))]),
        Smooth(gap=0.5, M=2.0, beta=1.0, sigma=sigma, T=T),
        0.5,
    ),
    "nonsmooth": lambda sigma, T: NonsmoothConversion(
        Constant(), Nonsmooth(L=1.0, M=2.0, sigma=sigma, lam=0.1, T=T, a=0.1, eta=0.05, rho=0.1)
    ),
}


@pytest.mark.parametrize("n", [1, 8])
@pytest.mark.parametrize("kind", NOISE)
def test_true_constants_are_not_refused(kind, n):
    for name in ("smooth", "segment"):
        assert len(objections(CONVERSIONS[name](0.5, 60), kind, 0.5, n, runs=200, T=60)) <= most_alarms(200)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 4, 8, 32])
@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("name", CONVERSIONS)
def test_the_rate_of_false_alarms(name, kind, n):
    assert len(objections(CONVERSIONS[name](0.5, 200), kind, 0.5, n, runs=2000, T=200, seed=n)) <= most_alarms(2000)


@pytest.mark.parametrize("kind", ["signs", "rare"])
@pytest.mark.parametrize("n", [4, 8, 16, 32])
def test_runs_that_student_refused(kind, n):
    """One coordinate, noise of two values, the same x_1: the interval of a variance had width 0."""
    conversion = SmoothConversion(Constant(), Smooth(gap=0.5, beta=1.0, sigma=0.5, T=200))
    for seed in range(10):
        found = o2nc.minimize(sampler(kind, 0.5), np.ones((n, 1)), conversion, seed=seed)
        assert found.certificate is not None, found.reason


def growing(x, rng):
    """Noise that is 0 at the start, 1."""
    return np.sin(x) + np.abs(x - 1) * rng.choice([-1.0, 1.0], size=x.shape)


def loud(x, rng):
    return np.sign(x) + 30.0 * rng.choice([-1.0, 1.0], size=x.shape)


GAP = {"gap": 1.0, "beta": 1.0, "sigma": 0.05, "T": 500}
FALSE = {
    "smooth": (growing, SmoothConversion(Constant(), Smooth(**GAP))),
    "hedge": (growing, SmoothConversion(Hedge([Identity(), Identity()]), Smooth(**GAP, M=2.0))),
    "segment": (growing, SegmentConversion(Constant(), Smooth(**GAP, c=3.0))),
    "uniform": (growing, SegmentConversion(Constant(), Smooth(**GAP, c=3.0), r=None)),
    "prediction": (growing, PredictionConversion(Constant(), Smooth(**GAP))),
    "storm": (growing, StormConversion(Constant(), VarianceReduced(**GAP))),
    "doubling": (growing, DoublingConversion(Constant(), Smooth.paper(M=2.0, beta=1.0, sigma=0.05, T=250))),
    "one run": (growing, SmoothConversion(Constant(), Smooth.one_run(gap=1.0, beta=1.0, noise=Bounded(0.05), T=500))),
    "nonsmooth": (
        loud, NonsmoothConversion(Constant(), Nonsmooth(L=1.0, M=4.0, sigma=0.01, lam=0.1, T=500)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 8])
@pytest.mark.parametrize("name", FALSE)
def test_noise_that_is_larger_than_declared_is_found(name, n):
    gradient, conversion = FALSE[name]
    rounds = 500 if conversion.horizon is None else None
    for seed in range(10):
        with pytest.warns(UserWarning, match=r"too small|not independent"):
            found = o2nc.minimize(gradient, np.ones((n, 1)), conversion, seed=seed, rounds=rounds)
        assert found.certificate is found.a_priori is found.tight is None
        assert len(set(found.reasons.values())) == 1  # what contradicts one certificate withdraws all


@pytest.mark.parametrize("n", [1, 2, 8])
@pytest.mark.parametrize("wrong", [{"gap": 0.02}, {"beta": 0.1}], ids=["gap", "beta"])
@pytest.mark.parametrize("make", [SmoothConversion, PredictionConversion, SegmentConversion, StormConversion])
def test_a_false_gap_or_beta_is_found(make, wrong, n):
    known = {"gap": 2.0, "beta": 1.0, "sigma": 0.05, "T": 2000} | wrong
    constants = VarianceReduced(**known) if make is StormConversion else Smooth(**known)
    gradient = lambda x, rng: np.sin(x) + 0.05 * rng.choice([-1.0, 1.0], size=x.shape)
    for seed in range(3):
        with pytest.warns(UserWarning, match="too small"):
            found = o2nc.minimize(gradient, np.full((n, 1), 2.9), make(Constant(), constants), seed=seed)
        assert found.certificate is None


def test_exact_gradients_are_held_against_beta_to_rounding():
    for dtype in ("float32", "float64"):
        x1, exact = np.linspace(1.0, 2.9, 8, dtype=dtype), lambda x, rng: np.sin(x)
        known = {"gap": 16.0, "sigma": 0.0, "T": 300}
        found = o2nc.minimize(exact, x1, oracle=Constant(), constants=Smooth(**known, beta=1.0))
        assert found.certificate is not None, found.reason
        with pytest.warns(UserWarning, match="more than rounding, where sigma = 0"):
            found = o2nc.minimize(exact, x1, oracle=Constant(), constants=Smooth(**known, beta=0.9))


def test_clipped_samples_may_be_biased():
    noise = HeavyTailed(v=1.0, L=1.0, R=4.0)
    conversion = SmoothConversion(Constant(), Smooth.one_run(gap=2.0, beta=1.0, noise=noise, T=300))
    assert conversion.claims.apart == 2 * noise.bias
    found = [o2nc.minimize(sampler("student", 1.0), np.ones(1), conversion, seed=seed).reason for seed in range(20)]
    assert found == [""] * 20


def shared(x, rng):
    return np.sin(x) + 0.5 * rng.normal(size=x.shape[-1])


@pytest.mark.parametrize("n", [4, 8])
@pytest.mark.parametrize("make", [SmoothConversion, PredictionConversion, SegmentConversion])
def test_one_noise_for_all_replications_is_found(make, n):
    """Also with starting points of their own."""
    conversion = make(Constant(), Smooth(gap=4.0, beta=1.0, sigma=0.5 * 3**0.5, T=400))
    for x1 in (np.ones((n, 3)), np.linspace(-1.0, 1.0, 3 * n).reshape(n, 3)):
        with pytest.warns(UserWarning, match="the replications are not independent"):
            found = o2nc.minimize(shared, x1, conversion)
        assert found.certificate is found.a_priori is found.tight is None
        own = lambda x, rng: np.sin(x) + 0.5 * rng.normal(size=x.shape)
        assert o2nc.minimize(own, x1, conversion).certificate is not None


def test_equal_replications_have_a_note_and_no_interval():
    rare = lambda x, rng: np.sin(x) + 0.0 * rng.normal(size=x.shape)  # noise that did not come
    found = o2nc.minimize(
        rare, np.ones((4, 2)), oracle=Constant(), constants=Smooth(gap=2.0, beta=1.0, sigma=0.1, T=50)
    )
    for certificate in (found.certificate, found.tight):
        assert certificate.interval is None
        assert "all 4 replications are equal though sigma = 0.1, so there is no interval" in certificate.note


class Minus(Identity):
    """An identity in name only."""

    def __matmul__(self, v):
        return -1.0 * v


class Boast:
    """Plays nothing, and says that its regret is 0."""

    def init(self, x):
        return ()

    def play(self, state, m):
        return o2nc.operators.Diagonal(0.0 * m)

    def learn(self, state, loss):
        return state

    def regret_bound(self, x, energy):
        return 0.0


@pytest.mark.parametrize("n", [1, 2, 8])
def test_a_regret_above_the_stated_one_is_found(n):
    constants = Smooth(gap=4.0, M=8.0, beta=1.0, sigma=0.1, T=100)
    gradient = lambda x, rng: np.sin(x) + 0.1 * rng.choice([-1.0, 1.0], size=x.shape)
    for seed in range(10):
        with pytest.warns(UserWarning, match="the oracle states a regret of at most 0 for losses of energy"):
            found = o2nc.minimize(gradient, np.ones((n, 1)), oracle=Boast(), constants=constants, seed=seed)
        assert found.certificate is found.a_priori is found.tight is None
    assert Constant(Minus()).regret_bound(np.ones(1), 1.0) == math.inf


def test_in_an_own_loop_of_blocks_too():
    conversion, rng = FALSE["smooth"][1], np.random.default_rng(0)
    x = Blocks((np.ones(1), np.ones((1, 1))))
    state = conversion.init(x)
    for _ in range(500):
        dx, state = conversion.update(Blocks(tuple(growing(a, rng) for a in x.arrays)), state)
        x = x + dx
    assert "is too small" in conversion.certificate(state)
    assert float(conversion.suspicion(state)) > 0
