"""What `minimize` refuses, and constants that the samples of a run contradict."""

import numpy as np
import pytest
import torch

import o2nc
from o2nc import Nonsmooth, Smooth
from o2nc.constants import VarianceReduced
from o2nc.oracles import Constant

SMOOTH = Smooth.paper(M=6.0, beta=1.0, sigma=0.5, T=60)


def noisy_run(sigma, T=2000, n=8):
    """Noise of variance 8 * 0.25 = 2 around the gradient of sum(1 - cos x)."""
    noisy = np.arange(10) >= 2
    sample = lambda x, rng: np.sin(x) + 0.5 * noisy * rng.choice([-1.0, 1.0], size=x.shape)
    constants = Smooth.paper(M=20.0, beta=1.0, sigma=sigma, T=T)
    return o2nc.minimize(sample, np.full((n, 10), 2.0) * ~noisy, oracle=Constant(), constants=constants)


def test_a_sigma_that_is_too_small_gets_no_certificate():
    """0.1 declared and 1.41 true: the tight bound was -0.024 on a square."""
    with pytest.warns(UserWarning, match="sigma = 0.1 or beta = 1 is too small"):
        result = noisy_run(0.1)
    assert result.certificate is result.tight is result.a_priori is None
    assert "in the mean square by 3.9 where 2 sigma^2 = 0.02" in str(result)


def test_a_sigma_that_is_too_small_is_found_over_the_run():
    """Replications that start apart share no point: the samples of successive rounds tell."""
    noisy = np.arange(10) >= 2
    sample = lambda x, rng: np.sin(x) + 0.5 * noisy * rng.choice([-1.0, 1.0], size=x.shape)
    starts = np.full((8, 10), 2.0) * ~noisy + 0.01 * np.arange(8)[:, None]
    constants = Smooth.paper(M=20.0, beta=1.0, sigma=0.5, T=2000)
    with pytest.warns(UserWarning, match="sigma = 0.5 or beta = 1 is too small"):
        result = o2nc.minimize(sample, starts, oracle=Constant(), constants=constants)
    assert result.tight is None


def test_a_true_sigma_is_not_contradicted():
    for sigma in (2**0.5, 2.0, 10.0):
        result = noisy_run(sigma, T=500)
        assert result.tight is not None
        assert result.certificate.label == "a-posteriori"


@pytest.mark.parametrize(
    "x1", [torch.ones(3, requires_grad=True), torch.ones(3, dtype=torch.float64).to_sparse()], ids=["graph", "sparse"]
)
def test_tensors_with_a_graph_or_without_entries_are_refused(x1):
    """The graph would grow from round to round."""
    with pytest.raises(ValueError, match=r"`x1` must be dense and must not require a gradient; give `x1.detach\(\)`"):
        o2nc.minimize(lambda x, rng: x, x1, oracle=Constant(), constants=SMOOTH)


def test_record_is_a_flag():
    with pytest.raises(TypeError, match="`record` must be True or False; got 'trajectory'"):
        o2nc.minimize(lambda x, rng: x, np.ones(3), oracle=Constant(), constants=SMOOTH, record="trajectory")


def test_rows_are_said_to_be_replications():
    constants = Smooth.paper(M=6.0, beta=1.0, sigma=0.0, T=60)
    result = o2nc.minimize(lambda x, rng: np.sin(x), np.ones((5, 4)), oracle=Constant(), constants=constants)
    assert str(result).startswith("5 replications: each row of x1 is a run of its own in 4 coordinates")
    alone = o2nc.minimize(lambda x, rng: np.sin(x), np.ones(4), oracle=Constant(), constants=SMOOTH)
    assert "replications:" not in str(alone)


def test_the_repr_of_estimates_makes_estimates():
    seen = o2nc.probe(lambda x, rng: 4 * np.sin(x) + rng.choice([-0.3, 0.3], size=x.shape), np.ones(2))
    estimated = Smooth.estimate(seen, T=100)
    pasted = eval(repr(estimated), {"Smooth": Smooth, "Probes": o2nc.Probes})
    assert pasted == estimated
    assert pasted.practical
    assert repr(SMOOTH) == f"Smooth.paper(M={SMOOTH.M}, beta={SMOOTH.beta}, sigma={SMOOTH.sigma}, T={SMOOTH.T})"


def test_two_replications_do_not_contradict_a_true_sigma():
    """The squared distances of two samples from their mean are equal: an interval of width 0 says nothing."""
    constants = Smooth.paper(M=6.0, beta=1.0, sigma=0.3 * 3**0.5, T=5)
    sample = lambda x, rng: np.sin(x) + 0.3 * rng.normal(size=x.shape)
    for seed in range(40):
        o2nc.minimize(sample, np.ones((2, 3)), oracle=Constant(), constants=constants, seed=seed)


def test_noise_that_was_declared_to_be_none_is_found():
    """Without noise only rounding is allowed."""
    sample = lambda x, rng: np.sin(x) + 1.5 * rng.normal(size=x.shape)
    constants = Smooth.paper(M=6.0, beta=1.0, sigma=0.0, T=2000)
    with pytest.warns(UserWarning, match="sigma = 0 or beta = 1 is too small"):
        result = o2nc.minimize(sample, np.ones((8, 3)), oracle=Constant(), constants=constants)
    assert result.certificate is result.a_priori is result.tight is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: o2nc.minimize(np.sin, np.ones((0, 3))), "`x1` must have at least one coordinate and one replication"),
        (lambda: o2nc.minimize(np.sin, np.asarray([np.nan])), "`x1` must be finite"),
    ],
)
def test_a_start_that_is_none_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


class Shaped(o2nc.conversions.Conversion):
    """A displacement of one's own."""

    def __init__(self, dx):
        self.dx = dx

    def init(self, x, *, tau=None):
        return ()

    def update(self, s, state, x=None, *, r=None, value=None):
        return self.dx(s), state


def test_a_run_that_leaves_the_finite_numbers_says_so():
    with pytest.raises(ValueError, match="The point must stay finite; before round 2 it did not"):
        o2nc.minimize(lambda x, rng: x, np.ones(2), Shaped(lambda s: np.inf * s), rounds=50)


@pytest.mark.parametrize("value", [lambda x, rng: np.ones(3), lambda x, rng: np.nan, lambda x, rng: "a"])
def test_values_are_one_finite_number_a_replication(value):
    conversion = o2nc.rivals.OnlineScaled(alpha=0.1)
    with pytest.raises(ValueError, match="`value` must return a finite number"):
        o2nc.minimize(lambda x, rng: x, np.ones((3, 3)), conversion, rounds=2, value=value)


def test_a_displacement_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="`dx` must have the shape"):
        o2nc.minimize(lambda x, rng: x, np.ones(3), Shaped(lambda s: -s[..., :1]), rounds=2)


def test_a_tracker_at_its_bound_is_not_called_clipped():
    """A gradient of norm L exactly: rounding of |m|^2 alone is no contradiction."""
    constants = Nonsmooth(L=1.0, M=2000.0, sigma=0.0, lam=1.0, T=1000, a=0.01, eta=1e-3, rho=0.1)
    g = np.random.default_rng(0).normal(size=10)
    result = o2nc.minimize(lambda x, rng: g / np.linalg.norm(g), np.zeros(10), oracle=Constant(), constants=constants)
    assert result.clipped == 0
    assert result.certificate is not None


def test_an_oracle_in_the_place_of_the_conversion():
    with pytest.raises(TypeError, match="third argument of `minimize` is a conversion; got an oracle: write `oracle=`"):
        o2nc.minimize(lambda x, rng: x, np.ones(2), Constant(), constants=Smooth(gap=1.0, beta=1.0, sigma=0.0, T=2))
    storm = VarianceReduced(gap=1.0, beta=1.0, sigma=0.0, T=2)
    with pytest.raises(TypeError, match=r"got VarianceReduced. StormConversion\(oracle, constants\) is one"):
        o2nc.minimize(lambda x, rng: x, np.ones(2), oracle=Constant(), constants=storm)


@pytest.mark.parametrize("callback", [3, "print"])
def test_a_callback_that_is_none_is_refused_before_the_first_round(callback):
    """It was a bare error of Python, after a round had been made."""
    calls, sgd = [], o2nc.rivals.SGD(eta=0.1)
    with pytest.raises(TypeError, match=r"`callback` must be a function of t, x and state; got .*\."):
        o2nc.minimize(lambda x, rng: calls.append(1) or x, np.ones(2), sgd, rounds=2, callback=callback)
    assert not calls


@pytest.mark.parametrize("wrong", [lambda s: (), lambda s: s[:1], lambda s: (*s, s[0]), list, lambda s: None])
def test_samples_with_another_number_of_blocks(wrong):
    """Without any it was an `IndexError`, and of others the displacement was said to be wrong."""
    x1 = o2nc.Blocks((np.ones((2, 2)), np.ones(3)))
    with pytest.raises(ValueError, match=r"`gradient` must return 2 Blocks, in a tuple, as `x`; got .* in round 1\."):
        o2nc.minimize(lambda x, rng: o2nc.Blocks(wrong(x.arrays)), x1, o2nc.rivals.SGD(eta=0.1), rounds=2)
