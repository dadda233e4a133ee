"""What is refused, and that nothing has changed then: rates, options, checkpoints, and functions that raise."""

import copy
import math

import pytest
import torch
from training import assert_same, snapshot

from o2nc.directions import Function, Mask
from o2nc.optax import hedge
from o2nc.rivals import HeavyBall
from o2nc.torch import Converted, Hedged, log
from sentences import check


def hedged(**options):
    params = [torch.nn.Parameter(torch.ones(3, 2)), torch.nn.Parameter(torch.ones(2))]
    return Hedged(params, 0.1, ("momentum", "adam", "polar"), **options)


def converted(**options):
    params = [torch.nn.Parameter(torch.ones(3, 2)), torch.nn.Parameter(torch.ones(2))]
    return Converted(params, HeavyBall(eta=0.1), **options)


BOTH = pytest.mark.parametrize("make", [hedged, converted])


def steps(opt, n=3):
    for t in range(n):
        for group in opt.param_groups:
            for p in group["params"]:
                p.grad = p.detach() + 0.1 * t
        opt.step()
    return opt


def refused(opt, call, error, *words):
    """The call raises a sentence, and neither parameters nor state have changed."""
    before, held = copy.deepcopy(opt.state_dict()), [p.detach().clone() for p in params(opt)]
    with pytest.raises(error) as raised:
        call()
    assert all(word in str(raised.value) for word in words), str(raised.value)
    for p, a in zip(params(opt), held, strict=True):
        assert torch.equal(p, a)
    now = opt.state_dict()
    assert set(now["state"]) == set(before["state"])
    for k, entry in before["state"].items():
        for key, a in entry.items():
            assert torch.equal(now["state"][k][key], a), key


def params(opt):
    return [p for group in opt.param_groups for p in group["params"]]


@BOTH
@pytest.mark.parametrize("lr", [math.nan, math.inf, -0.1, torch.tensor(math.nan)], ids=str)
def test_a_learning_rate_of_a_scheduler_that_is_none(make, lr):
    opt = steps(make())
    opt.param_groups[0]["lr"] = lr
    refused(opt, opt.step, ValueError, "`lr` must be finite and nonnegative")
    opt.param_groups[0]["lr"] = 0.1
    steps(opt)
    assert all(p.isfinite().all() for p in params(opt))


def test_a_schedule_of_jax_that_is_no_number_moves_nothing():
    import jax
    import jax.numpy as jnp

    tx, x = hedge(lambda t: jnp.where(t == 2, jnp.nan, 0.1)), jnp.asarray([2.0, -1.0])
    state, step = tx.init(x), jax.jit(tx.update)
    for t in range(6):
        updates, state = step(2 * x, state, x)
        assert bool(jnp.any(updates != 0)) == (t != 2)
        x = x + updates
    assert bool(jnp.all(jnp.isfinite(state.report.weights)))


@BOTH
@pytest.mark.parametrize("saved", [{}, None, [], {"state": {}}, {"state": 3, "param_groups": []}], ids=str)
def test_what_is_no_state_dict(make, saved):
    opt = steps(make())
    refused(opt, lambda: opt.load_state_dict(saved), ValueError, "`state_dict", "must be a")


def spoilt(opt, key, value):
    saved = copy.deepcopy(opt.state_dict())
    saved["state"][1][key] = saved["state"][1][key] * 0 + value
    return saved


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("m", math.nan, "finite numbers"),
        ("root", -1.0, "nonnegative numbers"),
        ("t", -3.0, "nonnegative numbers"),
        ("t", 1.5, "whole numbers"),
        ("played", math.inf, "finite numbers"),
        ("C", math.nan, "finite numbers"),
        ("R", -1.0, "nonnegative numbers"),
        ("e.0", math.inf, "finite numbers"),
        ("scale.log", math.nan, "finite numbers"),
        ("scale.root", -1.0, "nonnegative numbers"),
    ],
)
def test_numbers_of_a_checkpoint_that_cannot_be(key, value, words):
    opt = steps(hedged())
    saved = spoilt(opt, key, value)
    refused(opt, lambda: opt.load_state_dict(saved), ValueError, words, repr(key), "parameter 1")


@pytest.mark.parametrize(("key", "value"), [("step", -1), ("step", 7), ("state.m", math.inf)])
def test_numbers_of_a_converted_checkpoint_that_cannot_be(key, value):
    opt = steps(converted())
    refused(opt, lambda: opt.load_state_dict(spoilt(opt, key, value)), ValueError, repr(key))


@BOTH
def test_keys_that_are_strings_are_not_lost(make):
    opt = steps(make())
    saved = copy.deepcopy(opt.state_dict())
    saved["state"] = {str(key): entry for key, entry in saved["state"].items()}
    refused(opt, lambda: opt.load_state_dict(saved), ValueError, "got '0', which is none")


@BOTH
@pytest.mark.parametrize(("option", "value"), [("lr", math.nan), ("weight_dekay", 0.1), ("maximize", 3)])
def test_options_of_a_checkpoint_that_cannot_be(make, option, value):
    opt = steps(make())
    saved = copy.deepcopy(opt.state_dict())
    saved["param_groups"][0][option] = value
    refused(opt, lambda: opt.load_state_dict(saved), (ValueError, TypeError), option)


@BOTH
def test_an_option_that_a_checkpoint_lacks(make):
    opt = steps(make())
    saved = copy.deepcopy(opt.state_dict())
    del saved["param_groups"][0]["weight_decay"]
    refused(opt, lambda: opt.load_state_dict(saved), ValueError, "must have 'weight_decay'")


def test_misspelt_options():
    x = torch.nn.Parameter(torch.ones(2))
    check(lambda: Hedged([{"params": [x], "weight_dekay": 0.1}]), ValueError, "the nearest is 'weight_decay'")
    check(
        lambda: Converted([{"params": [x], "maximise": True}], HeavyBall(eta=0.1)),
        ValueError,
        "the nearest is 'maximize'",
    )
    opt = Hedged([{"params": [x], "name": "all", "initial_lr": 0.1, "fused": None, "foreach": None}])
    torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=10)
    again = Hedged([torch.nn.Parameter(torch.ones(2))])
    again.load_state_dict(opt.state_dict())


class Fails:
    """A function that raises when told to."""

    now = False

    def __call__(self, u):
        if self.now and bool(u.any()):
            raise RuntimeError("as told")
        return u / 2


@pytest.mark.parametrize("options", [{}, {"foreach": False}, {"maximize": True}], ids=str)
def test_a_function_that_raises_leaves_no_half_step(options):
    fails = Fails()
    expert = Function(fails, "fails")
    params = [torch.nn.Parameter(torch.ones(3, 2)), torch.nn.Parameter(torch.ones(2))]
    opt, same = (Hedged(copy.deepcopy(params), 0.1, ("adam", expert, "polar"), **options) for _ in range(2))
    for _ in range(2):
        for each in (opt, same):
            steps(each)
        fails.now = True
        refused(opt, opt.step, RuntimeError, "as told")
        fails.now = False
    assert_same(snapshot(opt), snapshot(same))


def test_a_first_step_that_raises_leaves_no_state():
    fails = Fails()
    opt = Hedged([torch.nn.Parameter(torch.ones(2))], 0.1, ("adam", Function(fails, "fails")))
    fails.now = True
    refused(opt, lambda: steps(opt), RuntimeError, "as told")
    assert not opt.state


def test_a_mask_that_raises_leaves_no_state():
    calls = []

    def mask(p):
        calls.append(p)
        if len(calls) > 3:
            raise RuntimeError("as told")

    opt = Hedged([torch.nn.Parameter(torch.ones(n)) for n in (2, 3)], 0.1, ("adam", Mask(mask)))
    refused(opt, lambda: steps(opt), RuntimeError, "as told")
    assert not opt.state


def test_a_conversion_that_raises_leaves_no_half_step():
    class Sometimes(HeavyBall):
        now = False

        def update(self, *args, **kwargs):
            if Sometimes.now:
                raise RuntimeError("as told")
            return super().update(*args, **kwargs)

    x = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    opt = steps(Converted([x], Sometimes(eta=0.1), changed="accept"))
    with torch.no_grad():
        x.add_(1.0)
    Sometimes.now = True
    refused(opt, opt.step, RuntimeError, "as told")
    assert opt._run["void"] == "`fresh_samples=True` was not declared"


def test_a_log_reads_its_header_once(tmp_path, monkeypatch):
    opt, path, reads = hedged(), tmp_path / "run.csv", []
    log(opt, path)
    steps(opt)
    real = type(path).open
    monkeypatch.setattr(
        type(path), "open", lambda p, mode="r", *a, **k: (reads.append(mode), real(p, mode, *a, **k))[1]
    )
    monkeypatch.setattr(type(path), "read_text", lambda *a, **k: pytest.fail("reads the whole file"))
    again = hedged()
    again.load_state_dict(opt.state_dict())
    log(again, path)
    steps(again)
    assert reads == [
        "a",
        "r",
        "r+b",
        "a",
        "a",
        "a",
    ]  # is it writable, header, half a row, rows
    with path.open("r") as file:
        assert len(file.readlines()) == 7


def test_many_groups_are_not_compared_in_pairs(monkeypatch):
    """The work to add a group does not grow with the number of groups."""
    from o2nc.torch import hedged as module

    compared = []
    monkeypatch.setattr(module, "check_shared", lambda group, other: compared.append(other))
    Hedged([{"params": [torch.nn.Parameter(torch.ones(1))]} for _ in range(50)])
    assert len(compared) == 50


@pytest.mark.parametrize("experts", [("momentum",), ("muon", "soap")], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_whose_squares_are_finite_and_whose_sums_over_steps_are_not(dtype, experts):
    """<s, e> overflowed with gradients of 8e18: weights, scale and then all parameters were NaN."""
    largest = torch.finfo(dtype).max
    for size in (1e-4 * largest**0.5, 0.45 * largest**0.5):
        params = [torch.nn.Parameter(torch.ones(shape, dtype=dtype)) for shape in ((2, 2), ())]
        opt = Hedged(params, 0.1, experts)
        for _ in range(12):
            for p in params:
                p.grad = torch.full_like(p, size)
            if size < 1e-3 * largest**0.5:
                opt.step()
            else:
                refused(opt, opt.step, ValueError, "Gradients must be finite, and their squares")
        assert all(a.isfinite().all() for p in params for a in (p, *opt.state[p].values()))
