"""`o2nc.optax.hedge` is the practical rule, literally, and a citizen of Optax."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from o2nc._xp import LANES, sums
from o2nc.optax import hedge, report
from reference_practical import Practical
from sentences import check

STEPS = 12
RNG = np.random.default_rng(0)
TREE = {"b": RNG.normal(size=3), "w": RNG.normal(size=(3, 4))}
NOISE = {name: RNG.normal(size=(STEPS, *a.shape)) for name, a in TREE.items()}
NOISE["b"][:2] = 0  # gradients before the first that is not 0
RATES = np.asarray([0.0, *np.linspace(0.1, 0.01, STEPS - 1)])


def gradient(t, x):
    return {name: (2 * a + NOISE[name][t]) * (name == "w" or t >= 2) for name, a in x.items()}


def on_jax(tx):
    @jax.jit
    def step(x, state, noise, late):
        s = {"b": (2 * x["b"] + noise["b"]) * late, "w": 2 * x["w"] + noise["w"]}
        updates, state = tx.update(s, state, x)
        return optax.apply_updates(x, updates), state

    x = jax.tree.map(jnp.asarray, TREE)
    state, points = tx.init(x), []
    for t in range(STEPS):
        x, state = step(x, state, {name: n[t] for name, n in NOISE.items()}, float(t >= 2))
        points.append(x)
    return points, state


def literal(experts, decay=0.0, **options):
    rule, points = Practical(list(TREE.values()), experts, **options), []
    for t in range(STEPS):
        s = gradient(t, dict(zip(TREE, rule.x, strict=True)))
        rule.step(list(s.values()), RATES[t], decay)
        points.append(dict(zip(TREE, [a.copy() for a in rule.x], strict=True)))
    return points, rule


def assert_equal(found, wanted, atol):
    points, state = found
    literal_points, rule = wanted
    for ours, theirs in zip(points, literal_points, strict=True):
        for name in TREE:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=0, atol=atol)
    np.testing.assert_allclose(report(state).weights, rule.w[0], rtol=0, atol=10 * atol)
    np.testing.assert_allclose(report(state).regret, rule.regret[0], rtol=0, atol=10 * atol)


def rates(count):
    return jnp.asarray(RATES)[count]


def swap(u):
    """An expert that is wrong on purpose: the coordinates backwards."""
    return u[::-1]


@pytest.mark.parametrize(
    ("experts", "decay", "options"),
    [
        (("momentum", "adam"), 0.0, {"c": 30.0}),
        (("adam", "sign", swap), 0.1, {"rho": 0.9, "c": 3.0, "eps": 0.0}),
        (("momentum", "sign"), 0.0, {}),
        (("momentum",), 0.1, {}),
    ],
    ids=["momentum, adam", "adam, sign, a function", "momentum, sign", "momentum alone"],
)
def test_the_rule_is_the_literal_one(experts, decay, options):
    wanted = literal(experts, decay, **options)
    assert_equal(on_jax(hedge(rates, experts, weight_decay=decay, **options)), wanted, atol=1e-10)
    if len(experts) > 1:  # the learner has learned, so that the weights are a test
        assert max(wanted[1].w[0]) > 1.2 / len(experts)


@pytest.mark.parametrize("matrices", [[False, True], [False, False]])
@pytest.mark.parametrize("experts", [("momentum", "adam", "polar"), ("momentum", "polar")])
def test_the_polar_expert_is_the_literal_one(experts, matrices):
    """Also where it alone is adam, for the leaves that are no matrices."""
    choose = lambda tree: dict(zip(TREE, matrices, strict=True))
    found = on_jax(hedge(rates, experts, matrices=choose if not all(matrices[1:]) else None))
    assert_equal(found, literal(experts, matrices=matrices), atol=1e-10)


FRONTS = [("momentum", "adam", "polar"), ("momentum", "polar", "sign"), ("muon", "soap", "adam"), ("muon", "soap")]


@pytest.mark.parametrize("experts", FRONTS)
def test_pytorch_makes_the_same_steps(experts):
    """One rule, two front ends: the same gradients give the same points and weights."""
    from o2nc.torch import Hedged

    points, state = on_jax(hedge(rates, experts, weight_decay=0.1))
    x = {name: torch.tensor(a, requires_grad=True) for name, a in TREE.items()}
    other = Hedged(list(x.values()), experts=experts, weight_decay=0.1)
    for t in range(STEPS):
        for name, s in gradient(t, {name: a.detach().numpy() for name, a in x.items()}).items():
            x[name].grad = torch.tensor(s)
        other.param_groups[0]["lr"] = float(RATES[t])
        other.step()
        for name, a in x.items():
            np.testing.assert_allclose(points[t][name], a.detach().numpy(), rtol=0, atol=1e-10)
    weights = other.report()["groups"][0]["weights"]
    np.testing.assert_allclose(report(state).weights, [weights[name] for name in experts], atol=1e-9)


@pytest.mark.parametrize("size", [5, 2 * LANES, 3 * LANES + 7])
def test_sums_in_lanes(size):
    a, b = RNG.normal(size=(2, size))
    terms = lambda a, b: (a * b, abs(a), b / (1 + a * a))
    wanted = [term.sum() for term in terms(a, b)]
    found = jax.jit(lambda a, b: sums(terms, a, b))(a.reshape(1, -1), b.reshape(1, -1))
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-12)
    twice = jax.vmap(lambda a, b: sums(terms, a, b))(np.stack([a, b]), np.stack([b, a]))
    np.testing.assert_allclose([total[0, 0] for total in twice], wanted, rtol=1e-12)


def test_one_transformation_is_that_optimizer():
    """hedge over scale_by_adam alone is AdamW; over its own "adam" too."""
    for expert in (optax.scale_by_adam(), "adam"):
        ours, _ = on_jax(hedge(0.05, [expert], weight_decay=0.1))
        theirs, _ = on_jax(optax.adamw(0.05, weight_decay=0.1))
        if expert == "adam":  # which counts from the first gradient of a leaf
            ours, theirs = [x["w"] for x in ours], [x["w"] for x in theirs]
        for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_transformations_are_weighed_as_the_named_experts_are():
    """ "adam" from Optax and from the tracker are the same expert, so that their weights are equal."""
    only_w = lambda tree: {"w": tree["w"]}
    tx = hedge(0.05, ["momentum", "adam", optax.scale_by_adam()])
    x, state = only_w(TREE), tx.init(only_w(TREE))
    for t in range(4):
        _, state = jax.jit(tx.update)({"w": NOISE["w"][t]}, state, x)
    weights = np.asarray(report(state).weights)
    np.testing.assert_allclose(weights[1], weights[2], rtol=1e-12)
    assert weights[0] != pytest.approx(weights[1])


def test_only_the_named_adam_sets_the_length_of_momentum():
    """A transformation may have any length, so that beside it momentum is as it is alone."""

    def lengths(*experts):
        tx = hedge(0.05, ["momentum", *experts])
        state, found = tx.init(TREE), []
        for t in range(4):
            _, state = jax.jit(tx.update)({name: noise[t + 2] for name, noise in NOISE.items()}, state, TREE)
            found.append(state.conversion.f)
        return np.asarray(found)

    alone, named = lengths(), lengths("adam")
    np.testing.assert_allclose(lengths(optax.scale_by_adam()), alone, rtol=1e-12)
    np.testing.assert_allclose(named[0], alone[0], rtol=1e-12)
    assert np.all(np.abs(named[1:] / alone[1:] - 1) > 1e-3)


def test_what_is_refused():
    check(lambda: hedge(0.1, ["adem"]), ValueError, "`experts[0]`", "'polar'", "'adem'")
    check(lambda: hedge(0.1, []), ValueError, "`experts`", "at least one")
    check(lambda: hedge(0.1, "adam"), ValueError, "`experts`")
    check(lambda: hedge(0.1, [3.0]), ValueError, "`experts[0]`", "3.0")
    for rate in ("fast", None, True, [0.1], jnp.ones(2)):
        check(lambda rate=rate: hedge(rate), TypeError, "`learning_rate`", "a number or a schedule")
    check(lambda: hedge(-0.1), ValueError, "`learning_rate`", "-0.1")
    check(lambda: hedge(0.1, b1=1.0), ValueError, "`b1`", "1.0")
    check(lambda: hedge(0.1, rho="much"), TypeError, "`rho`")
    check(lambda: hedge(0.1, eps=-1.0), ValueError, "`eps`")
    check(lambda: hedge(0.1, matrices=True), TypeError, "`matrices`")
    init = jax.jit(hedge(0.1, ["adam"]).init)
    check(lambda: init({"w": jnp.zeros(2), "n": jnp.zeros(2, int)}), TypeError, "`params`", "['n']")
    down = jax.jit(hedge(0.1, ["momentum", optax.adam(0.1)]).init)
    check(lambda: down(TREE), ValueError, "`experts[1]`", "uphill")
    tx = hedge(0.1, ["adam"], weight_decay=0.1)
    check(lambda: jax.jit(tx.update)(TREE, tx.init(TREE)), ValueError, "`params`", "weight decay")
    tx = hedge(0.1, [lambda u: u[:1]])
    check(lambda: jax.jit(tx.update)(TREE, tx.init(TREE)), ValueError, "shape of u")
