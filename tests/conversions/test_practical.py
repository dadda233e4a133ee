"""The practical rule of the core is the literal one, on every array library, on arrays and on `Blocks`."""

import math

import jax
import numpy as np
import pytest

import o2nc
from conftest import BACKENDS, numpy_of
from o2nc import Blocks
from o2nc.conversions import FixedScale, LearnedScale, PracticalConversion
from o2nc.directions import Mask
from o2nc.learners import AdaHedge, ShortMemoryHedge
from reference_practical import Practical
from reference_soap import SOAP, turn_of
from sentences import check

STEPS = 12
RNG = np.random.default_rng(0)
SHAPES = [(3,), (3, 4), ()]
X1 = [RNG.normal(size=shape) for shape in SHAPES]
NOISE = [RNG.normal(size=(STEPS, *shape)) for shape in SHAPES]
MASK = [RNG.integers(0, 2, size=shape).astype(float) for shape in SHAPES]
RATES = [0.0, *np.linspace(0.1, 0.01, STEPS - 1).tolist()]
JITTED = [backend for backend in BACKENDS if backend.name != "jax"]  # JAX is compiled here: its eager mode is slow


@pytest.fixture(params=JITTED, ids=repr)
def xp(request):
    return request.param


def gradients(t, x):
    """The first block has no gradient in the first two steps."""
    return [(2 * a + n[t]) * (k > 0 or t >= 2) for k, (a, n) in enumerate(zip(x, NOISE, strict=True))]


def literal(experts, decay=0.0, **options):
    rule, points = Practical(X1, experts, **options), []
    rule.regrets = []
    for t in range(STEPS):
        rule.step(gradients(t, rule.x), RATES[t], decay)
        rule.regrets.append(list(rule.regret[0]))
        points.append([np.array(a) for a in rule.x])
    return points, rule


def run(xp, conversion):
    """Every step on the gradients at its own points; the learning rates are those of a schedule."""
    x = Blocks(tuple(xp.array(a) for a in X1))
    state, update, points = conversion.init(x), xp.transform(conversion.update), []
    for t in range(STEPS):
        s = Blocks(tuple(xp.array(a) for a in gradients(t, [numpy_of(a) for a in x.arrays])))
        dx, state = update(s, state, x)
        x = x + dx
        points.append([numpy_of(a) for a in x.arrays])
    return points, state


def schedule(xp):
    rates = xp.array(RATES)
    return lambda count: rates[count]


def crooked(u):
    """An expert that is wrong on purpose."""
    return 0.3 * u - 0.5 * u * u


def mask(xp):
    return Mask(Blocks(tuple(xp.array(a) for a in MASK)))


class Eigenbasis:
    """SOAP of the only matrix here."""

    def __init__(self):
        self.soap = SOAP(SHAPES[1], turn=turn_of(SHAPES[1]))

    def update(self, s, m):
        return self.soap.direction(s, m)


CASES = {
    "momentum, adam": (lambda xp: ["momentum", "adam"], ["momentum", "adam"], 0.0, {"c": 30.0}),
    "adam, sign, a function": (
        lambda xp: ["adam", "sign", crooked],
        ["adam", "sign", crooked],
        0.1,
        {"rho": 0.9, "c": 3.0},
    ),
    "no eps": (lambda xp: ["momentum", "adam"], ["momentum", "adam"], 0.1, {"eps": 0.0, "betas": (0.8, 0.9)}),
    "a mask without adam": (lambda xp: ["momentum", mask(xp)], ["momentum", MASK], 0.0, {"sight": 0.2}),
    "no traces": (lambda xp: ["momentum", "adam"], ["momentum", "adam"], 0.1, {"sight": None}),
    "momentum alone": (lambda xp: ["momentum"], ["momentum"], 0.1, {}),
    "polar": (lambda xp: ["momentum", "adam", "polar"], ["momentum", "adam", "polar"], 0.0, {}),
    "polar is adam": (lambda xp: ["momentum", "polar"], ["momentum", "polar"], 0.1, {"matrices": [False] * 3}),
    "muon, adam": (lambda xp: ["muon", "adam"], ["muon", "adam"], 0.0, {"betas": (0.9, 0.99), "c": 30.0}),
    "asleep": (lambda xp: ["momentum", "adam", "sign"], ["momentum", "adam", "sign"], 0.0, {"c": 300.0}),
    "muon, soap": (lambda xp: ["muon", "soap"], ["muon", Eigenbasis()], 0.1, {"c": 5.0}),
}


@pytest.mark.parametrize("learned", [False, True], ids=["fixed", "learned"])
@pytest.mark.parametrize("name", CASES)
def test_it_is_the_literal_rule(xp, name, learned):
    experts, named, decay, options = CASES[name]
    wanted, rule = literal(
        [Eigenbasis() if type(e) is Eigenbasis else e for e in named], decay, learned=learned, **options
    )
    b1, b2 = options.get("betas", (0.95, 0.999))
    conversion = PracticalConversion(
        experts(xp), lr=schedule(xp), b1=b1, b2=b2, eps=options.get("eps", 1e-8), weight_decay=decay,
        sight=options.get("sight", 2.0), scale=LearnedScale() if learned else FixedScale(),
        learner=ShortMemoryHedge(rho=options.get("rho", 0.997), c=options.get("c", 3.0)),
        matrices=options.get("matrices"),
    )  # fmt: skip
    points, state = run(xp, conversion)
    changes = np.diff(rule.regrets, n=2, axis=0, prepend=np.zeros((2, len(named))))
    np.testing.assert_allclose(numpy_of(state.error), np.sqrt(np.sum(changes**2, axis=0) / 2), rtol=0, atol=1e-11)
    for ours, theirs in zip(points, wanted, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
    np.testing.assert_allclose(numpy_of(conversion.weights(state)), rule.w[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(numpy_of(conversion.sums(state)["regrets"]), rule.regret[0], rtol=0, atol=1e-11)
    if learned:
        np.testing.assert_allclose(numpy_of(conversion.factor(state)), math.exp(rule.log_sigma), rtol=1e-11)
        assert abs(rule.log_sigma) > 0.05
    if name == "asleep":
        assert 0 < rule.slept < 3 * STEPS
    if len(named) > 1:  # the learner has learned, so that the weights are a test
        assert max(rule.w[0]) > 1.05 / len(named)


def test_an_array_is_one_block_and_rows_are_replications(xp):
    x = RNG.normal(size=(2, 5))
    conversion = PracticalConversion(["momentum", "adam", "sign", crooked], lr=0.1, weight_decay=0.1)
    together, apart = xp.array(x), [Blocks((xp.array(row),)) for row in x]
    state, states = conversion.init(together), [conversion.init(row) for row in apart]
    update = xp.transform(conversion.update)
    for s in RNG.normal(size=(6, 2, 5)):
        dx, state = update(xp.array(s), state, together)
        together = together + dx
        for k in range(2):
            dx, states[k] = update(Blocks((xp.array(s[k]),)), states[k], apart[k])
            apart[k] = apart[k] + dx
            np.testing.assert_allclose(numpy_of(together)[k], numpy_of(apart[k].arrays[0]), rtol=0, atol=1e-13)
    weights = numpy_of(conversion.weights(state))
    np.testing.assert_allclose(weights[1], numpy_of(conversion.weights(states[1])), rtol=0, atol=1e-12)


def test_every_block_may_have_its_own_learning_rate():
    rates = (0.1, 0.02, 0.0)
    conversion = PracticalConversion(["momentum", "adam"], lr=rates, weight_decay=0.1)
    rule, x = Practical(X1, ["momentum", "adam"], learned=False), Blocks(tuple(X1))
    state = conversion.init(x)
    for t in range(STEPS):
        rule.step(gradients(t, rule.x), list(rates), 0.1)
        dx, state = conversion.update(Blocks(tuple(gradients(t, x.arrays))), state, x)
        x = x + dx
        for a, b in zip(x.arrays, rule.x, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_large_blocks_are_summed_in_lanes():
    """On JAX, more entries than lanes: the same numbers as on NumPy."""
    conversion = PracticalConversion(["momentum", "adam", "sign", crooked], lr=0.1)
    x, samples = RNG.normal(size=(3, 3001)), RNG.normal(size=(4, 3, 3001))
    ours, theirs = conversion.init(Blocks((x,))), conversion.init(Blocks((jax.numpy.asarray(x),)))
    step = jax.jit(conversion.update)
    for s in samples:
        dx, ours = conversion.update(Blocks((s,)), ours)
        dy, theirs = step(Blocks((jax.numpy.asarray(s),)), theirs)
        np.testing.assert_allclose(dx.arrays[0], dy.arrays[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.regret, theirs.regret, rtol=0, atol=1e-12)


def test_any_learner_over_numbers_will_do():
    conversion = PracticalConversion(["momentum", "adam"], lr=0.05, learner=AdaHedge())
    result = o2nc.minimize(lambda x, rng: 2 * x, np.ones(3), conversion, rounds=60)
    assert np.max(np.abs(result.last)) < 0.5
    assert result.certificate is None
    assert "practical" in result.reasons["certificate"]


def test_what_swings_across_a_valley_loses():
    """The gradient of coordinate 0 swings; that of coordinate 1 is ten times smaller, and stays. Its expert wins."""
    masks = [Mask(np.asarray(mask), name) for mask, name in (([1.0, 0.0], "across"), ([0.0, 1.0], "along"))]
    conversion = PracticalConversion(masks, lr=0.1, b1=0.0)
    state = conversion.init(np.zeros(2))
    for t in range(50):
        _, state = conversion.update(np.asarray([(-1.0) ** t, 0.1]), state)
    assert conversion.weights(state)[1] > 0.95


def test_the_scale_has_limits():
    """On a slope that never ends it grows, and stops at ten decades."""
    conversion = PracticalConversion(["adam"], lr=0.1, scale=LearnedScale(step=1.0, pace=1000.0))
    state = conversion.init(np.zeros(2, dtype=np.float32))
    for _ in range(60):
        dx, state = conversion.update(np.ones(2, dtype=np.float32), state)
    assert conversion.factor(state)[0] == pytest.approx(1e10, rel=1e-5)
    assert np.all(np.isfinite(dx))


def test_the_scale_grows_like_a_power_of_the_steps():
    """On a slope that never ends: at most by 5 % a step, and by c/n when n steps were made."""
    scale = LearnedScale()
    state, logs = scale.init(np.zeros(1)), [0.0]
    for _ in range(800):
        state = scale.learn(state, scale.factor(state))
        logs.append(float(state.log[0]))
    assert max(np.diff(logs)) <= 0.05
    assert 0.6 * 0.05 * 70 < logs[70] < 0.05 * 70
    assert 0.9 < (logs[800] - logs[200]) / (4 * math.log(4)) < 1


def test_the_scale_does_not_depend_on_the_units_of_the_objective():
    conversion = PracticalConversion(["adam"], lr=0.1, scale=LearnedScale(), eps=0.0)
    states = [conversion.init(np.ones(3)) for _ in range(3)]
    for s in RNG.normal(size=(20, 3)):
        states = [conversion.update(c * s, state)[1] for c, state in zip((1.0, 2.0**60, 2.0**-60), states, strict=True)]
    factors = [conversion.factor(state) for state in states]
    np.testing.assert_allclose(factors, [factors[0]] * 3, rtol=1e-12)
    assert abs(factors[0] - 1) > 0.01


def test_what_is_refused():
    check(lambda: PracticalConversion([]), ValueError, "`experts`", "at least one")
    check(lambda: PracticalConversion("adam"), ValueError, "`experts`", "'adam'")
    check(lambda: PracticalConversion(["adem"]), ValueError, "`experts[0]`", "'adem'")
    check(lambda: PracticalConversion(lr=-0.1), ValueError, "`PracticalConversion(lr=...)`", "-0.1")
    check(lambda: PracticalConversion(lr="fast"), TypeError, "`PracticalConversion(lr=...)`", "'fast'")
    check(lambda: PracticalConversion(b1=1.0), ValueError, "`PracticalConversion(b1=...)`", "1.0")
    check(lambda: PracticalConversion(eps=-1.0), ValueError, "`PracticalConversion(eps=...)`", "-1.0")
    decaying = PracticalConversion(["adam"], weight_decay=0.1)
    check(lambda: decaying.update(np.ones(2), decaying.init(np.ones(2))), ValueError, "the point of the sample, `x`")
    plain = PracticalConversion(["adam"])
    check(lambda: plain.update(np.ones(3), plain.init(np.ones(2))), ValueError, "`s`", "shape")
