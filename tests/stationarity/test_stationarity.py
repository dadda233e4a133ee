"""The measure: the online recursion is the direct sum, better weights are better, and a lower bound is below."""

import numpy as np
import pytest
from scipy import optimize

from conftest import numpy_of
from o2nc import Nonsmooth, NonsmoothConversion
from o2nc.certificates import output_weight
from o2nc.lab.nonsmooth.theory import sandwich
from o2nc.lab.objectives import objective
from o2nc.oracles import Constant
from o2nc.stationarity import Witness, best_mixture, lower_bound, measure, mix, point

RNG = np.random.default_rng(5)
Y, G = RNG.normal(size=(2, 30, 4, 3))  # rounds, replications, coordinates


def direct(weights, y, g, lam):
    """Definition 2 for a distribution with the given weights on the first axis."""
    mean = np.tensordot(weights, y, 1)
    gradient = np.linalg.norm(np.tensordot(weights, g, 1), axis=-1)
    spread = np.tensordot(weights, np.sum((y - mean) ** 2, axis=-1), 1)
    return mean, gradient + lam * spread


def test_the_recursion_is_the_direct_sum(xp):
    """Geometric weights, on every array library, replications on a leading axis."""
    a = 0.15

    def step(W, y, g, share):
        return mix(W, share, point(y, g))

    step, W = xp.transform(step), point(xp.array(Y[0]), xp.array(G[0]))
    for t in range(2, 31):
        share = xp.array([a / (1 - (1 - a) ** t)])
        W = step(W, xp.array(Y[t - 1]), xp.array(G[t - 1]), share)
    weights = [output_weight(a, 30, s) for s in range(1, 31)]
    mean, value = direct(weights, Y, G, lam=0.7)
    np.testing.assert_allclose(numpy_of(W.y), mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(numpy_of(measure(W, 0.7))[:, 0], value, rtol=1e-12)


def test_mixtures_of_mixtures():
    """A window and everything before it, as one atom, are the whole."""
    equal = lambda y, g: Witness(*(np.asarray(v) for v in _equal(y, g)))

    def _equal(y, g):
        W = point(y[0], g[0])
        for i in range(1, len(y)):
            W = mix(W, 1 / (i + 1), point(y[i], g[i]))
        return W

    whole = equal(Y, G)
    parts = mix(equal(Y[:20], G[:20]), 1 / 3, equal(Y[20:], G[20:]))
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_the_witness_of_algorithm_2_is_at_its_output():
    c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=40, a=0.1, eta=0.05, rho=0.1)
    conversion = NonsmoothConversion(Constant(), c)
    y = np.asarray([0.5, -0.3])
    state, W = conversion.init(y), None
    for t, r in enumerate(RNG.random(40), start=1):
        W = point(y, np.sign(y)) if W is None else mix(W, c.a / (1 - c.b**t), point(y, np.sign(y)))
        dy, state = conversion.update(np.sign(y), state, y, r=r)
        y = y + dy
    np.testing.assert_allclose(W.y, state.average.mean, rtol=1e-12)
    assert 0 < W.spread[0] < 0.1


def atoms(n, d, seed):
    rng = np.random.default_rng(seed)
    y, g, v = rng.normal(size=(n, d)), rng.normal(size=(n, d)), rng.random((n, 1))
    weights = rng.dirichlet(np.ones(n))
    return Witness(y, g, v), weights, weights @ y


@pytest.mark.parametrize("seed", range(6))
def test_the_best_weights_equal_those_of_a_linear_program(seed):
    """In one dimension the norm is linear: scipy's HiGHS solves the same problem in another form."""
    found, weights, y = atoms(12, 1, seed)
    lam = 10.0 ** (seed - 3)
    best = best_mixture(found, y, lam, weights)
    cost = lam * (found.spread[:, 0] + (found.y[:, 0] - y) ** 2)
    g = found.g[:, 0]
    program = optimize.linprog(
        np.append(cost, 1.0),
        A_ub=np.stack([np.append(g, -1.0), np.append(-g, -1.0)]),
        b_ub=np.zeros(2),
        A_eq=np.stack([np.append(np.ones(12), 0.0), np.append(found.y[:, 0], 0.0)]),
        b_eq=np.append(1.0, y),
    )
    before = abs(weights @ g) + weights @ cost
    assert program.fun - 1e-9 <= best.value <= program.fun + 1.01e-5 * before + 1e-8  # 1e-5 of the old weights is kept


@pytest.mark.parametrize(("n", "d"), [(6, 2), (40, 5), (60, 20)])
def test_the_best_weights_are_exact_and_better(n, d):
    found, weights, y = atoms(n, d, n)
    best = best_mixture(found, y, 0.3, weights)
    p = best.weights
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(p @ found.y, y, atol=1e-11)

    def value(q):
        inside = found.spread[:, 0] + np.sum((found.y - y) ** 2, axis=1)
        return np.linalg.norm(q @ found.g) + 0.3 * q @ inside

    assert best.value == pytest.approx(value(p), rel=1e-12)
    assert best.value < value(weights)
    # no feasible neighbour is better: random feasible mixtures of other weights with the same mean
    rng = np.random.default_rng(0)
    null = np.linalg.svd(np.vstack([np.ones(n), found.y.T]))[2][d + 1 :]
    for _ in range(200):
        q = p + 0.05 * rng.random() * rng.normal(size=len(null)) @ null
        assert q.min() < 0 or value(q) > best.value - 1e-4


def test_too_few_atoms_leave_no_choice():
    """n <= d + 1 points in general position: the weights of a mean are unique."""
    found, weights, y = atoms(4, 3, 0)
    np.testing.assert_allclose(best_mixture(found, y, 1.0, weights).weights, weights, atol=1e-9)


BOWL = objective("bowl", "nonsmooth")


def test_the_enclosure_of_the_bowl_encloses():
    low = RNG.uniform(-1.3, 1.2, size=(500, 2))
    high = low + RNG.exponential(0.3, size=(500, 2))
    g_low, g_high = BOWL.enclosure(low, high)
    for share in RNG.random((50, 500, 2)):
        g = BOWL.value_and_gradient(low + share * (high - low))[1]
        assert np.all((g_low <= g) & (g <= g_high))


@pytest.mark.parametrize("lam", [0.3, 3.0, 30.0])
def test_every_lower_bound_is_below_every_witness(lam):
    """Any u and v, however bad, against random distributions with the same mean."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        y = rng.uniform(-1.2, 1.2, size=2)
        u, v = rng.normal(size=(2, 2))
        low = lower_bound(y, u, lam * 0.3 * v, BOWL.enclosure, BOWL.L, lam, cells=48)
        for size in (0.05, 0.3, 1.0):
            w = rng.dirichlet(np.ones(5))
            points = rng.normal(size=(5, 2)) * size
            points = points - w @ points + y
            assert low <= direct(w, points, BOWL.value_and_gradient(points)[1], lam)[1] + 1e-12


def test_the_lower_bound_is_the_measure_of_the_absolute_value():
    """f = |x| at 1 with lam = 1/4: half of the mass below 0 and half at 2, measure lam; the dual reaches it."""
    steps = lambda low, high: (np.where(low > 0, 1.0, -1.0), np.where(high >= 0, 1.0, -1.0))
    bounds = [lower_bound([1.0], [0.5], [-0.5], steps, 1.0, 0.25, cells=cells) for cells in (16, 256, 4096)]
    assert bounds == sorted(bounds)
    assert 0.25 - 8 / 4096 <= bounds[-1] <= 0.25  # phi has the slope -1 below 0, and a box has the width 8 / 4096


def test_the_measure_from_both_sides():
    low, high = sandwich(BOWL, np.asarray([0.6, 0.7]), lam=10.0)
    assert 0.9 < low / high <= 1
    low, high = sandwich(BOWL, np.asarray([2.0, 2.0]), lam=10.0)  # on the plateau
    assert low <= 0 <= high < 1e-12


def test_errors_are_sentences():
    with pytest.raises(ValueError, match="`y` must have one or two coordinates for a lower bound"):
        lower_bound(np.zeros(3), np.zeros(3), np.zeros(3), BOWL.enclosure, 1.0, 1.0)
    with pytest.raises(ValueError, match="`cells` must be at least 1; got 0"):
        lower_bound(np.zeros(2), np.zeros(2), np.zeros(2), BOWL.enclosure, 1.0, 1.0, cells=0)
    with pytest.raises(ValueError, match="`lam` must be finite and positive"):
        lower_bound(np.zeros(2), np.zeros(2), np.zeros(2), BOWL.enclosure, 1.0, 0.0)


@pytest.mark.parametrize(
    ("weights", "lam", "sentence"),
    [
        ([0.5, 0.5], 1.0, "the mean `y`; it is off by 5"),
        ([-1.0, 2.0], 1.0, "nonnegative numbers that sum to 1"),
        ([0.5, 0.4], 1.0, "nonnegative numbers that sum to 1"),
        ([1.0], 1.0, "2 nonnegative numbers"),
        ([0.5, 0.5], -1.0, "`lam`"),
    ],
)
def test_a_mixture_that_is_none_is_a_sentence(weights, lam, sentence):
    x = np.asarray([[-1.0], [1.0]])
    with pytest.raises(ValueError, match=sentence):
        best_mixture(Witness(x, np.sign(x), np.zeros((2, 1))), np.asarray([5.0]), lam, weights)


def test_shares_and_weights_of_the_spread_are_checked():
    p = point(np.zeros(1), np.ones(1))
    with pytest.raises(ValueError, match="`share` must lie in"):
        mix(p, 2.0, p)
    with pytest.raises(ValueError, match="`lam`"):
        measure(p, lam=-1.0)
    with pytest.raises(ValueError, match="`g` must have the shape"):
        point(np.zeros(2), np.ones(3))


@pytest.mark.parametrize("scale", [10.0**k for k in range(-12, 13, 3)])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_rounding_of_the_mean_is_not_refused_at_any_scale(scale, shift):
    """The mean is rounded in units of its size, not of the atoms' distance: with shift 1 and 1e-12 it was refused."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        y = shift + scale * rng.normal(size=(6, 3))
        weights = rng.dirichlet(np.ones(6))
        atoms = Witness(y, rng.normal(size=(6, 3)), np.zeros((6, 1)))
        best = best_mixture(atoms, weights @ y, 1.0, weights)
        assert np.isfinite(best.value)
        assert best.value <= np.linalg.norm(weights @ atoms.g) + float(weights @ np.sum((y - weights @ y) ** 2, axis=1))


def test_a_mean_that_is_off_is_refused():
    y = 1.0 + np.asarray([[0.0], [1e-3]])
    atoms = Witness(y, np.ones((2, 1)), np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"must give the atoms the mean `y`; it is off by 0.0005"):
        best_mixture(atoms, y[0], 1.0, np.asarray([0.5, 0.5]))
