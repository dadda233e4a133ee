"""A run whose noise is declared has a certificate of its own: minimize beside plain loops."""

import dataclasses
import math

import numpy as np
import pytest

import o2nc
from o2nc import Smooth
from o2nc.certificates import clipped_step, one_run, theorem_sharp_clipped
from o2nc.conversions import PredictionConversion, SegmentConversion, SmoothConversion
from o2nc.noise import Bounded, HeavyTailed, SubGaussian, clipping_radius
from o2nc.oracles import Constant, LeastSquares
from o2nc.sets import Box

START = np.asarray([2.0, 1.0])
D = float((1 - np.cos(START)).sum())
SIGNS = SubGaussian(p=0.2, d=2)


def signed(x, rng):
    return np.sin(x) + 0.2 * rng.choice([-1.0, 1.0], size=x.shape)


def tailed(x, rng):
    return np.sin(x) + 0.1 * rng.standard_t(2.5, size=x.shape)


def loop(samples, constants, radius=math.inf):
    """Algorithm 1 with U = I on given samples: S, Q and N."""
    x, m, S, Q, N = START, np.zeros(2), 0.0, 0.0, 0.0
    for s in samples:
        s = s * min(1.0, radius / np.linalg.norm(s))
        S, Q, N = S + float(np.sin(x) @ np.sin(x)), Q + float(s @ m), N + float(m @ m)
        x, m = x - constants.eta * m, (1 - constants.a) * m + constants.a * s
    return S, Q, N


def recorded(sample):
    """A sampler that remembers what it gave, so that a loop can be played on the same samples."""
    given = []

    def gradient(x, rng):
        given.append(np.array(sample(x, rng)))
        return given[-1].copy()

    return gradient, given


@pytest.mark.parametrize("noise", [SIGNS, Bounded(0.2 * math.sqrt(2))])
def test_one_run_has_a_certificate_with_high_probability(noise):
    constants = Smooth.one_run(gap=D, beta=1.0, noise=noise, T=1000)
    gradient, given = recorded(signed)
    result = o2nc.minimize(gradient, START, oracle=Constant(), constants=constants, seed=1)
    S, Q, N = loop(given, constants)
    known = {"a": float(constants.a), "eta": constants.eta, "beta": 1.0, "first": 2 * D, "T": 1000}
    expected = one_run(**known, Q=Q, N=N, W=N, noise=noise)
    assert result.certificate.label == "high-probability"
    assert result.certificate.bound == pytest.approx(expected.bound, rel=1e-12)
    assert S / 1000 <= result.certificate.bound <= 4 * S / 1000
    assert "fails with probability 0.01 at most" in str(result)


def test_a_batch_has_replications_and_needs_no_such_certificate():
    constants = Smooth.one_run(gap=D, beta=1.0, noise=SIGNS, T=100)
    result = o2nc.minimize(signed, np.tile(START, (3, 1)), oracle=Constant(), constants=constants, seed=1)
    assert result.certificate.label == "a-posteriori"


def test_it_is_about_every_round_on_the_way():
    constants = Smooth.one_run(gap=D, beta=1.0, noise=SIGNS, T=1000)
    conversion, rng = SmoothConversion(Constant(), constants), np.random.default_rng(0)
    x, state, S = START, conversion.init(START), 0.0
    assert conversion.certificate(state) == "no round was made"
    for t in range(1, 401):
        S += float(np.sin(x) @ np.sin(x))
        dx, state = conversion.update(signed(x, rng), state)
        x = x + dx
        if t in (1, 20, 400):
            found = conversion.certificate(state)
            assert found.label == "high-probability"
            assert S / t <= found.bound
    sums = {name: float(conversion.sums(state)[name][0]) for name in "QNW"}
    known = {"a": float(constants.a), "eta": constants.eta, "beta": 1.0, "first": 2 * D, "T": 400, "horizon": 1000}
    assert found.bound == pytest.approx(one_run(**known, **sums, noise=SIGNS).bound, rel=1e-12)


def test_operators_of_any_size_have_it_too():
    constants = Smooth.one_run(gap=D, beta=1.0, noise=SIGNS, T=500)
    result = o2nc.minimize(signed, START, PredictionConversion(LeastSquares(Box()), constants), seed=1)
    assert result.certificate.label == "high-probability"


def heavy(T=1000):
    v, L = 0.1 * math.sqrt(10), math.sqrt(2)  # Student's law has variance 5 for 2.5 degrees of freedom
    return HeavyTailed(v, L=L, R=clipping_radius(v, L, T))


def test_samples_with_heavy_tails_are_clipped():
    noise = dataclasses.replace(heavy(), R=1.6)
    constants = Smooth.one_run(gap=D, beta=1.0, noise=noise, T=1000)
    gradient, given = recorded(tailed)
    result = o2nc.minimize(gradient, START, oracle=Constant(), constants=constants, seed=1)
    assert max(np.linalg.norm(s) for s in given) > noise.R
    S, Q, N = loop(given, constants, radius=noise.R)
    known = {"a": float(constants.a), "eta": constants.eta, "beta": 1.0, "first": 2 * D, "T": 1000}
    assert result.certificate.bound == pytest.approx(one_run(**known, Q=Q, N=N, W=N, noise=noise).bound, rel=1e-12)
    assert result.certificate.bound >= S / 1000
    assert "bias" in result.certificate.terms
    for name in ("a_priori", "tight"):
        assert result.reasons[name] == "this certificate is about samples that are not clipped"


def test_replications_with_clipped_samples():
    noise, start = heavy(), np.tile(START, (3, 1))
    constants = Smooth.one_run(gap=D, beta=1.0, noise=noise, T=1000)
    found = o2nc.minimize(tailed, start, oracle=Constant(), constants=constants, seed=1).certificate
    known = {"gap": D, "beta": 1.0, "noise": noise, "T": 1000, "a": float(constants.a), "c": 8.0}
    assert found.bound == pytest.approx(theorem_sharp_clipped(**known, regret=0.0).bound)
    short = Smooth(gap=D, beta=1.0, sigma=noise.sigma, T=1000, noise=noise)
    result = o2nc.minimize(tailed, start, oracle=Constant(), constants=short, seed=1)
    assert result.reasons["certificate"].startswith(
        f"with clipped samples c must be at least {clipped_step(1.0, short.a)[0]:.6g}, and it is {1 + short.a:.6g}"
    )
    assert o2nc.minimize(tailed, START, oracle=Constant(), constants=short, seed=1).certificate is not None


def test_where_the_sample_is_elsewhere_noise_is_refused():
    constants = Smooth.one_run(gap=D, beta=1.0, noise=SIGNS, T=100)
    with pytest.raises(ValueError, match="`noise` of the constants must be None for SegmentConversion"):
        SegmentConversion(Constant(), constants, r=1.0)


def test_constants_print_their_noise():
    constants = Smooth.one_run(gap=1.0, beta=1.0, noise=SIGNS, T=100)
    assert eval(repr(constants)) == constants
    assert constants.sigma == pytest.approx(0.2 * math.sqrt(2))
