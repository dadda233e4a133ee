"""Algorithm 1 in phases that double: the literal algorithm phase by phase, and the bound of the whole run."""

import math
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import reference
from conftest import numpy_of
from o2nc import Smooth
from o2nc.certificates import (
    descent_lower_bound,
    phases,
    sharp_factors,
    theorem1_doubling,
    theorem1_sharp,
    tracker_error,
)
from o2nc.conversions import DoublingConversion, UntunedConversion
from o2nc.operators import Dense, Diagonal, Identity
from o2nc.optax import convert, report
from o2nc.oracles import Constant, Hedge
from o2nc.torch import Converted

D, RUNS, GAMMA = 3, 2, 0.7
FIRST = Smooth.paper(M=2.0, beta=1.0, sigma=0.7, T=3)  # a_i = 1, 0.82, 0.58: the rate changes with the phase
SWAP = np.eye(D)[::-1].copy()
LITERAL = [np.eye(D).tolist(), SWAP.tolist()]
RNG = np.random.default_rng(0)
X1 = RNG.normal(size=(RUNS, D))
NOISE = RNG.normal(size=(3 + 6 + 12, RUNS, D))


def test_it_is_algorithm_1_phase_by_phase_with_one_oracle(xp):
    conversion = DoublingConversion(Hedge([Identity(), Dense(xp.array(SWAP))], gamma=GAMMA), FIRST)
    update = xp.transform(conversion.update)
    x, state = xp.array(X1), conversion.init(xp.array(X1))
    points = [X1]
    for xi in NOISE:
        dx, state = update(xp.array(3 * np.sin(points[-1]) + xi), state)
        x = x + dx
        points.append(numpy_of(x))
    assert [int(numpy_of(state.t)[0]), int(numpy_of(state.T)[0])] == [1, 24]
    assert float(numpy_of(state.run.clipped).sum()) > 0
    np.testing.assert_array_equal(numpy_of(state.run.m), 0.0)
    for run in range(RUNS):
        oracle = reference.Hedge(LITERAL, [0.5, 0.5], lambda t, E: GAMMA)
        start, begin, total, trajectory = X1[run].tolist(), 0, 0.0, []
        for T in (3, 6, 12):
            sample = lambda t, x, run=run, begin=begin: (3 * np.sin(x) + NOISE[begin + t - 1, run]).tolist()
            found, regret, _ = reference.algorithm_1(oracle, sample, start, FIRST.M, FIRST.beta, FIRST.sigma, T)
            start, begin, total = found[-1], begin + T, total + regret
            trajectory += found[:-1]
        np.testing.assert_allclose(np.stack(points)[:, run], [*trajectory, start], rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.run.regret)[run], [total], rtol=0, atol=1e-12)


def test_the_phases_are_filled_one_after_another():
    for T0, N in ((1, 1), (1, 2), (5, 4), (5, 5), (5, 6), (3, 1000)):
        found = phases(T0, N)
        assert sum(n for _, n in found) == N
        assert [T for T, _ in found] == [2**i * T0 for i in range(len(found))]
        assert all(n == T for T, n in found[:-1])
        assert 1 <= found[-1][1] <= found[-1][0]
        assert len(found) <= max(math.log2(N / T0) + 2, 1)


@pytest.mark.parametrize("kappa", [0.0, 1.0, 16.0])
@pytest.mark.parametrize("N", [3, 7, 100, 93])  # inside the first phase, and 93 = 3 + 6 + 12 + 24 + 48
def test_the_bound_follows_from_the_lemmas(N, kappa):
    """The largest S that the three inequalities of the proof allow, each from the function of its lemma."""
    c, R = Smooth.paper(M=2.0, beta=3.0, sigma=1.3, T=3), 0.7
    rates = [(replace(c, T=T).a, n) for T, n in phases(3, N)]
    fall = -descent_lower_bound(c.G, rates[-1][0], 0.0)
    charge = 2 * max(kappa, 1.0) * -(descent_lower_bound(0.0, 1.0, 1.0))  # a <= 1 and |m|^2 <= 2|g|^2 + 2|e|^2
    error = sum(tracker_error(c.G, a, c.sigma**2 * n, 0.0) for a, n in rates)
    share = tracker_error(0.0, 1.0, 0.0, 1.0)
    # S <= fall + G R + (S/4 + E) + charge (S + E) with E = error + share S
    S = (fall + c.G * R + (1 + charge) * error) / (1 - 1 / 4 - charge - (1 + charge) * share)
    assert theorem1_doubling(c, R, N, kappa=kappa).bound == pytest.approx(S / N, rel=1e-12)


def test_the_phases_pay_for_the_range_once():
    """Abel's summation for values in [0, M] and weights that do not decrease; reached by a fall in the last phase."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        k = int(rng.integers(1, 8))
        w, F = np.sort(rng.exponential(size=k)), 3.0 * rng.choice([0.0, 0.5, 1.0], size=k + 1)
        assert np.sum(w * (F[:-1] - F[1:])) <= 3.0 * w[-1] + 1e-12
        F = np.asarray([3.0] * k + [0.0])
        assert np.sum(w * (F[:-1] - F[1:])) == pytest.approx(3.0 * w[-1])


@pytest.mark.parametrize("kappa", [0.0, 16.0])
def test_one_phase_is_theorem_1_and_more_phases_are_less_than_their_sum(kappa):
    c = Smooth.paper(M=2.0, beta=3.0, sigma=1.3, T=40)
    assert theorem1_doubling(c, 0.7, 40, kappa=kappa).bound == pytest.approx(theorem1_sharp(c, 0.7, kappa=kappa).bound)
    each = [T * theorem1_sharp(replace(c, T=T), 0.7, kappa=kappa).bound for T, _ in phases(40, 600)]
    assert 600 * theorem1_doubling(c, 0.7 * 4, 600, kappa=kappa).bound < 0.6 * sum(each)


@pytest.mark.parametrize("sigma", [0.0, 0.01, 1.0, 50.0])
@pytest.mark.parametrize("T0", [1, 7, 100])
def test_the_rate_that_the_docstring_states(T0, sigma):
    """168 at every N >= T_0, and 101 where a phase ends."""
    c = Smooth.paper(M=2.0, beta=3.0, sigma=sigma, T=T0)
    ends = {T0 * (2**k - 1) for k in range(1, 20)}
    for N in sorted(ends | {end + 1 for end in ends} | set(range(T0, T0 + 300))):
        k, factor = len(phases(T0, N)), 101 if N in ends else 168
        rate = factor * c.sigma * c.G / math.sqrt(N) + 8192 / 5951 * c.G * 5.0 / N + (89 + 9 * k) * c.G**2 / N
        assert theorem1_doubling(c, 5.0, N).bound <= rate


def test_the_numbers_of_the_rate():
    """The steps of the proof, in the words of the theory page; the second display loses less than 1% at its worst."""
    c1, c2, c3 = sharp_factors()
    assert c1 == 64 * c2 + 2 * c3
    assert 64 * c2 <= 89
    assert 2 * c3 <= 9
    roots = lambda N: sum(math.sqrt(T) for T, _ in phases(1, N)) / math.sqrt(N)
    assert 0.999 * (1 + math.sqrt(2)) < roots(2**24 - 1) < 1 + math.sqrt(2)
    assert 0.999 * (2 + math.sqrt(2)) < roots(2**24) < 2 + math.sqrt(2)
    inside = 64 * c2 * math.sqrt(2) + 3 * c3 * (2 + math.sqrt(2))
    assert 0.99 * 168 < inside < 168
    ends = [64 * c2 * math.sqrt(2 ** (k - 1) / (2**k - 1)) + 3 * c3 * roots(2**k - 1) for k in range(1, 30)]
    assert max(ends) == ends[0] == pytest.approx(100.68, abs=0.01)
    assert ends[1] == pytest.approx(89.5, abs=0.05)
    assert max(ends[2:]) < 64 * c2 * math.sqrt(4 / 7) + 3 * c3 * (1 + math.sqrt(2)) < 98


def test_the_average_squared_gradient_is_below_the_bound_at_every_round():
    """Cosines with noise from the top of the hills; the regret of Hedge is measured, the bound is of every prefix."""
    R, d, N = 64, 4, 1500
    c = Smooth.paper(M=2.0 * d, beta=1.0, sigma=0.6, T=50)
    oracle = Hedge([Identity(), Diagonal(np.asarray([1.0, 0.0, 1.0, 0.0]))])
    rng = np.random.default_rng(3)
    for learner in (Constant(), oracle):
        conversion = DoublingConversion(learner, c)
        x = np.full((R, d), math.pi - 0.3)
        state, total = conversion.init(x), 0.0
        for t in range(1, N + 1):
            g = np.sin(x)
            total += float(np.mean(np.sum(g * g, axis=-1)))
            noise = c.sigma / math.sqrt(d) * rng.choice([-1.0, 1.0], size=x.shape)
            dx, state = conversion.update(g + noise, state)
            x = x + dx
            assert total / t <= theorem1_doubling(c, float(np.mean(state.run.regret)), t).bound
        assert total / N > 1e-3


@pytest.mark.parametrize(
    ("make", "theorem"),
    [
        (lambda oracle: DoublingConversion(oracle, FIRST), "Theorem 1, doubling (plug-in)"),
        (UntunedConversion, "there is no certificate of UntunedConversion"),
    ],
    ids=["doubling", "untuned"],
)
def test_the_front_ends_run_it(make, theorem):
    """The same points in torch and in Optax as by hand; after any round the theorem with phases, or no theorem."""
    conversion = make(Hedge([Identity(), Identity()]))
    x, tensor, params = np.ones(2), torch.ones(2, dtype=torch.float64, requires_grad=True), jnp.ones(2)
    optimizer, transformation = Converted([tensor], conversion, fresh_samples=True), convert(conversion)
    state, tree = conversion.init(x), transformation.init(params)
    for _ in range(10):
        dx, state = conversion.update(np.sin(x), state)
        x = x + dx
        tensor.grad = torch.sin(tensor.detach())
        optimizer.step()
        updates, tree = transformation.update(jnp.sin(params), tree, params)
        params = params + updates
    np.testing.assert_allclose(tensor.detach().numpy(), x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.asarray(params), x, rtol=0, atol=1e-12)
    found = optimizer.certificate()
    name = optimizer.reason if found is None else f"{found.name.split(':')[0]} ({found.label})"
    assert name == theorem
    assert report(tree).bound is None
    assert report(tree).weights.tolist() == [0.5, 0.5]


def test_what_is_no_number_of_rounds_is_refused():
    with pytest.raises(ValueError, match=r"`rounds` must be a whole number, at least 1; got 0\."):
        theorem1_doubling(FIRST, 0.0, 0)
    with pytest.raises(TypeError, match="`constants` must be Smooth"):
        DoublingConversion(Constant(), 3.0)
