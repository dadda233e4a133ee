"""`o2nc.optax.convert`: the numbers of the core on any tree, under jit, vmap and scan, wherever the arrays are."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import o2nc
from o2nc import Blocks, Nonsmooth, NonsmoothConversion, SegmentConversion, Smooth, SmoothConversion, directions
from o2nc.conversions import PredictionConversion
from o2nc.operators import Blockwise, Dense, Identity, Projector
from o2nc.optax import certificate, convert, eval_params, report
from o2nc.optax import hedge as practical
from o2nc.oracles import OGD, AdaGrad, Adaptive, Constant, Hedge, Product
from o2nc.rivals import SGD, Adam, ClippedFTRL, ExponentiatedConversion, ShiftingConversion
from o2nc.sets import Box
from sentences import check

HERE = Path(__file__).parent
ROUNDS = 6
RNG = np.random.default_rng(0)
TREE = {"w": RNG.normal(size=(2, 3)), "none": None, "b": [RNG.normal(size=2)]}
NOISE = jax.tree.map(lambda a: 0.5 * RNG.normal(size=(ROUNDS, *np.shape(a))), TREE)
SMOOTH = Smooth.paper(M=8.0, beta=1.0, sigma=0.5, T=ROUNDS)
NONSMOOTH = Nonsmooth(L=1.5, M=8.0, sigma=0.5, lam=0.05, T=ROUNDS)
LEAVES = [np.asarray(a) for a in jax.tree.leaves(TREE)]  # b[0], w


def hedge(xp):
    mask = Projector.from_mask(xp.asarray([True, False]))
    return Hedge([Identity(), Blockwise([mask, Identity()])], gamma=0.5)


def conversions(xp):
    return {
        "Algorithm 1": SmoothConversion(hedge(xp), SMOOTH),
        "one learner a leaf": SmoothConversion(Product([OGD(Box()), AdaGrad(Box())]), SMOOTH),
        "segment, end": SegmentConversion(Adaptive([directions.Momentum(), directions.Adam()]), SMOOTH, r=1.0),
        "segment, uniform": SegmentConversion(Constant(), SMOOTH, r=None),
        "Algorithm 2": NonsmoothConversion(hedge(xp), NONSMOOTH),
        "shifting": ShiftingConversion.tuned(NONSMOOTH),
        "clipped Adam": ExponentiatedConversion(ClippedFTRL(D=0.1, b=0.9), T=ROUNDS),
        "SGD": SGD(eta=0.1),
        "Adam": Adam(eta=0.1),
    }


CONVERSIONS, ON_NUMPY = conversions(jnp), conversions(np)


def sample(x, noise):
    return jax.tree.map(lambda a, n: 3 * jnp.sin(a) + n, x, noise)


def on_jax(conversion, seed=0):
    """Points and states of every round, by one scan."""
    tx = convert(conversion, seed)

    def one(carry, noise):
        x, state = carry
        updates, state = tx.update(sample(x, noise), state, x)
        x = optax.apply_updates(x, updates)
        return (x, state), (x, state)

    x = jax.tree.map(jnp.asarray, TREE)
    return jax.lax.scan(one, (x, tx.init(x)), NOISE)[1]


scanned = jax.jit(on_jax, static_argnums=0)
replicated = jax.jit(jax.vmap(on_jax, in_axes=(None, 0)), static_argnums=0)


def coins(seed, has_output):
    """The stream as it is documented: one split a round, and one before the first for tau."""
    key = jax.random.key(seed)
    u = None
    if has_output:
        key, used = jax.random.split(key)
        u = float(jax.random.bits(used, (1,), jnp.uint32)[0]) / 2**32
    r = []
    for _ in range(ROUNDS):
        key, used = jax.random.split(key)
        r.append(np.asarray(jax.random.uniform(used, (1,), jnp.float64)))
    return u, r


def on_numpy(conversion, seed=0):
    """The same by the core, on NumPy."""
    x = Blocks(tuple(LEAVES))
    u, r = coins(seed, "tau" in conversion.needs)
    state = conversion.init(x, tau=None if u is None else conversion.tau(u, ROUNDS))
    points, states = [], []
    for t in range(ROUNDS):
        s = Blocks(tuple(3 * np.sin(a) + n[t] for a, n in zip(x.arrays, jax.tree.leaves(NOISE), strict=True)))
        dx, state = conversion.update(s, state, x, r=r[t] if "r" in conversion.needs else None)
        x = x + dx
        points.append(x)
        states.append(state)
    return points, states


def assert_equal(found, wanted, atol=1e-12):
    found, wanted = jax.tree.leaves(found), jax.tree.leaves(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=atol)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_the_numbers_are_those_of_the_core(name):
    conversion = CONVERSIONS[name]
    points, states = on_numpy(ON_NUMPY[name], seed=3)
    x, state = scanned(conversion, 3)
    for t in range(ROUNDS):
        at = lambda tree, t=t: jax.tree.map(lambda a: a[t], tree)
        assert_equal(at(x), points[t])
        assert_equal(at(state.conversion), states[t])
    assert state.count.tolist() == list(range(1, ROUNDS + 1))
    assert x["none"] is None


def test_without_jit():
    conversion = CONVERSIONS["segment, uniform"]
    tx, x = convert(conversion, seed=3), jax.tree.map(jnp.asarray, TREE)
    state = tx.init(x)
    for t in range(2):
        updates, state = tx.update(sample(x, jax.tree.map(lambda n, t=t: n[t], NOISE)), state, x)
        x = optax.apply_updates(x, updates)
    assert_equal((x, state), jax.tree.map(lambda a: a[1], scanned(conversion, 3)))


def test_replications_by_vmap_over_seeds():
    conversion = CONVERSIONS["Algorithm 2"]
    together = replicated(conversion, jnp.asarray([1, 3]))
    for k, seed in enumerate((1, 3)):
        assert_equal(jax.tree.map(lambda a, k=k: a[k], together), scanned(conversion, seed))
    assert not jnp.any(together[0]["w"][0, 1:] == together[0]["w"][1, 1:])  # the coins differ


def test_the_round_of_the_output_has_its_law():
    """c_t / T for t < T, the rest at T: 4,000 seeds, five standard deviations."""
    constants = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=4, a=0.5, eta=0.1, rho=0.1)
    conversion = NonsmoothConversion(Constant(), constants)
    draw = jax.vmap(lambda seed: convert(conversion, seed).init(jnp.zeros(1)).conversion.average.tau)
    tau = np.asarray(jax.jit(draw)(jnp.arange(4000)))
    law = np.diff([0.0, 0.125, 0.3125, 0.53125, 1.0])
    for t, p in enumerate(law, start=1):
        assert abs(np.mean(tau == t) - p) < 5 * np.sqrt(p * (1 - p) / 4000)


def test_the_output_point():
    """eval_params is y_bar_tau, inside other transformations too, and the parameters where there is no such point."""
    x, state = scanned(CONVERSIONS["Algorithm 2"], 3)
    last = jax.tree.map(lambda a: a[-1], (x, state))
    _, states = on_numpy(ON_NUMPY["Algorithm 2"], 3)
    assert_equal(eval_params(last[1], last[0]), states[-1].average.output)
    assert_equal(jax.jit(eval_params)((optax.EmptyState(), (last[1],)), last[0]), states[-1].average.output)

    x, state = scanned(CONVERSIONS["SGD"], 3)
    assert eval_params(state, x) is x

    start = jax.tree.map(jnp.asarray, TREE)
    assert_equal(eval_params(convert(CONVERSIONS["Algorithm 2"]).init(start), start), start)

    mask = {"w": True, "none": None, "b": False}
    tx = optax.masked(convert(NonsmoothConversion(Constant(), NONSMOOTH)), mask)
    _, state = tx.update(start, tx.init(start), start)
    moved = jax.tree.map(lambda a: a + 1, start)
    assert_equal(eval_params(state, moved), {**moved, "w": start["w"]})  # y_bar_1 = y_1


def test_the_report_is_the_certificate_of_minimize():
    """Algorithm 1 has no coins: the front doors agree, and the bound appears when the last round is over."""
    constants = Smooth.paper(M=2.0, beta=1.0, sigma=0.0, T=6)
    oracle = Hedge([Identity(), Dense(0.5 * np.eye(3))], gamma=0.7)
    result = o2nc.minimize(lambda x, rng: np.sin(x), np.ones(3), oracle=oracle, constants=constants)
    conversion = SmoothConversion(Hedge([Identity(), Blockwise([Dense(0.5 * jnp.eye(3))])], gamma=0.7), constants)
    tx = convert(conversion)

    @jax.jit
    def step(x, state):
        updates, state = tx.update(jnp.sin(x), state, x)
        return x + updates, state, report(state)

    x, state, bounds = jnp.ones(3), tx.init(jnp.ones(3)), []
    for _ in range(6):
        x, state, found = step(x, state)
        bounds.append(float(found.bound))
    np.testing.assert_allclose(found.weights, oracle.weights(result.state.oracle), atol=1e-12)
    np.testing.assert_allclose(found.regret, result.regret[0], atol=1e-12)
    assert bounds[:-1] == [np.inf] * 5
    np.testing.assert_allclose(bounds[-1], result.certificate.bound, rtol=1e-12)
    found = certificate(conversion, (state, optax.EmptyState()))
    np.testing.assert_allclose(found.bound, result.certificate.bound, rtol=1e-12)
    assert found.label == result.certificate.label == "plug-in"
    _, late, _ = step(x, state)
    assert float(report(late).bound) == np.inf
    check(lambda: certificate(conversion, late), ValueError, "T = 6")
    other = practical().init(x)
    check(
        lambda: certificate(conversion, other),
        TypeError,
        "must be what `SmoothConversion.init` makes, a Tracked; got a Pra",
    )


@pytest.mark.parametrize("name", ["Algorithm 1", "segment, end", "segment, uniform", "Algorithm 2"])
def test_every_theorem_is_affine_in_the_regret(name):
    conversion = CONVERSIONS[name]
    _, state = scanned(conversion, 3)
    wanted = conversion.theorem(float(state.report.regret[-1])).bound
    if state.report.clipped[-1] > 0.5:  # the constants are too small for these samples: no bound
        wanted = np.inf
    np.testing.assert_allclose(state.report.bound[-1], wanted, rtol=1e-12)


def test_the_bound_of_a_run_within_its_constants():
    wide = SmoothConversion(CONVERSIONS["Algorithm 1"].oracle, replace(SMOOTH, M=800.0))
    _, state = scanned(wide, 3)
    assert float(state.report.clipped[-1]) == 0
    wanted = wide.theorem(float(state.report.regret[-1])).bound
    np.testing.assert_allclose(state.report.bound[-1], wanted, rtol=1e-12)


def test_the_certificate_of_replications():
    conversion = CONVERSIONS["Algorithm 2"]
    states = jax.tree.map(lambda a: a[:, -1], replicated(conversion, jnp.asarray([1, 3]))[1])
    found = certificate(conversion, states)
    assert (found.label, found.replications) == ("a-posteriori", 2)
    np.testing.assert_allclose(found.bound, np.mean(np.asarray(report(states).bound)), rtol=1e-12)
    check(lambda: jax.jit(lambda s: certificate(conversion, s))(states), TypeError, "outside `jit`")


def test_wrong_constants_are_noticed():
    conversion = SmoothConversion(Constant(), Smooth.paper(M=1e-6, beta=1e-6, sigma=0.0, T=3))
    tx = convert(conversion)
    x = jnp.ones(2)
    state = tx.init(x)
    for _ in range(3):
        dx, state = tx.update(jnp.ones(2), state, x)
        x = x + dx
    assert float(report(state).clipped) == 1.0
    check(lambda: certificate(conversion, state), ValueError, "`conversion`", "projected in 100% of the rounds")


class Longer:
    """An operator that is no contraction."""

    def __matmul__(self, v):
        return 1.5 * v


@pytest.mark.parametrize(("make", "needs"), [(SmoothConversion, True), (PredictionConversion, False)])
def test_contractions_are_asked_for_where_the_theorem_needs_them(make, needs):
    conversion = make(Constant(Longer()), Smooth(gap=4.0, beta=1.0, sigma=0.0, T=3))
    tx = convert(conversion)
    x = jnp.ones(2)
    state = tx.init(x)
    for _ in range(3):
        dx, state = tx.update(jnp.ones(2), state, x)
        x = x + dx
    if needs:
        assert float(report(state).bound) == np.inf
        check(lambda: certificate(conversion, state), ValueError, "`conversion`", "norm above 1 in 2 rounds")
    else:
        np.testing.assert_allclose(report(state).bound, certificate(conversion, state).bound, rtol=1e-12)


SHARDED = """
import jax, jax.numpy as jnp, numpy as np, optax
from jax.sharding import NamedSharding, PartitionSpec as P
from test_convert import CONVERSIONS, assert_equal, sample
from o2nc.optax import convert, hedge

mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
rng = np.random.default_rng(0)
x1 = {"b": rng.normal(size=2), "w": rng.normal(size=(2, 4))}
specs = {"b": P(), "w": P(None, "d")}
put = lambda tree: jax.tree.map(lambda a, spec: jax.device_put(a, NamedSharding(mesh, spec)), tree, specs)
conversions = [CONVERSIONS[name] for name in ("segment, end", "clipped Adam")]
for tx in (*map(convert, conversions), hedge(0.1, ["momentum", "adam"]), hedge()):
    runs = []
    step = jax.jit(lambda x, state: (lambda u, s: (optax.apply_updates(x, u), s))(*tx.update(sample(x, x), state, x)))
    for x in (jax.tree.map(jnp.asarray, x1), put(x1)):
        state = first = tx.init(x)
        for _ in range(4):
            x, state = step(x, state)
        runs.append((x, state))
    assert_equal(*runs, atol=1e-9)  # bases of soap make more of a last digit
    x, state = runs[1]
    assert all(len(a.sharding.device_set) == 2 for a in jax.tree.leaves(x))
    for one in (first, state):  # numbers are on every device
        optax.tree_map_params(tx, lambda a, s: None if a.sharding.spec == (s if a.ndim else P()) else 1 / 0, one, specs)
        assert all(len(a.sharding.device_set) == 2 for a in jax.tree.leaves(one))
print("the same")
"""


@pytest.mark.slow
def test_the_numbers_do_not_depend_on_the_sharding():
    """Two devices in a process of its own; the vectors of the state stay where the parameters are."""
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run([sys.executable, "-c", SHARDED], env=environment, capture_output=True, text=True)
    assert done.stdout == "the same\n", done.stderr


def test_what_is_refused():
    check(lambda: convert(SGD), TypeError, "`conversion`", "Conversion")
    check(lambda: convert(SGD(eta=0.1), seed=-1), ValueError, "`seed`", "-1")
    for seed in (True, 0.5, "zero", jnp.zeros(2, int)):
        check(lambda seed=seed: convert(SGD(eta=0.1), seed=seed), TypeError, "`seed`")
    init = jax.jit(convert(SGD(eta=0.1)).init)
    check(lambda: init({"w": jnp.zeros(2), "n": jnp.zeros(2, int)}), TypeError, "`params`", "['n']", "int64")
    check(lambda: init(jnp.zeros(2, complex)), TypeError, "`params`", "the only leaf", "complex128")
    check(lambda: convert(SGD(eta=0.1)).init({"w": "text"}), TypeError, "`params`", "str")
    check(lambda: report(optax.EmptyState()), ValueError, "`state`", "got 0")
    check(lambda: certificate(SGD(eta=0.1), optax.EmptyState()), ValueError, "`state`", "got 0")
    sgd = convert(SGD(eta=0.1)).init(jnp.zeros(2))
    check(lambda: certificate(SGD(eta=0.1), sgd), ValueError, "`conversion`", "certificate")
    tx = convert(NonsmoothConversion(Constant(), NONSMOOTH))
    state = tx.init(jnp.zeros(2))
    check(lambda: jax.jit(tx.update)(jnp.zeros(2), state), ValueError, "needs the point of the sample, `x`")
    check(lambda: jax.jit(tx.update)(jnp.zeros(3), state, jnp.zeros(3)), ValueError, "`s`", "shape")
