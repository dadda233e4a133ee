"""PyTorch's own conventions: what ``torch.optim.AdamW`` refuses, both optimizers refuse, with the same words."""

import pytest
import torch
from training import assert_same, build, snapshot

from o2nc.torch import Converted, Hedged
from sentences import check

OURS = {
    "hedged": lambda params, **options: Hedged(params, **options),
    "converted": lambda params, **options: Converted(params, build("heavy ball"), **options),
}
ours = pytest.mark.parametrize("make", OURS.values(), ids=OURS)


def new(*shape):
    return torch.nn.Parameter(torch.ones(shape or (2,)))


P, Q = new(), new()
SAME = {  # what is refused with the very words of torch
    "an empty list": lambda make: make([]),
    "an empty generator": lambda make: make(iter(())),
    "a tensor alone": lambda make: make(P),
    "a number": lambda make: make([1.0]),
    "none": lambda make: make([P, None]),
    "names alone": lambda make: make(["weight"]),
    "a list in a list": lambda make: make([[P]]),
    "an array": lambda make: make([P.detach().numpy()]),
    "a number with a name": lambda make: make([("weight", 1.0)]),
    "a number in a group": lambda make: make([{"params": [P]}, {"params": [1.0]}]),
    "a number added": lambda make: make([P]).add_param_group({"params": 1.0 * torch.ones(2).numpy()}),
    "a group among tensors": lambda make: make([P, {"params": [Q]}]),
    "no leaf": lambda make: make([P * 2]),
    "no leaf in a group": lambda make: make([{"params": [Q]}, {"params": P * 2}]),
    "in two groups": lambda make: make([{"params": [P]}, {"params": [Q, P]}]),
    "added again": lambda make: make([P]).add_param_group({"params": P}),
    "some names missing": lambda make: make([("weight", P), Q]),
    "names after none": lambda make: make([P]).add_param_group({"params": [("weight", Q)]}),
    "none after names": lambda make: make([("weight", P)]).add_param_group({"params": [Q]}),
    "a closure that is none": lambda make: make([P]).step(3),
}
KIND = {  # what is refused with the same kind of error, and a sentence of ours
    "a module": lambda make: make(torch.nn.Linear(1, 1)),
    "nothing": lambda make: make(None),
    "a text": lambda make: make("weight"),
    "a dict": lambda make: make({"params": [P]}),
    "a set in a group": lambda make: make([{"params": {P}}]),
    "a tensor as a group": lambda make: make([{"params": [P]}, Q]),
    "a list added": lambda make: make([P]).add_param_group([Q]),
    "a negative rate": lambda make: make([P], lr=-1.0),
    "a rate of two entries": lambda make: make([P], lr=torch.ones(2)),
    "a negative decay": lambda make: make([P], weight_decay=-1.0),
    "a checkpoint with more parameters": lambda make: make([P]).load_state_dict(make([P, Q]).state_dict()),
    "a checkpoint with more groups": lambda make: make([P]).load_state_dict(
        make([{"params": [P]}, {"params": [Q]}]).state_dict()
    ),
}
TAKEN = {  # what AdamW takes, and both take
    "a generator": lambda make: make(p for p in [P, Q]),
    "a list of torch": lambda make: make(torch.nn.ParameterList([P, Q])),
    "the values of a dict": lambda make: make({"weight": P}.values()),
    "a tensor in a group": lambda make: make([{"params": P}]),
    "a generator in a group": lambda make: make([{"params": (p for p in [P])}]),
    "an empty group among others": lambda make: make([{"params": []}, {"params": [P]}]),
    "no gradient is needed": lambda make: make([torch.ones(2)]),
    "a retained gradient": lambda make: make([retained()]),
    "two of one name": lambda make: make([("weight", P), ("weight", Q)]),
}
STRICTER = {  # what AdamW takes, and would get wrong
    "groups without parameters": (lambda make: make([{"params": []}]), ValueError, "at least one parameter"),
    "a set, which has no order": (lambda make: make({P, Q}), TypeError, "in order; got a set"),
    "a negative rate of a group": (lambda make: make([{"params": [P], "lr": -1.0}]), ValueError, "`lr`", "-1.0"),
    "a rate that is infinite": (lambda make: make([P], lr=float("inf")), ValueError, "`lr` must be finite"),
    "a misspelt option": (lambda make: make([{"params": [P], "lrr": 1.0}]), ValueError, "the nearest is 'lr'"),
}


def retained():
    a = P * 2
    a.retain_grad()
    return a


def error_of(call, make):
    with pytest.raises(Exception) as caught:
        call(make)
    return type(caught.value), str(caught.value)


@ours
@pytest.mark.parametrize("call", SAME.values(), ids=SAME)
def test_what_is_refused_as_by_torch(call, make):
    assert error_of(call, make) == error_of(call, torch.optim.AdamW)


@ours
@pytest.mark.parametrize("call", KIND.values(), ids=KIND)
def test_what_is_refused_with_the_same_kind_of_error(call, make):
    kind, _ = error_of(call, torch.optim.AdamW)
    check(lambda: call(make), kind)


@ours
@pytest.mark.parametrize("call", TAKEN.values(), ids=TAKEN)
def test_what_is_taken_as_by_torch(call, make):
    counts = [[len(group["params"]) for group in call(each).param_groups] for each in (make, torch.optim.AdamW)]
    assert counts[0] == counts[1]


@ours
@pytest.mark.parametrize("case", STRICTER.values(), ids=STRICTER)
def test_what_torch_takes_and_should_not(case, make):
    call, *expected = case
    call(torch.optim.AdamW)
    check(lambda: call(make), *expected)


@ours
def test_a_parameter_that_is_in_a_group_twice(make):
    """Torch warns; both then have it once, and step as if it had been given once. AdamW moves it twice."""
    for params in ([P, Q, P], [{"params": [P, Q, P]}], [("p", P), ("q", Q), ("p", P)]):
        warned = []
        for each in (make, torch.optim.AdamW):
            with pytest.warns(UserWarning, match="duplicate parameters") as caught:
                opt = each(params)
            warned.append([(w.category, str(w.message)) for w in caught])
            if each is make:
                (group,) = opt.param_groups
        assert warned[0] == warned[1]
        assert [id(p) for p in group["params"]] == [id(P), id(Q)]
        assert group.get("param_names", ["p", "q"]) == ["p", "q"]
    one, two = new(), new()
    with pytest.warns(UserWarning, match="duplicate"):
        twice = make([one, one])
    once = make([two])
    for _ in range(3):
        for p, opt in ((one, twice), (two, once)):
            p.grad = torch.tensor([1.0, -2.0])
            opt.step()
    assert_same(snapshot(twice), snapshot(once))


@ours
def test_a_group_that_is_refused_leaves_the_optimizer_as_it_was(make):
    """It has as many groups as before, and makes the steps of one that was never asked."""
    p, q = new(2, 3), new(2, 3)
    opt, other = make([p]), make([q])
    for params in (1.0 * torch.ones(2).numpy(), P * 2, [p], [("weight", Q)], [1.0], [Q, "weight"]):
        with pytest.raises((TypeError, ValueError)):
            opt.add_param_group({"params": params})
    for _ in range(2):
        for x, each in ((p, opt), (q, other)):
            x.grad = torch.arange(6.0).reshape(2, 3)
            each.step()
    assert_same(snapshot(opt), snapshot(other))
