"""A step of `Converted` in which any operation of torch fails changes nothing."""

import itertools

import pytest
import torch
from machine import Failing, Told, under
from training import MAKERS, assert_same, build, parameters, snapshot, train

from o2nc.torch import Converted


def step(opt):
    for p in opt.param_groups[0]["params"]:
        p.grad = torch.ones_like(p)
    opt.step()


def broken_until_it_works(opt, call):
    """How many operations a call has; each of them fails in turn, and nothing has changed then."""
    before = snapshot(opt)
    for number in itertools.count(1):
        try:
            under(Failing(number), call)
        except Told:
            assert_same(snapshot(opt), before)
        else:
            return number


@pytest.mark.parametrize(
    ("kind", "changed", "dtype"),
    [("sgd", "raise", torch.float64), ("descent", "raise", torch.float16), ("nonsmooth", "accept", torch.bfloat16)],
)
def test_whichever_operation_of_a_step_fails(kind, changed, dtype):
    opt = Converted(parameters(dtype)[:2], build(kind, "constant"), changed=changed)
    for _ in range(2):
        step(opt)
    if changed == "accept":  # then the point that is kept follows, before the step
        with torch.no_grad():
            opt.param_groups[0]["params"][1].mul_(2.0)
    assert broken_until_it_works(opt, lambda: step(opt)) > 50


def test_the_way_to_the_output_and_back():
    opt = Converted(parameters(), build("nonsmooth", "ogd box"))
    train(opt, 3)
    assert broken_until_it_works(opt, opt.eval) > 10
    assert opt.held == "output"
    assert broken_until_it_works(opt, opt.train) > 5
    assert opt.held == "training"


@pytest.mark.parametrize("value", [1e16, 1e308, 10**400])
@pytest.mark.parametrize(
    ("kind", "name"), [("hedged", "lr"), ("hedged", "weight_decay"), ("hedged", "eps"), ("rival", "lr")]
)
def test_rates_whose_products_overflow_are_refused(kind, name, value):
    """A step with them would end in the middle, or with parameters that are infinite."""
    with pytest.raises(ValueError, match=rf"`{name}` must be (at most 1e\+15|finite)"):
        MAKERS[kind](parameters(torch.float32), **{name: value})


def test_a_group_that_is_refused_leaves_the_state():
    """That of a first step with zeros, which is how distributed checkpoints make one."""
    opt = Converted(parameters(), build("descent"), lr=0.0)
    for p in opt.param_groups[0]["params"]:
        p.grad = torch.zeros_like(p)
    opt.step()
    before = snapshot(opt)
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        opt.add_param_group({"params": [opt.param_groups[0]["params"][0]]})
    assert before[1]["state"]
    assert_same(snapshot(opt), before)
