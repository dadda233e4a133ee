"""The cap on a learned scale with weight decay: the literal rule, the core, torch and optax make the same steps."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from o2nc import Blocks
from o2nc.conversions import LearnedScale, PracticalConversion
from o2nc.optax import hedge, report
from o2nc.torch import Hedged
from reference_practical import Practical

EXPERTS = ["momentum", "adam"]
DECAY = 4.0
RATES = [0.1] * 12 + [0.05] * 8 + [0.2] * 4 + [0.0] * 2 + [0.1] * 4  # with caps of 1.25, 2.5, 1, none, 1.25
X = np.asarray([2.0, -1.0, 0.5])
S = [np.asarray([1.0, 2.0, -1.0]) + 0.1 * np.sin(t + np.arange(3)) for t in range(len(RATES))]


def literal():
    rule = Practical([X], EXPERTS)
    for s, lr in zip(S, RATES, strict=True):
        rule.step([s], lr, DECAY)
        yield rule.x[0], rule.log_sigma, rule.capped


def core():
    conversion = PracticalConversion(EXPERTS, lr=lambda t: RATES[int(t)], weight_decay=DECAY, scale=LearnedScale())
    x = Blocks((X,))
    state = conversion.init(x)
    for s in S:
        dx, state = conversion.update(Blocks((s,)), state, x)
        x = x + dx
        yield x.arrays[0], state.scale.log[0], conversion.sums(state)["capped"][0]


def on_torch():
    p = torch.nn.Parameter(torch.tensor(X))
    opt = Hedged([p], RATES[0], EXPERTS, weight_decay=DECAY)
    for s, lr in zip(S, RATES, strict=True):
        opt.param_groups[0]["lr"], p.grad = lr, torch.tensor(s)
        opt.step()
        yield p.detach().numpy().copy(), opt.state[p]["scale.log"].item(), opt.report()["capped"]


def on_optax():
    tx, x = hedge(lambda t: jnp.asarray(RATES)[t], EXPERTS, weight_decay=DECAY), jnp.asarray(X)
    state, step = tx.init(x), jax.jit(tx.update)
    for s in S:
        updates, state = step(jnp.asarray(s), state, x)
        x = optax.apply_updates(x, updates)
        yield x, np.log(report(state).scale), report(state).capped


@pytest.mark.parametrize("front", [core, on_torch, on_optax])
def test_all_make_the_same_steps(front):
    for (x, log, capped), (their_x, their_log, their_capped) in zip(literal(), front(), strict=True):
        np.testing.assert_allclose(their_x, x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(their_log, log, rtol=0, atol=1e-12)
        assert float(their_capped) == capped


def test_the_rule_is_at_its_caps():
    sigma = [np.exp(log) for _, log, _ in literal()]
    assert sigma[11] == pytest.approx(1.25)
    assert 1.25 < sigma[19] <= 2.5
    assert sigma[23] == pytest.approx(1.0)
    (*_, (_, _, capped)) = literal()
    assert 4 < capped < len(RATES)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PracticalConversion(EXPERTS, lr=4.0, weight_decay=0.25),
        lambda: PracticalConversion(EXPERTS, lr=(0.1, 4.0), weight_decay=0.25),
        lambda: hedge(4.0, EXPERTS, weight_decay=0.25),
        lambda: Hedged([torch.nn.Parameter(torch.ones(1))], 4.0, EXPERTS, weight_decay=0.25),
    ],
)
def test_a_rate_of_ones_own_that_forgets_the_weights_is_refused(make):
    with pytest.raises(ValueError, match=r"times `weight_decay` must be less than 1.*got 4.0 times 0.25"):
        make()


@pytest.mark.parametrize("lr", [0.25, 3.0, jnp.inf, jnp.nan])
def test_a_rate_without_a_value_that_would_counts_as_0(lr):
    tx, x = hedge(lambda t: jnp.where(t == 0, lr, 0.1), EXPERTS, weight_decay=DECAY), jnp.asarray(X)
    updates, state = jax.jit(tx.update)(jnp.asarray(S[0]), tx.init(x), x)
    assert np.array_equal(updates, 0 * X)
    updates, state = jax.jit(tx.update)(jnp.asarray(S[1]), state, x)
    assert np.all(updates != 0)
