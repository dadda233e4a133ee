"""Constants from probes: what they find where the truth is known, and that nothing made of them is called certified."""

import math
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import o2nc
from conftest import numpy_of
from o2nc import Blocks, Probes, SegmentConversion, Smooth, SmoothConversion, certificates
from o2nc.constants import PaperSmooth, SmoothConstants
from o2nc.lab.objectives import objective
from o2nc.oracles import Constant
from sentences import check

SEEN = Probes(8, (0.0, 1.0), curvatures=(4.0, 2.0), variances=(0.1, 0.3), squares=(8.0, 2.0))
ESTIMATED = PaperSmooth.estimate(SEEN, T=5)
WHY = "practical: the constants were estimated from 8 samples at 2 points"


def quadratic(eigenvalues, size):
    """A bowl with these curvatures, and signs of this size on every coordinate."""
    eigenvalues = np.asarray(eigenvalues)
    return lambda x, rng: eigenvalues * x + size * rng.choice([-1.0, 1.0], size=x.shape)


def test_a_quadratic_is_found_out():
    """The power method finds the largest of many curvatures, which random directions miss; the variance is sigma^2."""
    eigenvalues = np.linspace(0.1, 1.0, 50)
    eigenvalues[7] = 20.0
    x1 = np.ones(50)
    found = o2nc.probe(quadratic(eigenvalues, 0.3), x1, repeats=8)
    alone = o2nc.probe(quadratic(eigenvalues, 0.3), x1, repeats=8, turns=1)
    assert found.beta == pytest.approx(20.0, rel=1e-3)
    assert alone.beta < 15.0
    assert found.sigma == pytest.approx(0.3 * math.sqrt(50), rel=0.05)
    assert found.squares[0] == pytest.approx(np.sum(eigenvalues**2), rel=0.1)
    assert found.distances[0] == 0.0
    assert found.distances[2:] == pytest.approx([2 * d for d in found.distances[1:-1]])


def test_the_range_comes_from_values_or_from_gradients():
    """The range of sum 1 - cos is 2 d = 8; Lemma 4 says that no gradient shows more, and twice that is taken."""
    gradient, value = (lambda x, rng: np.sin(x)), (lambda x, rng: np.sum(1 - np.cos(x)))
    blind, seeing = (o2nc.probe(gradient, np.ones(4), value=v, points=40) for v in (None, value))
    assert 2.0 < blind.M <= 16.0
    assert 10.0 < seeing.M <= 16.0
    assert pytest.approx(2 * max(blind.squares) / blind.beta) == blind.M
    assert blind.values == ()
    assert seeing.values[0] == 0.0
    assert blind.sigma == 0.0


@pytest.mark.parametrize("name", ["f1", "f4", "f8"])
def test_the_objectives_of_the_paper(name):
    """Where beta is the curvature at the minimum, near which the run starts; M is found up to the factor 2."""
    f = objective(name)

    def gradient(x, rng):
        return f.gradient(x) + f.noise_of(rng.choice([-1.0, 1.0], size=(1, 1, f.d)), 0)[0, 0]

    c = Smooth.estimate(o2nc.probe(gradient, f.start(np.zeros(1)), value=lambda x, rng: f.gap(x)), T=20000)
    assert 0.95 * f.beta < c.beta <= 1.001 * f.beta
    assert c.sigma == pytest.approx(f.sigma, rel=0.15)
    assert 0.5 * f.M < c.M <= 2 * f.M


def test_every_kind_of_vector_is_probed(xp):
    """Arrays of all libraries see the same numbers; rows of a batch and Blocks are probed too."""
    x1 = np.asarray([1.0, -0.5, 2.0])
    gradient = lambda x, rng: xp.array(3 * np.sin(numpy_of(x)) + 0.1 * rng.normal(size=numpy_of(x).shape))
    one = o2nc.probe(gradient, xp.array(x1), points=4)
    same = o2nc.probe(lambda x, rng: 3 * np.sin(x) + 0.1 * rng.normal(size=x.shape), x1, points=4)
    assert one.curvatures == pytest.approx(same.curvatures, rel=1e-9)
    assert one.squares == pytest.approx(same.squares, rel=1e-9)
    many = o2nc.probe(gradient, xp.array(np.stack([x1, 2 * x1])), points=4)
    assert len(many.curvatures) == 8
    blocks = Blocks((xp.array(x1[:2]), xp.array(x1[2:])))
    sample = lambda x, rng: Blocks(tuple(gradient(a, rng) for a in x.arrays))
    assert o2nc.probe(sample, blocks, points=4).squares[0] == pytest.approx(one.squares[0], rel=0.2)


def test_the_constants_carry_what_was_seen():
    assert (ESTIMATED.M, ESTIMATED.beta, ESTIMATED.sigma) == (SEEN.M, SEEN.beta, SEEN.sigma)
    assert ESTIMATED.probes is SEEN
    assert ESTIMATED.practical == WHY
    assert replace(ESTIMATED, T=7).practical == WHY
    assert Smooth.paper(M=1.0, beta=1.0, sigma=0.0, T=5).practical == ""
    assert str(SEEN).splitlines()[0].startswith("2 points, 8 samples")


SUMS = {"Q": [1.0, 1.1], "N": [1.0, 1.0], "W": [1.0, 1.0]}
CERTIFICATES = {
    "theorem1": lambda c: certificates.theorem1(c, 0.0),
    "minimum_over_iterates": lambda c: certificates.minimum_over_iterates(c, 0.0),
    "sqrt_regret": lambda c: certificates.sqrt_regret(c, 1.0),
    "theorem1_sharp": lambda c: certificates.theorem1_sharp(c, 0.0),
    "theorem1_segment": lambda c: certificates.theorem1_segment(c, 0.0),
    "theorem1_doubling": lambda c: certificates.theorem1_doubling(c, 0.0, 20),
    "tight": lambda c: certificates.tight(c, **SUMS),
    "tight_regret": lambda c: certificates.tight_regret(c, [0.0, 0.1], N=SUMS["N"], W=SUMS["W"]),
    "tight_segment": lambda c: certificates.tight_segment(c, **SUMS),
    "tight_sgd": lambda c: certificates.tight_sgd(c, [0.1, 0.2]),
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_no_certificate_is_made_of_estimates(name):
    CERTIFICATES[name](replace(ESTIMATED, probes=None))
    with pytest.raises(ValueError, match=f"`constants` must be known for a certificate; {WHY}"):
        CERTIFICATES[name](ESTIMATED)


def test_every_function_of_the_constants_was_tried():
    public = {name: getattr(certificates, name) for name in certificates.__all__}
    takes = {
        name
        for name, f in public.items()
        if getattr(f, "__annotations__", {}).get("constants") in (PaperSmooth, SmoothConstants)
    }
    assert takes == set(CERTIFICATES)


def test_estimates_of_the_sharp_constants_are_practical_too():
    found = Smooth.estimate(SEEN, T=5)
    assert (found.D, found.beta, found.sigma, found.practical) == (SEEN.M, SEEN.beta, SEEN.sigma, WHY)
    assert SmoothConversion(Constant(), found).theorem(0.0) == WHY


def test_minimize_says_that_it_is_practical():
    gradient = lambda x, rng: np.sin(x) + 0.1 * rng.choice([-1.0, 1.0], size=x.shape)
    found = o2nc.minimize(gradient, np.ones((2, 2)), oracle=Constant(), constants=ESTIMATED)
    assert (found.certificate, found.tight, found.a_priori) == (None, None, None)
    assert found.reason == WHY
    assert str(found).endswith(f"\n{WHY}")
    known = o2nc.minimize(gradient, np.ones((2, 2)), oracle=Constant(), constants=replace(ESTIMATED, probes=None))
    assert known.reason == ""
    np.testing.assert_array_equal(known.last, found.last)
    equal = o2nc.minimize(lambda x, rng: np.sin(x), np.ones((2, 2)), oracle=Constant(), constants=ESTIMATED)
    assert equal.reason == WHY  # and no warning that replications are equal: there is nothing to take away


def test_the_front_ends_say_that_it_is_practical():
    from o2nc.optax import certificate, convert, report
    from o2nc.torch import Converted

    for conversion in (SmoothConversion(Constant(), ESTIMATED), SegmentConversion(Constant(), ESTIMATED)):
        x = torch.ones(2, requires_grad=True)
        optimizer = Converted([x], conversion, fresh_samples=True)
        transformation = convert(conversion)
        state = transformation.init(jnp.ones(2))
        for _ in range(ESTIMATED.T):
            x.grad = torch.ones(2)
            optimizer.step()
            _, state = transformation.update(jnp.ones(2), state)
        assert optimizer.certificate() is None
        assert optimizer.reason == WHY
        assert report(state).bound is None
        with pytest.raises(ValueError, match=f"`conversion` must have a certificate for `state`; {WHY}"):
            certificate(conversion, state)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: o2nc.probe(3, np.ones(2)), "`gradient` must be a function of x and rng; got 3"),
        (lambda: o2nc.probe(lambda x, rng: x, np.ones(2), repeats=1), "`repeats` must be a whole number, at least 2"),
        (lambda: o2nc.probe(lambda x, rng: x, np.ones(2), h=0.0), "`h` must be finite and positive; got 0.0"),
        (
            lambda: o2nc.probe(lambda x, rng: x + np.random.rand(), np.ones(2)),  # noqa: NPY002
            "`gradient` must take its randomness from `rng` only; the same generator gave two different samples",
        ),
        (lambda: o2nc.probe(lambda x, rng: 0 * x + 1, np.ones(2)), "must change somewhere between the probed points"),
        (lambda: Probes(1, (0.0,), (1.0,), (0.0,), (0.0,)), "must not be 0 at all probed points"),
        (lambda: Probes(1, (0.0,), (math.inf,), (0.0,), (0.0,)), "`curvatures` must be finite"),
        (lambda: Smooth.estimate(3.0, T=5), "`probes` must be what `o2nc.probe` returns; got 3.0"),
    ],
)
def test_arguments_are_checked(call, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        call()


WRONG_VALUES = {
    "no function": (3, TypeError, "`value` must be a function of x and rng", "got 3"),
    "one argument": (lambda x: 0.0, TypeError, "`value` must take the point and a generator, value(x, rng)"),
    "nothing": (lambda x, rng: None, TypeError, "`value` must return a number, or one a row; got None"),
    "a vector": (lambda x, rng: np.cos(x), ValueError, "must return one number for each row, 1; got shape (2,)"),
}


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_wrong_values_are_refused(name):
    value, *expected = WRONG_VALUES[name]
    check(lambda: o2nc.probe(lambda x, rng: np.sin(x), np.ones(2), value=value, points=2), *expected)


def test_values_of_a_batch_are_one_a_row():
    seen = o2nc.probe(lambda x, rng: np.sin(x), np.ones((3, 2)), value=lambda x, rng: np.cos(x).sum(-1), points=2)
    assert len(seen.values) == 6
