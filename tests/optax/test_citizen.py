"""The transformations play with the rest of Optax: wrappers, masks, schedules, checkpoints, narrow dtypes."""

from typing import NamedTuple

import flax.serialization
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from o2nc import Blocks, SegmentConversion, Smooth, SmoothConversion
from o2nc.directions import Momentum
from o2nc.learners import ShortMemoryHedge
from o2nc.optax import Transformed, capped, certificate, convert, hedge, report
from o2nc.optax.transformed import TransformedState
from o2nc.oracles import Adaptive, Constant
from sentences import check

RNG = np.random.default_rng(1)
TREE = {"b": jnp.asarray(RNG.normal(size=3)), "w": jnp.asarray(RNG.normal(size=(3, 4)))}
GRADIENTS = [jax.tree.map(lambda a: jnp.asarray(RNG.normal(size=a.shape)), TREE) for _ in range(4)]
CONSTANTS = Smooth.paper(M=8.0, beta=1.0, sigma=0.5, T=4)
HEDGE = hedge(0.1, ["momentum", "adam"], weight_decay=0.01)
CONVERT = convert(SmoothConversion(Constant(), CONSTANTS))
DEFAULT = hedge(weight_decay=0.01)  # of which matrices and vectors have different state
BOTH = pytest.mark.parametrize("tx", [HEDGE, CONVERT], ids=["hedge", "convert"])
ALL = pytest.mark.parametrize("tx", [HEDGE, DEFAULT, CONVERT], ids=["hedge", "hedge by default", "convert"])


def run(tx, params=TREE, gradients=GRADIENTS, **extra):
    """Parameters and states of each step, with jit."""
    step = jax.jit(lambda s, state, x: tx.update(s, state, x, **extra) if extra else tx.update(s, state, x))
    state, found = tx.init(params), []
    for s in gradients:
        updates, state = step(s, state, params)
        params = optax.apply_updates(params, updates)
        found.append((params, state))
    return found


def assert_equal(found, wanted, atol=1e-12):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=atol)


def part(name, trees):
    return [{name: tree[name]} for tree in trees]


@ALL
def test_masks_and_partitions_leave_the_numbers_alone(tx):
    alone = run(tx, *part("w", [TREE]), part("w", GRADIENTS))[-1][0]
    nested = optax.masked(optax.masked(tx, {"b": optax.MaskedNode(), "w": True}), {"b": False, "w": True})
    assert_equal(run(nested)[-1][0]["w"], alone["w"])

    other = run(tx, *part("b", [TREE]), part("b", GRADIENTS))[-1][0]
    split = optax.partition({"one": tx, "two": tx, "nobody": tx}, {"b": "one", "w": "two"})
    params, state = run(split)[-1]
    assert_equal(params, {**alone, **other})
    assert report(state.inner_states["one"]).regret is not None
    check(lambda: report(state), ValueError, "`state`", "got 3")


@pytest.mark.slow
@ALL
def test_wrappers(tx):
    wanted = run(tx)
    with_nan = [*GRADIENTS[:2], jax.tree.map(lambda a: a * jnp.nan, TREE), *GRADIENTS[2:]]
    assert_equal(run(optax.apply_if_finite(tx, 3), gradients=with_nan)[-1][0], wanted[-1][0])

    twice = [tree for tree in GRADIENTS for _ in range(2)]
    assert_equal(run(optax.MultiSteps(tx, every_k_schedule=2), gradients=twice)[-1][0], wanted[-1][0], atol=1e-6)

    clipped = [optax.tree.scale(1 / jnp.maximum(1.0, optax.tree.norm(s)), s) for s in GRADIENTS]
    chained = optax.chain(optax.clip_by_global_norm(1.0), tx)
    assert_equal(run(chained)[-1][0], run(tx, gradients=clipped)[-1][0], atol=1e-9)
    assert_equal(report(run(chained)[-1][1]).regret, report(run(tx, gradients=clipped)[-1][1]).regret, atol=1e-9)


def test_hyperparameters_can_be_injected_and_changed():
    by_default = optax.inject_hyperparams(hedge)(weight_decay=0.01)
    assert_equal([x for x, _ in run(by_default)], [x for x, _ in run(DEFAULT)])
    tx = optax.inject_hyperparams(hedge)(learning_rate=0.1, experts=("momentum", "adam"), weight_decay=0.01)
    assert_equal([x for x, _ in run(tx)], [x for x, _ in run(HEDGE)])
    state = tx.init(TREE)
    state.hyperparams["learning_rate"] = jnp.asarray(0.0)
    updates, _ = jax.jit(tx.update)(GRADIENTS[0], state, TREE)
    assert_equal(updates, jax.tree.map(jnp.zeros_like, TREE))
    scheduled = optax.inject_hyperparams(hedge)(
        learning_rate=optax.linear_schedule(0.1, 0.0, 4), experts=("momentum", "adam")
    )
    plain = hedge(optax.linear_schedule(0.1, 0.0, 4), ["momentum", "adam"])
    assert_equal([x for x, _ in run(scheduled)], [x for x, _ in run(plain)], atol=1e-7)


@ALL
def test_the_state_is_a_plain_tree(tx):
    """It keeps structure, shapes and dtypes, can be stored and donated, and has trees like the parameters inside."""
    found = run(tx)
    like = lambda tree: jax.tree.map(lambda a: (a.shape, a.dtype), tree)
    first = tx.init(TREE)
    assert all(like(state) == like(first) for _, state in found)
    assert all(isinstance(a, jax.Array) for a in jax.tree.leaves(found))

    params, state = found[1]
    stored = flax.serialization.msgpack_serialize(flax.serialization.to_state_dict(state))
    loaded = flax.serialization.from_state_dict(first, flax.serialization.msgpack_restore(stored))
    assert jax.tree.structure(loaded) == jax.tree.structure(state)
    step = jax.jit(tx.update, donate_argnums=1)
    for s in GRADIENTS[2:]:
        updates, loaded = step(s, loaded, params)
        params = optax.apply_updates(params, updates)
    assert_equal((params, loaded), found[-1])
    step(GRADIENTS[0], tx.init(TREE), TREE)  # no array of a first state is there twice

    seen = []
    optax.tree_map_params(tx, lambda a, p: seen.append(a.shape == p.shape or a.shape == ()), state, TREE)
    assert seen
    assert all(seen)
    assert int(optax.tree.get(state, "count")) == 2


@BOTH
def test_narrow_parameters_have_a_wide_state(tx):
    narrow = jax.tree.map(lambda a: a.astype(jnp.bfloat16), (TREE, GRADIENTS))
    wide = jax.tree.map(lambda a: a.astype(jnp.float32), narrow)
    (params, state), (exact, wide_state) = run(tx, *narrow)[0], run(tx, *wide)[0]
    floating = [a for a in jax.tree.leaves(state) if jnp.issubdtype(a.dtype, jnp.floating)]
    assert {a.dtype for a in floating} == {jnp.dtype("float32")}
    assert {a.dtype for a in jax.tree.leaves(params)} == {jnp.dtype("bfloat16")}
    assert_equal(state._replace(followed=None), wide_state._replace(followed=None))  # where rounding is another
    for a, b in zip(jax.tree.leaves(params), jax.tree.leaves(exact), strict=True):
        np.testing.assert_allclose(a.astype(jnp.float32), b, rtol=2**-7)


@ALL
def test_none_and_nothing(tx):
    params, _ = run(tx, {"none": None, **TREE}, [{"none": None, **GRADIENTS[0]}])[0]
    assert params.pop("none") is None
    assert_equal(params, run(tx, gradients=GRADIENTS[:1])[0][0])
    for empty in ({}, None, {"a": None, "b": []}):
        updates, state = tx.update(empty, tx.init(empty), empty)
        assert updates == empty
        assert jax.tree.structure(state) == jax.tree.structure(tx.init(empty))


def test_traces_are_like_the_parameters():
    """Those that all leaves have; what else matrices have is one thing that is not, and may be mapped as such."""
    for tx, traces in ((HEDGE, 2), (DEFAULT, 1)):
        state = run(tx)[1][1]
        marked = optax.tree_map_params(tx, lambda a, p: "like", state, TREE, transform_non_params=lambda _: None)
        e = marked.conversion.e
        assert [v.arrays for v in e.shared] == [{"b": "like", "w": "like"}] * traces
        assert e.own.parts is None
        assert [len(part) for part in state.conversion.e.own.parts] == ([0, 0] if traces == 2 else [0, 1])


def test_experts_get_extra_arguments_and_parameters():
    def by_value(updates, state, params=None, *, value, **extra):
        return jax.tree.map(lambda s, p: value * s + p, updates, params), state

    expert = optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), by_value)
    ours = run(hedge(0.1, [expert]), value=2.0)[0][0]
    assert_equal(ours, jax.tree.map(lambda x, s: x - 0.1 * (2 * s + x), TREE, GRADIENTS[0]))
    masked = optax.masked(optax.scale_by_sign(), {"b": True, "w": False})
    matrix = lambda tree: jax.tree.map(lambda _: optax.contrib.MuonDimensionNumbers(), tree)
    told = {"weight_dimension_numbers": matrix} if hasattr(optax.contrib, "MuonDimensionNumbers") else {}
    muon = optax.contrib.scale_by_muon(**told)  # optax 0.2.5 needs not be told: all are matrices there
    for some in (masked, optax.partition({"muon": muon, "adam": optax.scale_by_adam()}, {"b": "adam", "w": "muon"})):
        _, state = run(hedge(0.1, ["momentum", some, optax.trace(0.9)]))[-1]
        np.testing.assert_allclose(jnp.sum(report(state).weights), 1.0, rtol=1e-12)
        assert float(jnp.ptp(report(state).weights)) > 0


class AdamOfSamples(NamedTuple):
    """What ``optax.scale_by_adam()`` says of the samples so far, by hand on NumPy."""

    name: str = "by hand"
    scale_free: bool = False
    whole: bool = False

    def init(self, x):
        zeros = tuple(np.zeros_like(a) for a in x.arrays)
        return TransformedState(inner=(zeros, zeros, 0), d=Blocks(zeros))

    def direction(self, state, m):
        return state.d

    def learn(self, state, s):
        m, v, t = state.inner
        m = tuple(0.9 * a + 0.1 * b for a, b in zip(m, s.arrays, strict=True))
        v = tuple(0.999 * a + 0.001 * b**2 for a, b in zip(v, s.arrays, strict=True))
        t += 1
        hats = zip(m, v, strict=True)
        d = tuple(a / (1 - 0.9**t) / (np.sqrt(b / (1 - 0.999**t)) + 1e-8) for a, b in hats)
        return TransformedState(inner=(m, v, t), d=Blocks(d))


@pytest.mark.parametrize("r", [1.0, 0.0])
def test_a_transformation_is_a_legal_expert_of_theorem_1(r):
    conversion = capped(CONSTANTS, ["momentum", optax.scale_by_adam()], r=r)
    by_hand = SegmentConversion(Adaptive([Momentum(), AdamOfSamples()], ShortMemoryHedge()), CONSTANTS, r=r)
    x = Blocks(tuple(np.asarray(a) for a in jax.tree.leaves(TREE)))
    state, literal = by_hand.init(x), []
    for s in GRADIENTS:
        dx, state = by_hand.update(Blocks(tuple(np.asarray(a) for a in jax.tree.leaves(s))), state)
        x = x + dx
        literal.append(x)
    found = run(convert(conversion))
    assert_equal([params for params, _ in found], literal)
    after = found[-1][1]
    assert certificate(conversion, after).label == "plug-in"
    np.testing.assert_allclose(report(after).regret, state.run.regret[0], atol=1e-12)
    norm = lambda v: float(optax.tree.norm(v))
    for _, one in found:  # the cap
        assert norm(one.conversion.Um) <= norm(one.conversion.run.m) * (1 + 1e-12)


def test_what_capped_refuses():
    check(lambda: capped(CONSTANTS, "adam"), ValueError, "`experts`", "sequence")
    check(lambda: capped(CONSTANTS, ["momentum", "adem"]), ValueError, "`experts[1]`", "'adem'")
    check(lambda: Transformed(3), TypeError, "`Transformed(transformation=...)`", "3")
    needs_params = convert(capped(CONSTANTS, [optax.add_decayed_weights(0.1)]))
    check(lambda: jax.jit(needs_params.init)(TREE), ValueError, "`Transformed(transformation=...)`", "gradients")
    wrong = convert(capped(CONSTANTS, [optax.trace(0.9)], params={"only": 0.0}))
    check(lambda: wrong.init(TREE), ValueError, "`Transformed(params=...)`", "2")
