"""A step of `hedge` that is not finite, or too large, is left out: neither points nor state change.

The core, which has values, raises a sentence.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from o2nc import Blocks
from o2nc.conversions import LearnedScale, PracticalConversion
from o2nc.conversions.practical import ROOM
from o2nc.directions import Momentum
from o2nc.optax import hedge, report
from o2nc.vectors import apply

RNG = np.random.default_rng(2)
X = {"b": RNG.normal(size=3), "w": RNG.normal(size=(4, 5))}
GOOD = [{name: RNG.normal(size=a.shape) for name, a in X.items()} for _ in range(5)]
BAD = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "its square overflows": 1e20, "no room": 1e17}
EXPERTS = [["momentum", "adam"], ["adam", optax.scale_by_adam()], ["muon", "soap"]]


def narrow(tree):
    return jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), tree)


def spoilt(s, value):
    """One entry of one leaf."""
    return {**s, "w": np.where(np.arange(20).reshape(4, 5) == 7, value, s["w"])}


def bits(tree):
    return [np.asarray(a).tobytes() for a in jax.tree.leaves(tree)]


def run(step, state, gradients):
    x = narrow(X)
    for s in gradients:
        x, state = step(x, state, narrow(s))
    return x, state


@pytest.mark.parametrize("experts", EXPERTS, ids=["elementwise", "of Optax", "of matrices"])
def test_bad_steps_are_left_out_bit_by_bit(experts):
    """Whenever they come; their number is reported."""
    tx = hedge(0.1, experts, weight_decay=0.1)

    @jax.jit
    def step(x, state, s):
        updates, state = tx.update(s, state, x)
        return optax.apply_updates(x, updates), state

    x, wanted = run(step, tx.init(narrow(X)), GOOD)
    bad = [spoilt(GOOD[0], value) for value in BAD.values()]
    y, found = run(step, tx.init(narrow(X)), [bad[0], *GOOD[:2], *bad, *GOOD[2:], bad[-1]])
    assert bits((y, found.conversion)) == bits((x, wanted.conversion))
    assert bits(report(found)._replace(skipped=0)) == bits(report(wanted)._replace(skipped=0))
    assert int(report(wanted).skipped) == 0
    assert int(report(found).skipped) == len(bad) + 2
    assert int(found.count) == len(GOOD) + len(bad) + 2


def test_large_gradients_that_fit_are_steps():
    """The rule is that of PyTorch: the squares of a leaf may sum to a millionth of the largest number."""
    from o2nc.torch.hedged import ROOM as THEIRS

    assert ROOM == THEIRS
    tx, x = hedge(0.1, ["momentum", "adam"]), jnp.zeros(4, jnp.float32)
    limit = np.sqrt(ROOM * np.finfo(np.float32).max / 4)
    for factor, skipped in ((0.99, 0), (1.01, 1)):
        updates, state = jax.jit(tx.update)(jnp.full(4, factor * limit, jnp.float32), tx.init(x), x)
        assert int(report(state).skipped) == skipped
        assert bool(jnp.all(updates == 0)) == bool(skipped)
        assert all(bool(jnp.all(jnp.isfinite(a))) for a in jax.tree.leaves(state))


def test_replications_do_not_disturb_each_other():
    tx = hedge(0.1, ["momentum", "adam"])
    x, gradients = jnp.zeros((2, 3)), jnp.asarray([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]])
    updates, states = jax.vmap(tx.update)(gradients, jax.vmap(tx.init)(x), x)
    alone, _ = tx.update(gradients[0], tx.init(x[0]), x[0])
    np.testing.assert_allclose(updates[0], alone, rtol=1e-12)
    assert bool(jnp.all(updates[1] == 0))
    assert report(states).skipped.tolist() == [0, 1]


def at(k, value):
    """A transformation that returns ``value`` in one entry of the last leaf for its k-th gradient."""

    def init(params):
        return jnp.zeros((), jnp.int32)

    def update(s, n, params=None):
        leaves, form = jax.tree.flatten(s)
        leaves[-1] = leaves[-1].at[-1].set(jnp.where(n == k, value, leaves[-1][-1]))
        return form.unflatten(leaves), n + 1

    return optax.GradientTransformation(init, update)


def negative(value):
    """A function that is ``value`` where the first entry of the tracker is negative."""
    return lambda m: jnp.where(m.reshape(-1)[0] < 0, value * m, 0.5 * m)


class Failing(Momentum):
    """A direction of the core that is not finite for large samples."""

    def __init__(self, value):
        object.__setattr__(self, "value", value)

    def direction(self, state, m):
        return apply(lambda a: jnp.where(jnp.max(jnp.abs(a)) > 1, self.value, a), m)


WRONG = {
    "a transformation": lambda value: (at(2, value), lambda s: s),
    "a function": lambda value: (negative(value), lambda s: jax.tree.map(lambda a: -50 * np.abs(a), s)),
    "a direction": lambda value: (Failing(value), lambda s: jax.tree.map(lambda a: 100 * a, s)),
}


OTHERS = [(), ("adam",), pytest.param(("muon", "soap"), marks=pytest.mark.slow)]


@pytest.mark.parametrize("others", OTHERS, ids=["alone", "adam", "of matrices"])
@pytest.mark.parametrize("name", WRONG)
def test_a_direction_that_is_not_finite_leaves_the_step_out(name, others):
    """With the next gradient the run goes on, if the direction does."""
    for value in (jnp.nan, -jnp.inf):
        expert, change = WRONG[name](value)
        tx = hedge(0.1, [*others, expert], weight_decay=0.1)
        x, step = narrow(X), jax.jit(tx.update)
        state = tx.init(x)
        for s in GOOD[:2]:
            s = jax.tree.map(lambda a: np.abs(a) / 10, s)
            updates, state = step(narrow(s), state, x)
            x = optax.apply_updates(x, updates)
        assert int(report(state).skipped) == 0
        updates, after = step(narrow(change(GOOD[2])), state, x)
        assert all(not np.any(a) for a in jax.tree.leaves(updates))
        assert bits(after.conversion) == bits(state.conversion)
        assert int(report(after).skipped) == 1
        assert bits(report(after)._replace(skipped=0)) == bits(report(state)._replace(skipped=0))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["first", "last"])
def test_the_core_says_which_expert_it_was(name, value):
    def wrong(m):
        return value * m if m.size == (3 if name == "first" else 20) and np.max(np.abs(m)) > 1 else 0.5 * m

    conversion = PracticalConversion(["adam", wrong, "muon"], scale=LearnedScale())
    x = Blocks((X["b"], X["w"]))
    state = conversion.init(x)
    _, state = conversion.update(Blocks((0.01 * X["b"], 0.01 * X["w"])), state, x)
    shape = r"\(3,\)" if name == "first" else r"\(4, 5\)"
    with pytest.raises(ValueError, match=f"The expert 'wrong' must return numbers that are finite.*of shape {shape}"):
        conversion.update(Blocks((100 * X["b"], 100 * X["w"])), state, x)
