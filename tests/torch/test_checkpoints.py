"""What both optimizers keep: they resume bit by bit from files, copies and distributed checkpoints."""

import copy
import pickle

import pytest
import torch
import torch.distributed.checkpoint
from torch.distributed.checkpoint import state_dict as distributed
from training import (
    CASES,
    EVERY,
    MAKERS,
    NAMED,
    assert_same,
    build,
    fit,
    half,
    net,
    parameters,
    snapshot,
    stored,
    train,
)

from o2nc.directions import Function, Mask, Muon, Polar, Shampoo, Soap
from o2nc.torch import Converted, Hedged, groups
from sentences import check

every = pytest.mark.parametrize("name", MAKERS)
SCOPES = ("shared", "group", "tensor")
EXPERTS = {
    **{name: (name,) for name in NAMED},
    "default": ("momentum", "adam", "polar"),
    "every": EVERY,
    "objects": (Polar(steps=3), Function(torch.tanh), Shampoo()),
    "muon and soap": ("muon", Soap(every=2), "adam"),
    "by name": ("muon", "soap", "shampoo"),
    "others of them": (Muon(looks_ahead=False, length="original", stacks=False), Soap(b1=None, every=1, limit=3)),
}


def of(opt):
    return [p for group in opt.param_groups for p in group["params"]]


def grouped(dtype=torch.float64):
    """Two groups, the second with another rate."""
    params = parameters(dtype)
    return [{"params": params[:2]}, {"params": params[2:], "lr": 0.05, "weight_decay": 0.1}]


def same(opt):
    """Copies of the parameters of an optimizer, in its groups."""
    each = [[torch.nn.Parameter(p.detach().clone()) for p in group["params"]] for group in opt.param_groups]
    return [{"params": params} for params in each]


def resumed(first, make, rounds=3):
    """Another optimizer that goes on from the state of the first."""
    second = make(same(first))
    second.load_state_dict(stored(first.state_dict()))
    train(second, rounds, start=3)
    return second


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_every_conversion_resumes_bit_by_bit(kind, name):
    whole, first = (Converted(parameters(), build(kind, name), seed=2) for _ in range(2))
    train(whole, 5)
    train(first, 3)
    second = resumed(first, lambda params: Converted(params, build(kind, name)), rounds=2)  # the seed comes with it
    assert_same(snapshot(second), snapshot(whole))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("name", EXPERTS)
def test_every_expert_resumes_bit_by_bit(name, scope):
    """Everything but the experts and their learners comes with the state."""
    options = {"experts": EXPERTS[name], "weights": scope, "sight": None if scope == "group" else 2.0}
    whole, first = (Hedged(grouped(), 0.02, **options, betas=(0.8, 0.9), rho=0.9) for _ in range(2))
    train(whole, 6)
    train(first, 3)
    second = resumed(first, lambda params: Hedged(params, **options))
    assert_same(snapshot(second), snapshot(whole))
    assert second.report() == whole.report()


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_other_dtypes_resume_bit_by_bit(name, dtype):
    whole, first = (MAKERS[name](grouped(dtype), 1e-3) for _ in range(2))
    train(whole, 6)
    train(first, 3)
    second = resumed(first, MAKERS[name])
    assert {a.dtype for a in second.state[of(second)[0]].values()} <= {
        torch.float32, torch.float64, torch.int32, torch.int64,
    }  # fmt: skip
    assert_same(snapshot(second), snapshot(whole))


@every
@pytest.mark.parametrize("source", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("target", [torch.float64, torch.float32, torch.bfloat16])
def test_state_goes_into_another_dtype(name, source, target):
    opt = MAKERS[name](grouped(source), 1e-3)
    train(opt, 3)
    other = MAKERS[name]([{"params": [p.detach().to(target) for p in group["params"]]} for group in opt.param_groups])
    other.load_state_dict(stored(opt.state_dict()))
    wide = torch.promote_types(target, torch.float32)
    for p, q in zip(of(other), of(opt), strict=True):
        here, there = other.state[p], opt.state[q]
        assert here.keys() - {"x"} == there.keys() - {"x"}
        for key in there.keys() - {"x"}:
            assert_same(here[key], there[key].to(wide if there[key].shape == q.shape and q.ndim else here[key].dtype))
            assert here[key].dtype in (torch.float64, wide, torch.int32, torch.int64)
    train(other, 1, start=3)
    assert other.t == 4


@every
def test_what_is_loaded_is_a_copy(name):
    opt, other = (MAKERS[name](grouped(), 0.02) for _ in range(2))
    train(opt, 2)
    state = opt.state_dict()
    before = copy.deepcopy(state)
    other.load_state_dict(state)
    for p, q in zip(of(other), of(opt), strict=True):
        p.data.copy_(q.data)
    train(other, 2, start=2)
    assert_same(state, before)


@every
def test_an_optimizer_loads_twice(name):
    """Trainers load at preparation and again to resume; torch adds to ``defaults`` when it loads."""
    opt, other = (MAKERS[name](grouped(), 0.02) for _ in range(2))
    before = stored(opt.state_dict())
    train(opt, 2)
    other.load_state_dict(stored(other.state_dict()))
    other.load_state_dict(before)
    other.load_state_dict(stored(opt.state_dict()))
    assert other.t == 2


@every
def test_a_checkpoint_before_the_first_step(name):
    opt, other = (MAKERS[name](grouped(), lr) for lr in (0.02, 0.5))
    state = stored(opt.state_dict())
    train(other, 2)
    other.load_state_dict(state)
    assert (other.t, len(other.state), other.param_groups[0]["lr"]) == (0, 0, 0.02)
    for p, a in zip(of(other), parameters(), strict=True):
        p.data.copy_(a.data)
    train(opt, 2)
    train(other, 2)
    assert_same(snapshot(other), snapshot(opt))


@every
def test_hooks_of_the_user_see_the_state_dict(name):
    opt, other = (MAKERS[name](parameters()) for _ in range(2))
    train(opt, 1)
    seen = []
    other.register_load_state_dict_pre_hook(
        lambda _, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 0.25}]}
    )
    other.register_load_state_dict_post_hook(lambda o: seen.append((o.t, len(o.state))))
    other.load_state_dict(opt.state_dict())
    assert (other.param_groups[0]["lr"], other.t, seen) == (0.25, 1, [(1, 4)])


@every
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda opt: pickle.loads(pickle.dumps(opt))])
@pytest.mark.parametrize("rounds", [0, 2])
def test_copies_go_on_alone(name, copied, rounds):
    opt = MAKERS[name](grouped(), torch.tensor(0.02), nonfinite="skip")
    train(opt, rounds)
    other = copied(opt)
    assert_same(snapshot(other), snapshot(opt))
    assert other.nonfinite == "skip"
    before = snapshot(opt)
    train(other, 2, start=rounds)
    assert_same(snapshot(opt), before)
    train(opt, 2, start=rounds)
    assert_same(snapshot(other), snapshot(opt))


def test_masks_by_parameter_are_copied_too():
    params = parameters()
    opt = Hedged(params, 0.02, ("adam", Mask({p: half(p) for p in params})), foreach=False, weights="tensor")
    other = copy.deepcopy(opt)
    assert (other.foreach, other.compile) == (False, False)
    train(opt, 2)
    train(other, 2)
    assert_same(snapshot(other), snapshot(opt))


# Distributed checkpoints, on one process.


@every
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_distributed_checkpoints(name, flat):
    """torch.distributed.checkpoint keys state by parameter name and makes state by a step with zeros."""
    options = distributed.StateDictOptions(flatten_optimizer_state_dict=flat)
    build = lambda model, lr=0.02: MAKERS[name](model.parameters(), lr, oracle="constant", weight_decay=0.1)
    model, whole, new = net(), net(), net()
    opt, reference, other = build(model), build(whole), build(new, 0.5)
    fit(model, opt, 2)
    saved = stored(distributed.get_optimizer_state_dict(model, opt, options=options))
    before = copy.deepcopy(new.state_dict())
    assert distributed.get_optimizer_state_dict(new, other, options=options).keys() == saved.keys()
    assert other.t == 0
    assert_same(new.state_dict(), before)
    distributed.set_optimizer_state_dict(new, other, saved, options=options)
    new.load_state_dict(model.state_dict())
    fit(new, other, 2, start=2)
    fit(whole, reference, 4)
    assert_same(new.state_dict(), whole.state_dict())
    assert_same(dict(enumerate(other.state.values())), dict(enumerate(reference.state.values())))


@pytest.mark.filterwarnings("ignore")
def test_distributed_checkpoints_in_files(tmp_path):
    """Which are read into the state that is there."""
    model, new = net(), net()
    opt, other = (Hedged(groups(each, weight_decay=0.1), 0.02) for each in (model, new))
    fit(model, opt, 3)
    state = dict(zip(("model", "opt"), distributed.get_state_dict(model, opt), strict=True))
    torch.distributed.checkpoint.save(state, checkpoint_id=tmp_path, no_dist=True)
    state = dict(zip(("model", "opt"), distributed.get_state_dict(new, other), strict=True))
    torch.distributed.checkpoint.load(state, checkpoint_id=tmp_path, no_dist=True)
    distributed.set_state_dict(new, other, model_state_dict=state["model"], optim_state_dict=state["opt"])
    fit(model, opt, 2, start=3)
    fit(new, other, 2, start=3)
    assert_same(new.state_dict(), model.state_dict())
    assert other.report() == opt.report()


@every
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_first_step_of_zeros_changes_nothing(name, dtype):
    opt, other = (MAKERS[name](parameters(dtype), 0.02, weight_decay=0.1) for _ in range(2))
    before = [p.detach().clone() for p in of(opt)]
    for p in of(opt):
        p.grad = torch.zeros_like(p)
    opt.param_groups[0]["lr"] = 0.0
    opt.step()
    assert_same([p.detach() for p in of(opt)], before)
    assert (opt.t, len(opt.state)) == (0, 4)
    if name != "hedged":  # checkpoints are read into this memory; the numbers of `Hedged` are views
        pointers = [a.data_ptr() for p in of(opt) for a in opt.state[p].values()]
        assert len(pointers) == len(set(pointers))
    opt.param_groups[0]["lr"] = 0.02
    train(opt, 3)
    train(other, 3)
    assert_same(snapshot(opt), snapshot(other))


# Checkpoints that do not fit.


def refuses(other, given, sentence):
    """Before the first step and after it: the sentence, and nothing has changed."""
    for stepped in (False, True):
        if stepped:
            for p in of(other):
                p.grad = torch.ones_like(p)
            other.step()
        before = snapshot(other)
        check(lambda: other.load_state_dict(given), ValueError, sentence)
        assert_same(snapshot(other), before)
    assert not other._optimizer_load_state_dict_pre_hooks
    assert not other._optimizer_load_state_dict_post_hooks


def altered(state, number, **changes):
    state = copy.deepcopy(state)
    state["state"][number] = {key: a for key, a in {**state["state"][number], **changes}.items() if a is not None}
    return state


@every
def test_a_checkpoint_of_something_else_is_refused(name):
    opt = MAKERS[name](grouped())
    train(opt, 2)
    state = opt.state_dict()
    older = copy.deepcopy(state)
    for group in older["param_groups"]:
        (group if name == "hedged" else group["run"])["version"] = 2
    kind = "Hedged" if name == "hedged" else "Converted"
    refuses(MAKERS[name](grouped()), older, f"must be of `{kind}`, version 5; got version 2")
    adam = torch.optim.AdamW(grouped()).state_dict()
    refuses(MAKERS[name](grouped()), adam, f"must be of `{kind}`, version 5; got one of another optimizer")
    refuses(MAKERS[name](parameters()[:2], oracle="constant"), state, "groups of [2] parameters; got [2, 2]")
    key = next(key for key in state["state"][2] if key.endswith("m"))
    refuses(MAKERS[name](grouped()), altered(state, 2, **{key: None}), "for parameter 2; got")
    refuses(MAKERS[name](grouped()), altered(state, 0, more=torch.zeros(())), "for parameter 0; got")


def test_a_checkpoint_of_other_experts_is_refused():
    opt = Hedged(grouped(), 0.02, NAMED)
    train(opt, 2)
    state = stored(opt.state_dict())
    wide = [*grouped()[:1], {"params": [torch.nn.Parameter(torch.ones(2, 3)), torch.nn.Parameter(torch.ones(5, 3))]}]
    like = lambda **options: Hedged(grouped(), 0.02, **{"experts": NAMED, **options})
    refuses(like(experts=("adam",)), state, f"experts of group 0 was {NAMED} and is ('adam',) here")
    refuses(like(weights="tensor"), state, "weights of group 0 was shared and is tensor here")
    refuses(like(sight=None), state, "sight of group 0 was a number and is None here")
    refuses(Hedged(wide, experts=NAMED), state, "'m' of shape (5, 3) for parameter 3; got (2, 1, 3, 2)")
    refuses(like(), altered(state, 1, C=torch.zeros(2)), "'C' of shape (4,) for parameter 1; got (2,)")
    refuses(like(matrices=False), state, "matrices of group 0 was None")


def test_a_checkpoint_of_another_conversion_is_refused():
    opt = Converted(parameters(), build("descent"))
    train(opt, 2)
    state = stored(opt.state_dict())
    like = lambda *case: Converted(parameters(), build(*case))
    refuses(like("nonsmooth"), state, "conversion was SmoothConversion and is NonsmoothConversion here")
    refuses(like("descent", "hedge constant"), state, "gamma was None and is 0.5 here")
    refuses(like("smooth"), state, "conversion.kappa was 1.0 and is 0.0 here")
    lacking = {**state, "state": {k: entry for k, entry in state["state"].items() if k != 1}}
    refuses(like("descent"), lacking, "it lacks that of [1]")
    plain = like("descent", "constant")
    train(plain, 1)
    other = [torch.nn.Parameter(torch.ones(5)) if p.shape == (3,) else p for p in parameters()]
    sentence = "'state.m' of shape (5,) for parameter 1; got (3,)"
    refuses(Converted(other, build("descent", "constant")), stored(plain.state_dict()), sentence)
