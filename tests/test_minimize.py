"""The front door: what it returns, on every array library, and what it says when something is wrong."""

import io
import json
import sys

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import o2nc
from conftest import numpy_of
from o2nc import Blocks, NonfiniteGradientError, Nonsmooth, Smooth
from o2nc.operators import Identity, Projector
from o2nc.oracles import OGD, Constant, Hedge
from o2nc.progress import progress
from o2nc.sets import Box

SMOOTH = Smooth.paper(M=6.0, beta=1.0, sigma=0.5, T=60)
NONSMOOTH = Nonsmooth(L=1.7, M=6.0, sigma=0.5, lam=0.1, T=60)
LIBRARIES = {
    "numpy": (np.asarray, np.sin),
    "torch": (lambda v: torch.asarray(np.array(v)), torch.sin),
    "jax": (jnp.asarray, jnp.sin),
}


def sampler(library, calls=None):
    make, sin = LIBRARIES[library]

    def gradient(x, rng):
        if calls is not None:
            calls.append(numpy_of(x))
        return sin(x) + make(0.2 * rng.normal(size=tuple(x.shape)))

    return gradient


def start(library, batch):
    return LIBRARIES[library][0](np.full((*batch, 3), 1.5))


@pytest.mark.parametrize("batch", [(), (4,)], ids=["one", "batch"])
@pytest.mark.parametrize("constants", [SMOOTH, NONSMOOTH], ids=["smooth", "nonsmooth"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_same_run_on_every_library(library, constants, batch):
    make = LIBRARIES[library][0]
    run = lambda library, mask: o2nc.minimize(
        sampler(library), start(library, batch), oracle=Hedge([Identity(), Projector.from_mask(mask)]),
        constants=constants, seed=3,
    )  # fmt: skip
    mask = np.asarray([True, False, True])
    result, same = run(library, make(mask)), run("numpy", mask)
    for name in ("x", "last", "regret"):
        np.testing.assert_allclose(numpy_of(getattr(result, name)), getattr(same, name), rtol=0, atol=1e-12)
    assert result.last.shape == (*batch, 3)
    assert result.regret.shape == (*batch, 1)
    assert result.certificate.bound == pytest.approx(same.certificate.bound, abs=1e-9)
    assert result.certificate.label == ("a-posteriori" if batch else "plug-in")
    assert result.a_priori.label == "a-priori"
    assert result.a_priori.bound > result.certificate.bound
    assert result.tight.bound == pytest.approx(same.tight.bound, abs=1e-9)
    assert result.tight.bound < result.certificate.bound
    assert library in result.versions
    assert result.versions["o2nc"] == o2nc.__version__
    assert json.loads(result.certificate.to_json())["label"] == result.certificate.label


def test_the_point_is_drawn_uniformly_from_the_trajectory():
    constants = Smooth.paper(M=6.0, beta=1.0, sigma=0.5, T=8)
    result = o2nc.minimize(
        sampler("numpy"), np.full((4000, 1), 1.5), oracle=Constant(), constants=constants, record=True
    )
    path = np.stack(result.trajectory)  # (T, n, 1), x_1 .. x_T
    assert path.shape == (8, 4000, 1)
    assert np.all(np.any(np.isclose(path[1:], result.x, rtol=0, atol=0), axis=0) | (result.x == 1.5))
    # x_1 = x_2, since m_1 = 0; the six later iterates differ from each other
    counts = [np.sum(path[t] == result.x) for t in range(2, 8)] + [np.sum(result.x == 1.5)]
    expected = np.asarray([500] * 6 + [1000])
    assert np.sum((np.asarray(counts) - expected) ** 2 / expected) < 22.5  # chi-square, 6 degrees, 1 in 1000


def test_algorithm_2_returns_the_weighted_point_of_round_tau():
    result = o2nc.minimize(
        sampler("numpy"), np.full((5, 2), 1.5), oracle=Constant(), constants=NONSMOOTH, record=True, seed=1
    )
    y, b = np.stack(result.trajectory), NONSMOOTH.b
    for run in range(5):
        tau = int(result.state.average.tau[run, 0])
        q = NONSMOOTH.a * b ** np.arange(tau - 1, -1, -1) / (1 - b**tau)
        np.testing.assert_allclose(result.x[run], q @ y[:tau, run], rtol=0, atol=1e-12)


def test_blocks_and_recording_and_callback():
    seen = []
    gradient = lambda x, rng: Blocks(tuple(np.sin(a) for a in x.arrays))
    x1 = Blocks((np.ones((2, 2)), np.asarray(1.0)))
    result = o2nc.minimize(
        gradient, x1, oracle=OGD(Box()), constants=SMOOTH, callback=lambda t, x, state: seen.append(t)
    )
    assert seen == list(range(1, 61))
    assert result.trajectory is None
    assert [a.shape for a in result.last.arrays] == [(2, 2), ()]


def test_each_round_draws_one_sample_and_seeds_matter():
    calls = []
    kwargs = {"oracle": Constant(), "constants": SMOOTH}
    one = o2nc.minimize(sampler("numpy", calls), start("numpy", ()), **kwargs)
    assert len(calls) == SMOOTH.T
    two = o2nc.minimize(sampler("numpy"), start("numpy", ()), **kwargs)
    other = o2nc.minimize(sampler("numpy"), start("numpy", ()), seed=1, **kwargs)
    np.testing.assert_array_equal(one.last, two.last)
    assert not np.array_equal(one.last, other.last)


def test_the_share_of_clipped_rounds_shows_wrong_constants():
    right = o2nc.minimize(sampler("numpy"), start("numpy", ()), oracle=Constant(), constants=SMOOTH)
    with pytest.warns(UserWarning, match="the constants are too small"):
        wrong = o2nc.minimize(
            sampler("numpy"),
            start("numpy", ()),
            oracle=Constant(),
            constants=Smooth.paper(M=0.01, beta=0.01, sigma=0.0, T=60),
        )
    assert right.clipped == 0
    assert wrong.clipped > 0.9


def test_a_gradient_that_is_not_finite_names_the_round_and_keeps_the_state():
    def gradient(x, rng):
        gradient.t += 1
        return np.sin(x) if gradient.t < 7 else np.full_like(x, np.nan)

    gradient.t = 0
    with pytest.raises(NonfiniteGradientError, match="round 7") as caught:
        o2nc.minimize(gradient, start("numpy", ()), oracle=Hedge([Identity()]), constants=SMOOTH)
    assert caught.value.round == 7
    assert np.all(np.isfinite(caught.value.x))
    assert np.all(np.isfinite(caught.value.state.m))
    gradient.t = 0
    short = Smooth.paper(M=6.0, beta=1.0, sigma=0.5, T=60)
    conversion, x = o2nc.SmoothConversion(Hedge([Identity()]), short), start("numpy", ())
    state = conversion.init(x)
    for _ in range(6):
        dx, state = conversion.update(np.sin(x), state)
        x = x + dx
    np.testing.assert_allclose(caught.value.x, x, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("gradient", "sentence"),
    [
        (lambda x, rng: x[:1], r"`gradient` must return shape \(3,\).*got \(1,\)"),
        (lambda x, rng: x.astype("float32"), r"dtype float64.*got .*float32"),
        (lambda x, rng: [0.0, 0.0, 0.0], "`gradient` must return an array like `x`; got list"),
        (lambda x, rng: torch.zeros(3, dtype=torch.float64), "`gradient` must|one array library"),
        (lambda x: x, r"`gradient` must take the point and a generator, gradient\(x, rng\); got one that takes \(x\)"),
        (np.zeros(3), r"`gradient` must be a function of x and rng; got array"),
    ],
)
def test_a_wrong_sample_is_a_sentence(gradient, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        o2nc.minimize(gradient, start("numpy", ()), oracle=Constant(), constants=SMOOTH)


@pytest.mark.parametrize(
    ("kwargs", "sentence"),
    [
        ({"oracle": None, "constants": SMOOTH}, "`oracle` must be an oracle, with init, play and learn; got None"),
        (
            {"oracle": Constant(), "constants": 3},
            r"`constants` must be Smooth\(...\) or Nonsmooth\(...\), or give a `conversion`; got int",
        ),
        ({"oracle": Constant(), "constants": SMOOTH, "seed": -1}, "`seed` must be"),
    ],
)
def test_wrong_arguments_are_sentences(kwargs, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        o2nc.minimize(sampler("numpy"), start("numpy", ()), **kwargs)
    with pytest.raises(TypeError, match="`x1` must be an array"):
        o2nc.minimize(sampler("numpy"), [1.0], oracle=Constant(), constants=SMOOTH)
    with pytest.raises(ValueError, match="`x1` must have a real floating dtype; got int64"):
        o2nc.minimize(sampler("numpy"), np.asarray([1]), oracle=Constant(), constants=SMOOTH)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_a_progress_bar_and_a_file_does_not(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(progress(range(1, 6))) == [1, 2, 3, 4, 5]
    assert "5/5 rounds" in sys.stderr.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(progress(range(1, 6))) == [1, 2, 3, 4, 5]
    assert sys.stderr.getvalue() == ""


def test_the_descent_loss_has_its_own_theorem():
    mask = Projector.from_mask(np.asarray([True, False, True]))
    run = lambda kappa: o2nc.minimize(
        sampler("numpy"), start("numpy", (8,)), oracle=Hedge([Identity(), mask]), constants=SMOOTH, kappa=kappa
    )
    linear, descent, steep = run(0.0), run(1.0), run(16.0)
    assert descent.certificate.terms["range"] == linear.certificate.terms["range"]
    c = SMOOTH
    expected = o2nc.certificates.theorem_sharp(
        gap=c.M, beta=c.beta, sigma=c.sigma, T=c.T, a=c.a, c=64.0, regret=c.G * float(np.mean(steep.regret))
    )
    assert steep.certificate.terms == pytest.approx(expected.terms, rel=1e-12)
    assert steep.certificate.name == expected.name
    regrets = steep.a_priori.terms["regret"] / 2, linear.a_priori.terms["regret"] / (8192 / 5951)
    assert regrets[0] > regrets[1]  # the descent loss has more energy
    with pytest.raises(ValueError, match="`kappa` must be 0 for Nonsmooth"):
        o2nc.minimize(sampler("numpy"), start("numpy", ()), oracle=Hedge([Identity()]), constants=NONSMOOTH, kappa=1.0)


def test_the_energy_bounds_that_of_the_losses():
    """On a run with the largest gradients and noise that the constants allow, the measured energy comes near."""
    constants, rng = Smooth.paper(M=2.0, beta=1.0, sigma=3.0, T=400), np.random.default_rng(0)
    for kappa in (0.0, 30.0):
        conversion, m, total = o2nc.SmoothConversion(Constant(), constants, kappa), np.zeros(4000), 0.0
        for _ in range(constants.T):
            s = constants.G + 3.0 * rng.choice([-1.0, 1.0], size=m.shape)
            p = (np.abs(s) + kappa * constants.beta * constants.eta * np.abs(m)) / constants.G
            total += np.mean((p * m) ** 2)
            m = np.clip((1 - constants.a) * m + constants.a * s, -constants.G0, constants.G0)
        assert 0.4 < total / conversion.energy() <= 1


class Longer:
    """An operator that is no contraction."""

    def __matmul__(self, v):
        return 1.5 * v


@pytest.mark.parametrize("constants", [SMOOTH, NONSMOOTH], ids=["smooth", "nonsmooth"])
def test_an_operator_longer_than_one_gets_no_certificate(constants):
    oracle, sample = Constant(Longer()), lambda x, rng: 100 * np.sign(x)
    with pytest.warns(UserWarning, match="There is no certificate: "):
        result = o2nc.minimize(sample, start("numpy", ()), oracle=oracle, constants=constants)
    assert result.certificate is result.a_priori is result.tight is None
    longer = result.conversion.sums(result.state)["longer"]
    assert float(longer[0]) == constants.T - 1  # in the first round m = 0


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_gradient_that_works_in_place_changes_nothing_of_ours(library):
    x1 = start(library, ())
    in_place = {"numpy": lambda x, rng: np.sin(x, out=x), "torch": lambda x, rng: x.sin_()}[library]
    pure = LIBRARIES[library][1]
    one = o2nc.minimize(in_place, x1, oracle=Constant(), constants=SMOOTH)
    two = o2nc.minimize(lambda x, rng: pure(x), start(library, ()), oracle=Constant(), constants=SMOOTH)
    np.testing.assert_array_equal(numpy_of(x1), np.full(3, 1.5))
    np.testing.assert_array_equal(numpy_of(one.last), numpy_of(two.last))
