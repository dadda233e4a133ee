"""Muon's direction against ``torch.optim.Muon``, whose Newton-Schulz iteration is run in bfloat16 and in full."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from conftest import BACKENDS, numpy_of
from o2nc import Blocks
from o2nc.directions import Momentum, Muon
from o2nc.operators import newton_schulz
from o2nc.operators.polar_factor import COEFFICIENTS
from o2nc.torch import Hedged
from o2nc.vectors import mat, vec
from sentences import check

RNG = np.random.default_rng(0)
JITTED = [backend for backend in BACKENDS if backend.name != "jax"]  # JAX is compiled here: its eager mode is slow
ROUNDS = 6
SHAPES = [(4, 3), (3, 5), (4, 4), (1, 3)]
LENGTHS = ["original", "match_rms_adamw", 0.2]


@pytest.fixture(params=JITTED, ids=repr)
def xp(request):
    return request.param


@pytest.fixture
def full(monkeypatch):
    """``torch.optim.Muon`` without its cast to bfloat16."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)


def directions(expert, samples, xp=BACKENDS[0], momentum=0.95):
    """The direction of each round, from the average of the samples, or what is one sample ahead of it."""
    m, play = np.zeros_like(samples[0]), xp.transform(lambda m: expert.direction(expert.init(m), m))
    for s in samples:
        m = momentum * m + (1 - momentum) * s
        shown = momentum * m + (1 - momentum) * s if expert.looks_ahead else m
        yield numpy_of(play(Blocks((xp.array(shown),))).arrays[0])


def steps_of_torch(samples, length, **options):
    """What torch.optim.Muon moves by, for lr = 1; at a root mean square if ``length`` is one."""
    rule = length if isinstance(length, str) else "original"
    p = torch.nn.Parameter(torch.zeros(samples[0].shape, dtype=torch.float64))
    muon = torch.optim.Muon([p], 1.0, weight_decay=0.0, adjust_lr_fn=rule, **options)
    for s in samples:
        p.data.zero_()
        p.grad = torch.as_tensor(s)
        muon.step()
        d = -p.detach().numpy()
        yield d.copy() if isinstance(length, str) else length * d / np.sqrt(np.mean(d**2))


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_is_muon_of_torch(xp, full, shape, length, nesterov):
    samples = RNG.normal(size=(ROUNDS, *shape))
    expected = list(steps_of_torch(samples, length, nesterov=nesterov))
    found = directions(Muon(length=length, looks_ahead=nesterov), samples, xp)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_other_arguments_are_those_of_torch(full):
    samples = RNG.normal(size=(ROUNDS, 4, 3))
    own = Muon(steps=3, coefficients=(2.0, -1.5, 0.5))
    theirs = {"momentum": 0.7, "ns_steps": 3, "ns_coefficients": (2.0, -1.5, 0.5)}
    found = directions(own, samples, momentum=0.7)
    for a, b in zip(found, steps_of_torch(samples, 0.2, **theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_the_cast_to_bfloat16_is_all_that_differs():
    """Which has 8 bits: some per cent of the direction."""
    samples = np.random.default_rng(1).normal(size=(ROUNDS, 6, 5))
    pairs = zip(directions(Muon(), samples), steps_of_torch(samples, 0.2), strict=True)
    errors = [np.linalg.norm(a - b) / np.linalg.norm(a) for a, b in pairs]
    assert 1e-4 < max(errors) < 0.05


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_hedged_with_muon_alone_is_muon_of_torch(full, dtype):
    torch.manual_seed(0)
    start, target = torch.randn(2, 5, 4, dtype=dtype)
    A = torch.randn(6, 5, dtype=dtype)
    x, y = (torch.nn.Parameter(start.clone()) for _ in range(2))
    ours = Hedged([x], 0.05, (Muon(length="match_rms_adamw"),), weight_decay=0.1, scale="fixed")
    theirs = torch.optim.Muon([y], 0.05, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for _ in range(30):
        for p, opt in ((x, ours), (y, theirs)):
            opt.zero_grad()
            (A @ (p - target)).square().sum().backward()
            opt.step()
    assert (x - start).abs().max() > 0.2
    torch.testing.assert_close(x, y, rtol=0, atol=1e-4 if dtype == torch.float32 else 1e-10)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_coefficients_by_name(name):
    """Against the iteration of Optax; after five steps singular values from 1/100 to 1 are within a third of 1."""
    A = RNG.normal(size=(4, 3))
    given = jnp.asarray((COEFFICIENTS[name] * 5)[:5] if name == "standard" else COEFFICIENTS[name][:5])
    expected = optax.contrib._muon.orthogonalize_via_newton_schulz(jnp.asarray(A), given, eps=0.0)
    np.testing.assert_allclose(newton_schulz(A, 5, name), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(newton_schulz(A, 5, COEFFICIENTS[name]), expected, rtol=0, atol=1e-12)
    values = np.diag(newton_schulz(np.diag(np.geomspace(0.01, 0.99, 4)), 5, name))
    assert np.all((values > 0.68) & (values < 1.14))
    known = getattr(optax.contrib._muon, "_NS_COEFFS_PRESET_DICT", {}).get(name)  # not in the oldest Optax
    if known is not None:
        np.testing.assert_array_equal(np.atleast_2d(known), COEFFICIENTS[name])


def test_polar_express_is_exact_after_eight_steps():
    A = RNG.normal(size=(4, 3))
    U, _, Vh = np.linalg.svd(A, full_matrices=False)
    np.testing.assert_allclose(newton_schulz(A, 9, "polar express"), U @ Vh, rtol=0, atol=1e-10)


def alone(expert, m):
    """The direction of an expert that has seen nothing but its tracker."""
    return expert.direction(expert.init(m), m)


def test_above_the_floor_the_size_does_not_enter_and_below_it_the_direction_fades():
    M = RNG.normal(size=(4, 3))
    M /= np.sqrt(np.mean(M**2))
    plain = alone(Muon(), Blocks((M,))).arrays[0]
    for factor, scale in ((1.0, 10.0), (1.0, 1e-8), (0.25, 2.5e-9), (0.0, 0.0)):
        (found,) = alone(Muon(), Blocks((scale * M,))).arrays
        np.testing.assert_allclose(found, factor * plain, rtol=0, atol=1e-12)


def test_a_stack_is_its_matrices_and_a_convolution_one_matrix(xp):
    samples = RNG.normal(size=(ROUNDS, 3, 4, 2))
    stack = list(directions(Muon(), samples, xp))
    for k in range(3):
        for a, b in zip(stack, directions(Muon(), samples[:, k], xp), strict=True):
            np.testing.assert_allclose(a[k], b, rtol=0, atol=1e-12)
    flat = list(directions(Muon(), samples.reshape(ROUNDS, 3, 8), xp))
    for expert, K in ((Muon(stacks=False), samples), (Muon(), samples.reshape(ROUNDS, 3, 2, 2, 2))):
        for a, b in zip(directions(expert, K, xp), flat, strict=True):
            np.testing.assert_allclose(a.reshape(3, 8), b, rtol=0, atol=1e-12)


def test_a_dead_matrix_of_a_stack_stops_and_the_others_do_not():
    (d,) = alone(Muon(), Blocks((np.stack([RNG.normal(size=(3, 3)), np.zeros((3, 3))]),))).arrays
    assert not d[1].any()
    assert np.sqrt(np.mean(d[0] ** 2)) == pytest.approx(0.2, rel=1e-12)


def test_a_batch_of_vectors_is_one_vector_at_a_time(xp):
    flat, x = Muon(shapes=[(3, 2), (4,)]), RNG.normal(size=(2, 10))
    found = numpy_of(xp.transform(lambda m: flat.direction(flat.init(m), m))(xp.array(x)))
    for row in range(2):
        d = alone(Muon(), Blocks((mat(x[row, :6], 3, 2),))).arrays[0]
        np.testing.assert_allclose(found[row, :6], vec(d), rtol=0, atol=1e-12)


def test_other_blocks_take_the_fallback_and_do_not_look_ahead():
    expert, m = Muon(fallback=Momentum()), Blocks((np.ones(3), np.ones((3, 2)), np.ones(())))
    assert [direction.name for direction in expert.on(m)] == ["momentum", "muon", "momentum"]
    ahead = Blocks(tuple(2 * a for a in m.arrays))
    seen = expert.seen(ahead, m)
    assert [a is b for a, b in zip(seen.arrays, m.arrays, strict=True)] == [True, False, True]
    assert expert.direction(expert.init(m), seen).arrays[0] is m.arrays[0]
    flat = Muon(shapes=[(3, 2), (4,)])
    np.testing.assert_array_equal(flat.seen(np.ones(10), np.zeros(10)), [1.0] * 6 + [0.0] * 4)


WRONG = {
    "steps": (lambda: Muon(steps=0), ValueError, "`Muon(steps=...)` must be a whole number of at least 1; got 0"),
    "a name": (lambda: Muon(coefficients="fast"), ValueError, "`Muon(coefficients=...)`", "'dion'", "got 'fast'"),
    "two": (lambda: Muon(coefficients=(1.5, -0.5)), ValueError, "`Muon(coefficients=...)`", "got (1.5, -0.5)"),
    "none": (lambda: Muon(coefficients=()), ValueError, "`Muon(coefficients=...)`", "got ()"),
    "infinite": (lambda: Muon(coefficients=(1, 2, float("inf"))), ValueError, "`Muon(coefficients=...)`", "inf"),
    "length": (lambda: Muon(length=0.0), ValueError, "`Muon(length=...)`", "positive; got 0.0"),
    "a rule": (lambda: Muon(length="long"), ValueError, "`Muon(length=...)`", "'original'", "got 'long'"),
    "an array": (lambda: Muon().init(np.ones(3)), ValueError, "`Muon(shapes=...)` must be given", "got none"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)


@pytest.mark.parametrize(("precision", "rounding"), [("bfloat16", 2**-8), ("float32", 2**-23), ("float64", 2**-52)])
def test_products_are_made_in_a_precision(precision, rounding):
    """In the front end and the core. Small singular values grow by 3.4445 in every step, and so does their rounding."""
    A = RNG.normal(size=(3, 6, 4))
    exact, tolerance = newton_schulz(A), 3.4445**5 * rounding
    for found in (
        newton_schulz(torch.as_tensor(A), precision=precision),
        Muon(precision=precision).matrix(torch.as_tensor(A)),
        newton_schulz(jnp.asarray(A), precision=precision),
    ):
        assert str(found.dtype).endswith("float64")
        error = np.abs(np.asarray(found) - exact).max()
        assert error < tolerance
        assert error > rounding / 20 or precision == "float64"
    params = [torch.nn.Parameter(torch.tensor(a)) for a in A]
    for p, a in zip(params, A, strict=True):
        p.grad = torch.tensor(a)
    Hedged(params, 1.0, ("muon",), scale="fixed", precision=precision).step()
    for p, a, Z in zip(params, A, exact, strict=True):
        np.testing.assert_allclose(p.detach(), a - 0.2 * Z / np.sqrt(np.mean(Z**2)), rtol=0, atol=tolerance)


def test_a_precision_is_kept_in_checkpoints():
    one, two = (Hedged([torch.nn.Parameter(torch.ones(2, 2))], precision=p) for p in ("bfloat16", None))
    check(
        lambda: two.load_state_dict(one.state_dict()), ValueError, "precision of group 0 was bfloat16 and is None here"
    )
    sentence = "`precision` must be None, 'bfloat16', 'float32', 'float64'; got 'half'"
    check(lambda: Hedged([torch.nn.Parameter(torch.ones(2, 2))], precision="half"), ValueError, sentence)
    check(lambda: Muon(precision=16), ValueError, "`Muon(precision=...)` must be None, 'bfloat16'", "got 16")
    check(
        lambda: newton_schulz(np.eye(2), precision="bfloat16"),
        ValueError,
        "`precision` must be a dtype that the library",
    )
