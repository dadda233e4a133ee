"""A step of `hedge` whose gradients are not finite, or too large, is left out: neither points nor state change."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from o2nc.conversions.practical import ROOM
from o2nc.optax import hedge, report

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
