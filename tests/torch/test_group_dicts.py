"""Groups as torchtitan makes them, with `fused` and `foreach`, and checkpoints as it stores them."""

import re

import pytest
import torch
from training import assert_same, snapshot, stored

from o2nc.torch import Hedged
from sentences import check

IMPLEMENTATIONS = {  # of torchtitan
    "fused": {"fused": True, "foreach": False},
    "foreach": {"fused": False, "foreach": True},
    "for-loop": {"fused": False, "foreach": False},
}
PATTERNS = {
    r"bias$|2\.weight": {"lr": 0.02, "weight_decay": 0.0, "matrices": False},
    r".*": {"lr": 0.02, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1},
}


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))


def made(model, flags):
    """A group for each pattern, with the names beside the parameters; the first pattern that is found counts."""
    rest, groups = dict(model.named_parameters()), []
    for pattern, options in PATTERNS.items():
        names = [name for name in rest if re.search(pattern, name)]
        params = [rest.pop(name) for name in names]
        groups.append({"params": params, "param_names": names, **flags, **options})
    return Hedged(groups)


def train(model, opt, rounds):
    for t in rounds:
        opt.zero_grad()
        model(torch.randn(8, 6, generator=torch.Generator().manual_seed(t))).square().mean().backward()
        opt.step()


def flat(opt):
    """What torchtitan stores: state and options under the names of parameters."""
    saved, found = opt.state_dict(), {}
    for group in saved["param_groups"]:
        for k, name in zip(group["params"], group["param_names"], strict=True):
            found |= {f"state.{name}.{key}": value for key, value in saved["state"][k].items()}
            rest = {key: value for key, value in group.items() if key not in ("params", "param_names")}
            found |= {f"param_groups.{name}.{key}": value for key, value in rest.items()}
    return found


def load(opt, found):
    """A state_dict with the entries that the optimizer has now, and without names, as torchtitan makes it."""
    saved, k = {"state": {}, "param_groups": []}, 0
    for group in opt.param_groups:
        first = group["param_names"][0]
        rest = {key: found[f"param_groups.{first}.{key}"] for key in group if key not in ("params", "param_names")}
        saved["param_groups"].append({"params": list(range(k, k + len(group["params"]))), **rest})
        for name, p in zip(group["param_names"], group["params"], strict=True):
            saved["state"][k] = {key: found[f"state.{name}.{key}"] for key in opt.state[p]}
            k += 1
    opt.load_state_dict(saved)


def prepared(opt):
    """With a state, by a step with zero gradients and rates, which is to change nothing."""
    rates = [group["lr"] for group in opt.param_groups]
    for group in opt.param_groups:
        group["lr"] = 0.0
        for p in group["params"]:
            p.grad = torch.zeros_like(p)
    opt.step()
    for group, lr in zip(opt.param_groups, rates, strict=True):
        group["lr"] = lr
    opt.zero_grad()
    return opt


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_the_keys_change_nothing(name):
    model, plain = net(), net()
    opt, other = made(model, IMPLEMENTATIONS[name]), made(plain, {})
    train(model, opt, range(5))
    train(plain, other, range(5))
    assert opt.param_groups[0]["fused"] is IMPLEMENTATIONS[name]["fused"]
    assert_same(snapshot(opt)[0], snapshot(other)[0])
    assert opt.report() == other.report()


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_resumed_is_uninterrupted(name):
    flags = IMPLEMENTATIONS[name]
    model, again = net(), net()
    opt = prepared(made(model, flags))
    train(model, opt, range(4))
    saved, weights = stored(flat(opt)), stored(model.state_dict())
    train(model, opt, range(4, 8))
    again.load_state_dict(weights)
    other = prepared(made(again, flags))
    load(other, saved)
    train(again, other, range(4, 8))
    assert opt.t == other.t == 8  # the steps without gradients do not count
    assert_same(snapshot(opt), snapshot(other))


@pytest.mark.parametrize("fused", [None, True, False])
def test_as_an_argument(fused):
    model, plain = net(), net()
    opt, other = Hedged(model.parameters(), fused=fused), Hedged(plain.parameters())
    train(model, opt, range(3))
    train(plain, other, range(3))
    assert_same(snapshot(opt), snapshot(other))


def test_what_is_refused():
    """In the words of torch, and as it refuses them; in groups too."""
    p = torch.zeros(2, requires_grad=True)
    both = {"fused": True, "foreach": True}
    for opt in (Hedged, torch.optim.AdamW):
        check(lambda opt=opt: opt([p], **both), RuntimeError, "`fused` and `foreach` cannot be `True` together.")
    check(lambda: Hedged([{"params": [p], **both}]), RuntimeError, "`fused` and `foreach` cannot be `True` together.")
    check(lambda: Hedged([p], fused="yes"), TypeError, "`fused` must be True or False; got 'yes'")
    check(lambda: Hedged([{"params": [p], "foreach": 1}]), TypeError, "`foreach` must be True or False; got 1")
