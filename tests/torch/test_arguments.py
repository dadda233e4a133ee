"""Wrong arguments of `Hedged`, and options that cannot change: sentences, and nothing moves."""

import re

import pytest
import torch

from o2nc.conversions.practical import RHO
from o2nc.directions import Adam, Function, Mask, Muon, Polar
from o2nc.torch import Hedged
from sentences import check

P, Q = (torch.nn.Parameter(torch.zeros(2)) for _ in range(2))
WRONG = {
    "unknown": (lambda: Hedged([P], experts=("adamw",)), ValueError, "`experts[0]` must be '", "got 'adamw'"),
    "a name": (lambda: Hedged([P], experts="adam"), ValueError, "`experts` must be a tuple", "got 'adam'"),
    "none of them": (lambda: Hedged([P], experts=()), ValueError, "at least one expert; got ()"),
    "twice": (lambda: Hedged([P], experts=("adam", Adam())), ValueError, "different names; got ['adam', 'adam']"),
    "a class": (lambda: Hedged([P], experts=(Adam,)), ValueError, "a direction or a function", "got <class"),
    "no function": (lambda: Hedged([P], experts=("adam", 3)), ValueError, "`experts[1]` must be", "got 3"),
    "experts of a group": (lambda: Hedged([{"params": [P], "experts": ("x",)}]), ValueError, "got 'x'"),
    "betas": (
        lambda: Hedged([P], betas=(0.9, 1.0)),
        ValueError,
        "`betas[1]` must be at least 0 and less than 1; got 1.0",
    ),
    "negative betas": (lambda: Hedged([P], betas=(-0.1, 0.9)), ValueError, "`betas[0]`", "got -0.1"),
    "split": (
        lambda: Hedged([P], experts=("soap", Muon(split=3))),
        ValueError,
        "`experts[1]` must leave `split` at 1: here it is an option of a parameter group",
        "got 3",
    ),
    "which are matrices": (lambda: Hedged([P], experts=(Polar(matrices=[True]),)), ValueError, "`matrices` at None"),
    "one beta": (lambda: Hedged([P], betas=0.9), ValueError, "`betas` must be two numbers; got 0.9"),
    "eps": (lambda: Hedged([P], eps=0.0), ValueError, "`eps` must be finite and positive; got 0.0"),
    "rho": (lambda: Hedged([P], rho=1.0), ValueError, "`rho` must be at least 0 and less than 1; got 1.0"),
    "sight": (lambda: Hedged([P], sight=-1.0), ValueError, "`sight`", "-1.0"),
    "c": (lambda: Hedged([P], c=-1.0), ValueError, "`c` must be finite and nonnegative; got -1.0"),
    "scale": (
        lambda: Hedged([P], scale="fixd"),
        ValueError,
        "`scale` must be among ('learned', 'fixed'); got 'fixd'",
    ),
    "scale of a group": (lambda: Hedged([{"params": [P], "scale": 2.0}]), ValueError, "`scale` must be", "got 2.0"),
    "weights": (lambda: Hedged([P], weights="all"), ValueError, "`weights` must be among", "got 'all'"),
    "matrices": (lambda: Hedged([P], matrices=1), TypeError, "`matrices` must be True or False; got 1"),
    "learners": (
        lambda: Hedged([{"params": [P], "rho": 0.5}, {"params": [Q]}]),
        ValueError,
        f"`weights='shared'` must have the same `rho`; got 0.5 and {RHO}.",
    ),
    "steps": (
        lambda: Polar(steps=0),
        ValueError,
        "`Polar(steps=...)` must be None or a whole number of at least 1; got 0",
    ),
    "mask by name": (lambda: Mask({"w": torch.ones(1)}), TypeError, "`Mask(mask=...)` must be a dict from", "key 'w'"),
    "no mask": (lambda: Mask(3), TypeError, "`Mask(mask=...)` must be factors, or a dict", "got 3"),
    "mask shape": (
        lambda: Hedged([P], experts=(Mask({P: torch.ones(3)}),)),
        ValueError,
        "shape of its block, (2,)",
    ),
    "mask values": (lambda: Hedged([P], experts=(Mask({P: P + 2}),)), ValueError, "factors in [0, 1]"),
    "mask nan": (lambda: Hedged([P], experts=(Mask({P: P / 0}),)), ValueError, "factors in [0, 1]"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name):
    check(*WRONG[name])


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("scale", "fixed", "must stay 'learned', as it was when the group was added; got 'fixed'"),
        ("weights", "tensor", "must stay 'shared'"),
        ("precision", "bfloat16", "must stay None"),
        ("sight", None, "must stay 'a number'"),
        ("experts", ("adam",), "must stay ('muon', 'soap')"),
    ],
)
def test_what_the_state_depends_on_cannot_change(name, value, words):
    p = torch.nn.Parameter(torch.ones(2))
    opt = Hedged([p])
    p.grad = torch.ones(2)
    opt.step()
    x, before = p.clone(), opt.param_groups[0][name]
    opt.param_groups[0][name] = value
    with pytest.raises(ValueError, match=re.escape(f"`{name}` of group 0 {words}")):
        opt.step()
    assert torch.equal(p, x)
    opt.param_groups[0][name] = before
    opt.param_groups[0]["sight"] = 0.5  # another number is an option like others
    opt.step()
    assert not torch.equal(p, x)


def test_wrong_groups_are_not_added():
    opt = Hedged([P])
    for group in ({"params": [Q], "lr": -1.0}, {"params": [Q], "experts": (Mask({Q: torch.ones(3)}),)}):
        with pytest.raises(ValueError):
            opt.add_param_group(group)
    assert len(opt.param_groups) == len(opt._experts) == 1


def test_functions_must_keep_the_shape():
    p = torch.nn.Parameter(torch.ones(2))
    for function, got in ((torch.sum, "got ()"), (lambda u: 3, "got 3")):
        opt = Hedged([p], experts=(Function(function),))
        p.grad = torch.ones(2)
        check(opt.step, ValueError, "must return an array in the shape of u", got)
