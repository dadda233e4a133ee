"""What others do to parameters and updates of a certified run is noticed; honest runs keep their certificates."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from o2nc import Nonsmooth, NonsmoothConversion, SegmentConversion, Smooth, SmoothConversion
from o2nc.optax import certificate, convert, hedge, report
from o2nc.oracles import OGD, Constant
from o2nc.rivals import HeavyBall
from o2nc.sets import Box
from sentences import check

ROUNDS = 30
SMOOTH = Smooth(gap=9.0, beta=1.0, sigma=0.5, T=ROUNDS)
CONVERSIONS = {
    "smooth": SmoothConversion(Constant(), SMOOTH),
    "learning": SmoothConversion(OGD(Box(), eta=0.1), SMOOTH, 1.0),
    "segment": SegmentConversion(Constant(), SMOOTH, r=None),
    "nonsmooth": NonsmoothConversion(OGD(Box(), eta=0.1), Nonsmooth(L=4.0, M=9.0, sigma=0.5, lam=0.5, T=ROUNDS)),
}
every_conversion = pytest.mark.parametrize("name", CONVERSIONS)
KEYS = jax.random.split(jax.random.key(0), ROUNDS)
START = {"w": 1.5 * np.ones((2, 3)), "none": None, "b": [1e-3 * np.arange(4.0)]}


def gradient(params, key):
    return jax.tree.map(lambda p: jnp.sin(p) + 0.1 * jax.random.rademacher(key, p.shape, p.dtype), params)


def run(tx, way, dtype=jnp.float64, change=lambda t, params: params):
    """All rounds: eagerly, with a step under `jit`, or by one `scan`; ``change`` moves the parameters after a round."""

    def one(carry, given):
        params, state = carry
        t, key = given
        updates, state = tx.update(gradient(params, key), state, params)
        return (change(t, optax.apply_updates(params, updates)), state), None

    params = jax.tree.map(lambda a: jnp.asarray(a, dtype), START)
    carry, rounds = (params, tx.init(params)), jnp.arange(1, ROUNDS + 1)
    if way == "scan":
        return jax.jit(lambda carry: jax.lax.scan(one, carry, (rounds, KEYS))[0])(carry)
    step = jax.jit(one) if way == "jit" else one
    for given in zip(rounds, KEYS, strict=True):
        carry, _ = step(carry, given)
    return carry


DTYPES = {"64": jnp.float64, "32": jnp.float32, "b16": jnp.bfloat16}
WAYS = [*((name, "scan") for name in CONVERSIONS), ("learning", "eager"), ("learning", "jit")]


@pytest.mark.parametrize(("name", "way"), WAYS)
@pytest.mark.parametrize("bits", DTYPES)
def test_an_honest_run_is_followed(name, way, bits):
    dtype = DTYPES[bits]
    conversion = CONVERSIONS[name]
    _, state = run(convert(conversion), way, dtype)
    assert (int(state.followed.moved), int(state.followed.unseen)) == (0, 0)
    if dtype == jnp.bfloat16:
        check(
            lambda: certificate(conversion, state),
            ValueError,
            "samples were taken at points rounded to less than float32",
        )
        assert np.isinf(report(state).bound)
    else:
        found = certificate(conversion, state)
        assert float(report(state).bound) == pytest.approx(found.bound, rel=1e-4)


def at(t0, function):
    return lambda t, params: jax.tree.map(lambda p: jnp.where(t == t0, function(p), p), params)


MOVES = {
    "clamp": lambda t, params: jax.tree.map(lambda p: jnp.clip(p, 1.2e-3), params),
    "fill": lambda t, params: jax.tree.map(lambda p: jnp.full_like(p, 1.5), params),
    "once": at(5, lambda p: p * 1.001),
    "permuted": at(5, lambda p: jnp.flip(p)),
    "not a number": at(5, lambda p: p * jnp.nan),
}
AROUND = {
    "scaled": lambda tx: optax.chain(tx, optax.scale(1e-3)),
    "clipped": lambda tx: optax.chain(tx, optax.clip(1e-4)),
    "decayed": lambda tx: optax.chain(tx, optax.add_decayed_weights(1e-3)),
    "schedule": lambda tx: optax.chain(tx, optax.scale_by_schedule(lambda n: jnp.where(n == 8, 0.5, 1.0))),
}
HONEST_AROUND = {
    "chain": lambda tx: optax.chain(optax.identity(), tx, optax.scale(1.0)),
    "masked": lambda tx: optax.masked(tx, {"w": True, "none": None, "b": [False]}),
    "steps": lambda tx: optax.MultiSteps(tx, 1),
    "finite": lambda tx: optax.apply_if_finite(tx, 3),
    "extra": lambda tx: optax.with_extra_args_support(tx),
}


def refused(conversion, state, t=None):
    sentence = "the parameters of round " + (f"{t} were not those" if t else "")
    check(lambda: certificate(conversion, state), ValueError, sentence)
    assert np.isinf(report(state).bound)


@pytest.mark.parametrize("bits", ["64", "32"])
@every_conversion
def test_parameters_that_were_moved_take_the_certificate_away(name, bits):
    conversion, moves = CONVERSIONS[name], list(MOVES.values())

    def moved(k):
        change = lambda t, params: jax.lax.switch(k, [lambda params, f=f: f(t, params) for f in moves], params)
        return run(convert(conversion), "scan", DTYPES[bits], change)[1]

    moved = jax.jit(moved)
    for k, move in enumerate(MOVES):
        refused(conversion, moved(k), {"once": 6, "permuted": 6, "not a number": 6}.get(move))


@pytest.mark.parametrize("name", ["smooth", "nonsmooth"])
@pytest.mark.parametrize("around", AROUND)
def test_updates_that_were_changed_take_the_certificate_away(name, around):
    _, state = run(AROUND[around](convert(CONVERSIONS[name])), "scan", jnp.float32)
    refused(CONVERSIONS[name], state)


def test_it_is_noticed_outside_jit():
    _, state = run(AROUND["scaled"](convert(CONVERSIONS["smooth"])), "eager", jnp.float32, MOVES["clamp"])
    refused(CONVERSIONS["smooth"], state, 2)


@pytest.mark.parametrize("around", HONEST_AROUND)
def test_wrappers_that_change_nothing_are_honest(around):
    _, state = run(HONEST_AROUND[around](convert(CONVERSIONS["learning"])), "scan", jnp.float32)
    assert np.isfinite(report(state).bound)


def test_replications_are_followed_one_by_one():
    conversion = CONVERSIONS["smooth"]

    def one(offset, seed):
        tx = convert(conversion, seed)
        move = lambda t, params: jax.tree.map(lambda p: p + jnp.where(t == 7, offset, 0.0), params)
        return run(tx, "scan", change=move)[1]

    honest = jax.vmap(one)(jnp.zeros(3), jnp.arange(3))
    assert np.isfinite(report(honest).bound).all()
    some = jax.vmap(one)(jnp.asarray([0.0, 0.1, 0.0]), jnp.arange(3))
    assert np.isfinite(report(some).bound).tolist() == [True, False, True]
    check(lambda: certificate(conversion, some), ValueError, "the parameters of round 8 were not those")


def test_without_parameters_there_is_no_certificate():
    conversion = CONVERSIONS["smooth"]
    tx = convert(conversion)
    params = {"x": jnp.ones(2)}
    state = tx.init(params)
    for t in range(ROUNDS):
        updates, state = tx.update({"x": jnp.sin(params["x"])}, state, params if t != 3 else None)
        params = optax.apply_updates(params, updates)
    check(lambda: certificate(conversion, state), ValueError, "`update` was not given `params` in round 4")
    assert np.isinf(report(state).bound)


def test_a_state_that_was_stored_goes_on():
    conversion = CONVERSIONS["smooth"]
    tx = convert(conversion)
    params = {"x": jnp.asarray([1.5, 0.1], jnp.float32)}
    state = tx.init(params)
    for _ in range(ROUNDS):
        updates, state = jax.jit(tx.update)({"x": jnp.sin(params["x"])}, state, params)
        params = optax.apply_updates(params, updates)
        leaves, form = jax.tree.flatten((params, state))
        params, state = form.unflatten([jnp.asarray(np.array(a)) for a in leaves])
    assert certificate(conversion, state).label == "plug-in"


def test_practical_use_pays_nothing():
    for tx in (hedge(), convert(HeavyBall(eta=0.1))):
        assert tx.init({"x": jnp.ones(2)}).followed is None
