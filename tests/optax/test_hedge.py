"""`o2nc.optax.hedge` is the practical rule, literally, and a citizen of Optax."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from o2nc import Blocks
from o2nc._xp.xla import CHUNK, SMALL, sums
from o2nc.conversions import LearnedScale, PracticalConversion
from o2nc.optax import hedge, report
from reference_practical import Practical
from reference_soap import SOAP, turn_of
from sentences import check

STEPS = 14
RNG = np.random.default_rng(0)
TREE = {"b": RNG.normal(size=3), "t": RNG.normal(size=(16, 2)), "w": RNG.normal(size=(3, 4))}  # "t" is a table
MATRICES = [False, False, True]
NOISE = {name: RNG.normal(size=(STEPS, *a.shape)) for name, a in TREE.items()}
RATES = np.asarray([0.0, *np.linspace(0.1, 0.01, STEPS - 1)])


def gradient(t, x):
    """The bias has no gradient in the first two steps."""
    return {name: (2 * a + NOISE[name][t]) * (name != "b" or t >= 2) for name, a in x.items()}


def on_jax(tx):
    @jax.jit
    def step(x, state, noise, late):
        s = {name: (2 * a + noise[name]) * (late if name == "b" else 1.0) for name, a in x.items()}
        updates, state = tx.update(s, state, x)
        return optax.apply_updates(x, updates), state

    x = jax.tree.map(jnp.asarray, TREE)
    state, points = tx.init(x), []
    for t in range(STEPS):
        x, state = step(x, state, {name: n[t] for name, n in NOISE.items()}, float(t >= 2))
        points.append(x)
    return points, state


def literal(experts, decay=0.0, matrices=MATRICES, **options):
    rule, points = Practical(list(TREE.values()), experts, matrices=matrices, **options), []
    for t in range(STEPS):
        s = gradient(t, dict(zip(TREE, rule.x, strict=True)))
        rule.step(list(s.values()), RATES[t], decay)
        points.append(dict(zip(TREE, [a.copy() for a in rule.x], strict=True)))
    return points, rule


def assert_equal(found, wanted):
    points, state = found
    literal_points, rule = wanted
    for ours, theirs in zip(points, literal_points, strict=True):
        for name in TREE:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=0, atol=1e-12)
    np.testing.assert_allclose(report(state).weights, rule.w[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(report(state).regret, rule.regret[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(report(state).scale, math.exp(rule.log_sigma), rtol=1e-11)


def rates(count):
    return jnp.asarray(RATES)[count]


def crooked(u):
    """An expert that is wrong on purpose."""
    return 0.3 * u - 0.5 * u * u


class Eigenbasis:
    """SOAP of the only matrix here."""

    def __init__(self):
        self.soap = SOAP(TREE["w"].shape, turn=turn_of(TREE["w"].shape))

    def update(self, s, m):
        return self.soap.direction(s, m)


def by_loops(experts):
    return [Eigenbasis() if expert == "soap" else expert for expert in experts]


@pytest.mark.parametrize("scale", ["learned", "fixed"])
@pytest.mark.parametrize(
    ("experts", "decay", "options"),
    [
        (("momentum", "adam"), 0.0, {"c": 30.0}),
        (("adam", "sign", crooked), 0.1, {"rho": 0.9, "c": 3.0, "eps": 0.0}),
        (("momentum",), 0.1, {}),
        (("muon", "adam"), 0.0, {"sight": 0.2}),
        (("momentum", "polar"), 0.1, {"sight": None}),
        (("muon", "soap"), 0.1, {"c": 5.0}),
    ],
    ids=["momentum, adam", "adam, sign, a function", "momentum alone", "muon, adam", "momentum, polar", "the default"],
)
def test_the_rule_is_the_literal_one(experts, decay, options, scale):
    wanted = literal(by_loops(experts), decay, learned=scale == "learned", **options)
    assert_equal(on_jax(hedge(rates, experts, weight_decay=decay, scale=scale, **options)), wanted)
    if len(experts) > 1:  # the learner has learned, so that the weights are a test
        assert max(wanted[1].w[0]) > 1.05 / len(experts)
    assert scale == "fixed" or abs(wanted[1].log_sigma) > 0.05


@pytest.mark.parametrize("matrices", [[False, True, True], [False, False, False]])
@pytest.mark.parametrize("experts", [("muon", "soap"), ("momentum", "polar")])
def test_a_function_tells_which_leaves_are_matrices(experts, matrices):
    choose = lambda tree: dict(zip(TREE, matrices, strict=True))
    if matrices[1] and "soap" in experts:
        experts = ("muon", "adam")  # the literal SOAP knows one matrix
    found = on_jax(hedge(rates, experts, b1=0.9, b2=0.99, matrices=choose))
    assert_equal(found, literal(by_loops(experts), matrices=matrices, betas=(0.9, 0.99)))


def test_the_default_is_the_core_and_starts_at_a_hundredth():
    """`hedge()` is `PracticalConversion` with its own defaults, with tables left out and the scale learned."""
    conversion = PracticalConversion(scale=LearnedScale(), matrices=MATRICES)
    x = Blocks(tuple(TREE.values()))
    state, (points, found) = conversion.init(x), on_jax(hedge())
    for t in range(STEPS):
        s = gradient(t, dict(zip(TREE, x.arrays, strict=True)))
        dx, state = conversion.update(Blocks(tuple(s.values())), state)
        x = x + dx
        for ours, theirs in zip(jax.tree.leaves(points[t]), x.arrays, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(report(found).weights, conversion.weights(state), atol=1e-11)
    np.testing.assert_allclose(report(found).scale, conversion.factor(state)[0], rtol=1e-11)
    assert conversion.lr == 0.01


FRONTS = [("momentum", "adam", "polar"), ("muon", "soap", "adam"), ("muon", "soap")]


@pytest.mark.parametrize("scale", ["learned", "fixed"])
@pytest.mark.parametrize("experts", FRONTS)
def test_pytorch_makes_the_same_steps(experts, scale):
    """One rule, two front ends: the same gradients give the same points and weights."""
    from o2nc.torch import Hedged

    points, state = on_jax(hedge(rates, experts, weight_decay=0.1, scale=scale))
    x = {name: torch.tensor(a, requires_grad=True) for name, a in TREE.items()}
    other = Hedged(list(x.values()), experts=experts, weight_decay=0.1, scale=scale)
    for t in range(STEPS):
        for name, s in gradient(t, {name: a.detach().numpy() for name, a in x.items()}).items():
            x[name].grad = torch.tensor(s)
        other.param_groups[0]["lr"] = float(RATES[t])
        other.step()
        for name, a in x.items():
            np.testing.assert_allclose(points[t][name], a.detach().numpy(), rtol=0, atol=1e-12)
    weights = other.report()["groups"][0]["weights"]
    np.testing.assert_allclose(report(state).weights, [weights[name] for name in experts], atol=1e-11)


def test_a_schedule_multiplies_what_is_learned():
    """Twice the rate from some step on is twice the step, with the scale that was learned before."""
    late = 8
    plain, _ = on_jax(hedge(0.01))
    twice, _ = on_jax(hedge(lambda count: jnp.where(count < late, 0.01, 0.02)))
    for name in TREE:
        for t in range(late):
            np.testing.assert_allclose(twice[t][name], plain[t][name], rtol=0, atol=1e-15)
        before = plain[late - 1][name]
        np.testing.assert_allclose(twice[late][name] - before, 2 * (plain[late][name] - before), atol=1e-14)


@pytest.mark.parametrize("experts", [("muon", "soap"), ("momentum", "adam")])
def test_vmap_and_scan(experts):
    """Replications side by side are those one by one; also for SOAP, which looks at its round."""
    tx = hedge(0.05, experts)
    noise = {name: np.stack([n, n[::-1]]) for name, n in NOISE.items()}

    def run(noise):
        def one(carry, n):
            x, state = carry
            updates, state = tx.update(jax.tree.map(lambda a, b: 2 * a + b, x, n), state, x)
            return (optax.apply_updates(x, updates), state), None

        x = jax.tree.map(jnp.asarray, TREE)
        x, state = jax.lax.scan(one, (x, tx.init(x)), noise)[0]
        return x, report(state)

    together = jax.jit(jax.vmap(run))(noise)
    assert together[1].scale.shape == (2,)
    for k in range(2):
        alone = jax.jit(run)({name: n[k] for name, n in noise.items()})
        for a, b in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(a[k], b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("size", [1e-25, 1e-30])
def test_tiny_losses_teach_in_float32(size):
    """Their squares are 0 in float32; weights and scale are those of losses that are not tiny."""

    def learned(rate):
        tx, x = hedge(rate, ["adam", "sign", "momentum"]), {"x": jnp.zeros(6, jnp.float32)}
        state, step = tx.init(x), jax.jit(tx.update)
        for s in np.random.default_rng(3).normal(size=(30, 6)) + np.linspace(0, 2, 6):
            _, state = step({"x": jnp.asarray(s, jnp.float32)}, state, x)
        assert report(state).scale.dtype == jnp.float32
        return np.asarray(report(state).weights), float(report(state).scale)

    (weights, scale), (wanted, other) = learned(size), learned(1.0)
    np.testing.assert_allclose(weights, wanted, rtol=1e-3)
    np.testing.assert_allclose(scale, other, rtol=1e-3)
    assert wanted.max() > 0.5
    assert abs(other - 1) > 0.1


@pytest.mark.parametrize("sizes", [[5, 3, 5], [SMALL, SMALL + 7], [2 * CHUNK, CHUNK + 7, 5], [0, 2]], ids=str)
def test_sums_of_blocks(sizes):
    """Of blocks that are stacked, of those that are taken in chunks, and of a rest."""
    blocks = [RNG.normal(size=(2, size)) for size in sizes]
    numbers = RNG.normal(size=len(sizes))

    def terms(numbers, a, b):
        product = a * b
        return product, abs(a) * numbers[0], b / (1 + a * a), product

    wanted = [[term.sum() for term in terms([c], *ab)] for c, ab in zip(numbers, blocks, strict=True)]
    flat = lambda blocks, numbers: sums(terms, [(a[None], b[None]) for a, b in blocks], [numbers])
    found = jax.jit(flat)(blocks, numbers)
    np.testing.assert_allclose(np.stack(found, -1), wanted, rtol=1e-12, atol=1e-12)
    twice = jax.vmap(flat)([np.stack([ab, ab[::-1]]) for ab in blocks], np.stack([numbers, numbers]))
    np.testing.assert_allclose(np.stack(twice, -1)[0], wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("betas", [(0.95, 0.999), (0.8, 0.9)])
def test_one_expert_at_a_fixed_scale_is_that_optimizer(betas):
    """hedge over "adam" alone is AdamW with the same betas; over scale_by_adam too."""
    b1, b2 = betas
    theirs, _ = on_jax(optax.adamw(0.05, b1=b1, b2=b2, weight_decay=0.1))
    for expert in (optax.scale_by_adam(b1=b1, b2=b2), "adam"):
        ours, state = on_jax(hedge(0.05, [expert], b1=b1, b2=b2, weight_decay=0.1, scale="fixed"))
        for name in ("w", "t") if expert == "adam" else TREE:  # "adam" counts from the first gradient of a leaf
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(a[name], b[name], rtol=0, atol=1e-12)
        assert float(report(state).scale) == 1.0


def test_transformations_are_weighed_as_the_named_experts_are():
    """ "adam" from Optax and from the tracker are the same expert, so that their weights are equal."""
    only_w = lambda tree: {"w": tree["w"]}
    tx = hedge(0.05, ["momentum", "adam", optax.scale_by_adam(b1=0.95)])
    x, state = only_w(TREE), tx.init(only_w(TREE))
    for t in range(4):
        _, state = jax.jit(tx.update)({"w": NOISE["w"][t]}, state, x)
    weights = np.asarray(report(state).weights)
    np.testing.assert_allclose(weights[1], weights[2], rtol=1e-12)
    assert weights[0] != pytest.approx(weights[1])


def test_the_length_of_a_transformation_counts_only_if_it_is_alone():
    longer = optax.chain(optax.scale_by_adam(), optax.scale(7.0))

    def first(expert, *others):
        tx = hedge(0.05, [expert, *others])
        return jax.jit(tx.update)(gradient(3, TREE), tx.init(TREE), TREE)[0]["w"]

    np.testing.assert_allclose(first(longer), 7 * first(optax.scale_by_adam()), rtol=1e-12)
    beside = first(longer, "sign")
    np.testing.assert_allclose(beside, first(optax.scale_by_adam(), "sign"), rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(np.mean(beside**2)), 0.05 * 0.2, rtol=1e-12)


def test_what_is_refused():
    check(lambda: hedge(0.1, ["adem"]), ValueError, "`experts[0]`", "'polar'", "'adem'")
    check(lambda: hedge(0.1, []), ValueError, "`experts`", "at least one")
    check(lambda: hedge(0.1, "adam"), ValueError, "`experts`")
    check(lambda: hedge(0.1, [3.0]), ValueError, "`experts[0]`", "3.0")
    for rate in ("fast", True, [0.1], jnp.ones(2)):
        check(lambda rate=rate: hedge(rate), TypeError, "`learning_rate`", "a number or a schedule")
    check(lambda: hedge(-0.1), ValueError, "`learning_rate`", "-0.1")
    check(lambda: hedge(0.1, b1=1.0), ValueError, "`b1`", "1.0")
    check(lambda: hedge(0.1, rho="much"), TypeError, "`rho`")
    check(lambda: hedge(0.1, sight=-1.0), ValueError, "`sight`", "-1.0")
    check(lambda: hedge(0.1, eps=-1.0), ValueError, "`eps`")
    check(lambda: hedge(0.1, c=-1.0), ValueError, "`c`")
    for scale in ("learnt", None, 1.0, ["fixed"]):
        check(lambda scale=scale: hedge(0.1, scale=scale), ValueError, "`scale`", "'learned' or 'fixed'")
    check(lambda: hedge(0.1, matrices=True), TypeError, "`matrices`")
    few = hedge(0.1, matrices=lambda tree: {"w": True})
    check(lambda: few.init(TREE), ValueError, "`matrices`", "there are 3", "got 1")
    init = jax.jit(hedge(0.1, ["adam"]).init)
    check(lambda: init({"w": jnp.zeros(2), "n": jnp.zeros(2, int)}), TypeError, "`params`", "['n']")
    down = jax.jit(hedge(0.1, ["momentum", optax.adam(0.1)]).init)
    check(lambda: down(TREE), ValueError, "`experts[1]`", "uphill")
    tx = hedge(0.1, ["adam"], weight_decay=0.1)
    check(lambda: jax.jit(tx.update)(TREE, tx.init(TREE)), ValueError, "`params`", "weight decay")
    tx = hedge(0.1, [lambda u: u[:1]])
    check(lambda: jax.jit(tx.update)(TREE, tx.init(TREE)), ValueError, "shape of u")
