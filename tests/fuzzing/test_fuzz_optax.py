"""Torch, Optax and the core make the same steps under attack; states of Optax stay finite and resume bit by bit."""

import pickle
from dataclasses import replace
from functools import cache

import flax.serialization
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from attacks import BAD, FACTOR, SIZES, cases, gradient
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from training import build

from o2nc import Blocks
from o2nc.conversions import LearnedScale, PracticalConversion
from o2nc.conversions.practical import ROOM
from o2nc.optax import ConvertState, convert, hedge, report
from o2nc.optax.trees import find
from o2nc.torch import Converted, Hedged

SHAPES = {"b": (3,), "s": (), "t": (16, 2), "v": (4, 4), "w": (3, 4)}  # "t" is a table
MATRICES = [False, False, False, True, True]
NORMAL = ("normal", "normal", "normal", "zero")
WIDE = (*NORMAL, "tiny", "large", "very large", "huge", "almost infinite")
EXPERTS = {  # and gradients with which all digits count: with others an eigenbasis is a matter of rounding
    ("momentum", "adam"): WIDE,
    ("adam", "sign", "polar"): WIDE,
}
if FACTOR > 1:  # it takes long to compile; tests/optax compares them too
    EXPERTS[("muon", "soap")] = NORMAL
SEEDS = st.integers(0, 2**32 - 1)
KINDS = st.lists(st.sampled_from(range(len(WIDE))), min_size=1, max_size=len(SHAPES))
DIGITS = 1e-9  # relative to the points and the steps: the fronts sum in different orders


def draw(seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return {name: np.asarray(rng.standard_normal(shape), dtype) for name, shape in SHAPES.items()}


def drawn(kinds, rng, dtype=np.float64):
    """The gradients of one step, of these kinds in turns."""
    pairs = enumerate(SHAPES.items())
    return {name: np.asarray(gradient(kinds[k % len(kinds)], shape, rng), dtype) for k, (name, shape) in pairs}


def blocks(tree):
    return Blocks(tuple(torch.as_tensor(np.array(a)) for a in tree.values()))


def bits(tree):
    """All arrays of a tree as bytes."""
    return [np.asarray(a).tobytes() for a in jax.tree.leaves(tree)]


def copied(state, how):
    """A state that was stored and loaded."""
    if how == "pickle":
        return pickle.loads(pickle.dumps(state))
    if how == "numpy":
        return jax.tree.map(lambda a: jnp.asarray(np.asarray(a)), state)
    stored = flax.serialization.msgpack_serialize(flax.serialization.to_state_dict(state))
    return flax.serialization.from_state_dict(state, flax.serialization.msgpack_restore(stored))


def compiled(tx):
    """Its start and its step."""

    def step(s, state, x):
        updates, state = tx.update(s, state, x)
        return optax.apply_updates(x, updates), state

    return jax.jit(tx.init), jax.jit(step)


@cache
def hedged(experts):
    """With numbers that may change from step to step, compiled once."""
    tx = optax.inject_hyperparams(hedge)(learning_rate=0.1, experts=experts, weight_decay=0.1)
    return compiled(tx)


@cache
def converted(kind):
    """With steps that are not finite left out by Optax; `hedge` leaves them out itself."""
    return compiled(optax.apply_if_finite(convert(build(kind, "constant")), 10**6))


@cache
def narrow(experts):
    return compiled(hedge(0.1, experts, weight_decay=0.1))


def memory_of(state):
    """What must not change in a step that is left out: all but counts of steps."""
    (kept,) = find(state, ConvertState)
    return kept.conversion


class Fronts(RuleBasedStateMachine):
    """A run of Optax, and others of torch and of the core beside it."""

    def start(self, seed):
        self.x = jax.tree.map(jnp.asarray, draw(seed))
        self.state = self.init(self.x)
        self.core = blocks(self.x)
        self.params = [torch.nn.Parameter(a.clone()) for a in self.core.arrays]
        self.kinds, self.moved = NORMAL, 1.0

    @rule(kinds=KINDS, seed=SEEDS)
    def step(self, kinds, seed):
        self.all_step(drawn([self.kinds[k % len(self.kinds)] for k in kinds], np.random.default_rng(seed)))

    @rule(kind=st.sampled_from(sorted(BAD)), seed=SEEDS)
    def step_with_what_is_not_finite(self, kind, seed):
        """The state is as it was, but for the count of such steps; torch skips it too."""
        s = drawn([kind, "normal"], np.random.default_rng(seed))
        before = bits((self.x, memory_of(self.state)))
        self.x, self.state = self.update(s, self.state, self.x)
        assert bits((self.x, memory_of(self.state))) == before
        self.torch_step(s)
        self.agree()

    @rule(how=st.sampled_from(["pickle", "numpy", "flax"]), seed=SEEDS)
    def resume(self, how, seed):
        """One step with a state that was stored is the step with the state itself, bit by bit."""
        loaded, s = copied(self.state, how), drawn(["normal"], np.random.default_rng(seed))
        assert jax.tree.structure(loaded) == jax.tree.structure(self.state)
        assert bits(self.update(s, loaded, self.x)) == bits(self.update(s, self.state, self.x))
        self.state = loaded

    def torch_step(self, s):
        for p, g in zip(self.params, s.values(), strict=True):
            p.grad = torch.as_tensor(g)
        self.opt.step()

    def all_step(self, s):
        self.x, self.state = self.update(s, self.state, self.x)
        assert all(np.isfinite(a).all() for a in jax.tree.leaves((self.x, memory_of(self.state))))
        self.torch_step(s)
        self.core_step(blocks(s))
        self.agree()

    def agree(self):
        for p, a, b in zip(self.params, self.core.arrays, self.x.values(), strict=True):
            self.moved = max(self.moved, float(a.abs().max()))
            torch.testing.assert_close(p.detach(), a, rtol=0, atol=DIGITS * self.moved)
            np.testing.assert_allclose(np.asarray(b), a.numpy(), rtol=0, atol=DIGITS * self.moved)


class Hedges(Fronts):
    """The practical rule."""

    @initialize(experts=st.sampled_from(sorted(EXPERTS)), seed=SEEDS)
    def choose(self, experts, seed):
        self.init, self.update = hedged(experts)
        self.start(seed)
        self.kinds, self.lr, self.decay = EXPERTS[experts], 0.1, 0.1
        self.opt = Hedged(self.params, 0.1, experts, weight_decay=0.1, nonfinite="skip")
        self.conversion = PracticalConversion(
            experts, lr=0.1, weight_decay=0.1, scale=LearnedScale(), matrices=MATRICES
        )
        self.memory = self.conversion.init(self.core)

    @rule(lr=st.sampled_from([0.1, 0.01, 0.0, 1.0]), decay=st.sampled_from([0.1, 0.01, 0.5]))
    def change_the_rates(self, lr, decay):
        numbers = self.state.hyperparams
        numbers.update({"learning_rate": jnp.asarray(lr), "weight_decay": jnp.asarray(decay)})
        self.opt.param_groups[0].update(lr=lr, weight_decay=decay)
        self.conversion = replace(self.conversion, lr=lr, weight_decay=decay)

    def core_step(self, s):
        dx, self.memory = self.conversion.update(s, self.memory, self.core)
        self.core = self.core + dx

    def agree(self):
        super().agree()
        weights = self.conversion.weights(self.memory).numpy()
        np.testing.assert_allclose(report(self.state).weights, weights, rtol=0, atol=1e-6)
        np.testing.assert_allclose(list(self.opt.report()["groups"][0]["weights"].values()), weights, rtol=0, atol=1e-6)


class Converts(Fronts):
    """Other conversions, as they are."""

    @initialize(kind=st.sampled_from(["descent", "end", "heavy ball", "adam", "sgd"]), seed=SEEDS)
    def choose(self, kind, seed):
        self.init, self.update = converted(kind)
        self.start(seed)
        self.conversion = build(kind, "constant")
        self.opt = Converted(self.params, self.conversion, nonfinite="skip")
        self.memory = self.conversion.init(self.core)

    def core_step(self, s):
        dx, self.memory = self.conversion.update(s, self.memory, self.core)
        self.core = self.core + dx


class Narrow(RuleBasedStateMachine):
    """The practical rule in float32, in which squares of finite gradients overflow: a step is all or nothing."""

    @initialize(experts=st.sampled_from(sorted(EXPERTS)), seed=SEEDS)
    def choose(self, experts, seed):
        init, self.update = narrow(experts)
        self.x = jax.tree.map(jnp.asarray, draw(seed, np.float32))
        self.state, self.skipped = init(self.x), 0

    @rule(kinds=st.lists(st.sampled_from((*NORMAL, *SIZES, *BAD)), min_size=1, max_size=len(SHAPES)), seed=SEEDS)
    def step(self, kinds, seed):
        s = drawn(kinds, np.random.default_rng(seed), np.float32)
        squares = [np.sum(np.square(a, dtype=np.float64)) for a in s.values()]
        limit = ROOM * np.finfo(np.float32).max
        before = bits((self.x, memory_of(self.state)))
        self.x, self.state = self.update(s, self.state, self.x)
        assert all(np.isfinite(a).all() for a in jax.tree.leaves((self.x, memory_of(self.state))))
        is_left_out = int(report(self.state).skipped) > self.skipped
        if is_left_out:
            assert bits((self.x, memory_of(self.state))) == before
        self.skipped += is_left_out
        if not any(limit / 1.001 < square < limit * 1.001 for square in squares):  # beyond rounding
            assert is_left_out == (not all(square <= limit for square in squares))


@pytest.mark.filterwarnings("ignore:.* left out, ")
@pytest.mark.parametrize("fronts", [Hedges, Converts, Narrow])
def test_the_fronts_under_attack(fronts):
    run_state_machine_as_test(fronts, settings=cases(6, 12))
