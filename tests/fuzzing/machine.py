"""An optimizer of torch and a copy of it, under attack: finite, all or nothing, and resumed bit by bit."""

import copy
import math
import pickle
import re

import numpy as np
import pytest
import torch
from attacks import FINE, KINDS, gradient, refusal, sentence
from corruptions import CORRUPTIONS, corrupted
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from torch.utils._python_dispatch import TorchDispatchMode
from training import assert_same, snapshot, stored

SHAPES = [(), (3,), (2, 3), (3, 2), (2, 3), (4, 4), (16, 2), (2, 1, 3, 2), (1, 1), (0,), (0, 3)]
DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
SEEDS = st.integers(0, 2**32 - 1)
WRONG = [("lr", math.nan), ("lr", -1.0), ("lr", math.inf), ("lr", "1"), ("weight_decay", -1.0), ("lr", torch.ones(2))]
CHANGES = {
    "lr": [0.0, 1e-3, 0.1, 1.0, 0],
    "weight_decay": [0.0, 0.1, 0.9],
    "maximize": [True, False],
}


def made(shapes, dtypes, seed, is_transposed=False):
    """Parameters; those with two axes or more may be laid out in another order."""
    rng = np.random.default_rng(seed)
    found = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        a = torch.as_tensor(rng.standard_normal(shape), dtype=dtype)
        found.append(torch.nn.Parameter(a.mT.contiguous().mT if is_transposed and a.ndim > 1 else a))
    return found


def clones(params):
    return [torch.nn.Parameter(p.detach().clone()) for p in params]


def is_finite(a):
    return not a.is_floating_point() or bool(a.isfinite().all())


class Told(Exception):
    """What fails because it was told to."""


class Failing(TorchDispatchMode):
    """Operations of torch are counted, and one of them fails: as if memory were short."""

    def __init__(self, number=0):
        super().__init__()
        self.number, self.count = number, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function.namespace == "aten"  # torch also calls its profiler, after a step is made
        if self.count == self.number and function.namespace == "aten":
            raise Told
        return function(*args, **(kwargs or {}))


def under(mode, call):
    with mode:
        call()
    return mode


class Attack(RuleBasedStateMachine):
    """An optimizer, and a copy that was made of it in some way and must go on like it."""

    def __init__(self):
        super().__init__()
        self.twin = None

    def build(self, groups):
        """An optimizer of these groups."""
        raise NotImplementedError

    def start(self, groups):
        self.recipe = groups  # options as they were given; the parameters are those of the optimizer
        self.opt = self.build([dict(group) for group in groups])

    @property
    def params(self):
        return [p for group in self.opt.param_groups for p in group["params"]]

    def both(self):
        return [self.opt] if self.twin is None else [self.opt, self.twin]

    def unchanged(self, call, opt=None):
        """The error of a call that must be refused, and must change nothing."""
        opt = opt or self.opt
        before = snapshot(opt)
        error = refusal(call)
        assert_same(snapshot(opt), before)
        return error

    def broken(self, call):
        """A call that fails in the middle changes nothing."""
        before = snapshot(self.opt)
        try:
            call()
        except (Told, ValueError) as error:
            if not isinstance(error.__cause__ or error, Told):  # a sentence may be made of it
                raise
            assert_same(snapshot(self.opt), before)
        else:
            self.twin = None  # it did what was asked, which the copy did not

    def broken_before_its_end(self, method, number):
        """The operation of a method that is this number from its last one fails; they are counted with a copy."""
        other = copy.deepcopy(self.opt)
        for p, q in zip(self.params, (q for group in other.param_groups for q in group["params"]), strict=True):
            q.grad = p.grad  # torch does not copy it
        if count := under(Failing(), getattr(other, method)).count:
            self.broken(lambda: under(Failing(max(count - number, 1)), getattr(self.opt, method)))

    def draw_gradients(self, seed):
        """Usual ones, for all parameters."""
        rng = np.random.default_rng(seed)
        for p in self.params:
            p.grad = torch.as_tensor(rng.standard_normal(tuple(p.shape))).to(p.dtype)

    def fresh(self):
        """An optimizer as this one was made, on copies of its parameters as they are."""
        held = [clones(group["params"]) for group in self.opt.param_groups]
        return self.build([{**group, "params": ps} for group, ps in zip(self.recipe, held, strict=True)])

    @rule(kinds=st.lists(KINDS, min_size=1, max_size=4), seed=SEEDS)
    def step(self, kinds, seed):
        """One step; if it may not be made, nothing changes."""
        rng = np.random.default_rng(seed)
        dtypes = {p.dtype for p in self.params}
        found = [gradient(kinds[k % len(kinds)], tuple(p.shape), rng) for k, p in enumerate(self.params)]
        for opt in self.both():
            params = [p for group in opt.param_groups for p in group["params"]]
            for p, g in zip(params, found, strict=True):
                p.grad = None if g is None else torch.as_tensor(g).to(p.dtype)
        bad = any(p.grad is not None and not is_finite(p.grad) for p in self.params)
        fine = all(kind in (*FINE, "missing") for kind in kinds)
        assert not (bad and fine and torch.float16 not in dtypes)
        before = snapshot(self.opt)
        errors = []
        for opt in self.both():
            try:
                opt.step()
                errors.append("")
            except ValueError as error:
                sentence(error)
                errors.append(str(error))
        assert len(set(errors)) == 1, errors
        if errors[0]:
            assert self.opt.nonfinite == "raise"
            assert re.search("(Gradients|Parameters) must be finite|must return numbers that are finite", errors[0])
            assert bad or not fine
            assert_same(snapshot(self.opt), before)
        elif bad:
            assert self.opt.nonfinite == "skip"
            self.check_left_out(before)
        self.check()

    def check_left_out(self, before):
        """A step was skipped."""
        params, saved = snapshot(self.opt)
        assert_same((params, saved["state"]), (before[0], before[1]["state"]))

    def check(self):
        """Parameters and state are finite, and the copy has the same."""
        for p in self.params:
            entry = self.opt.state.get(p, {})
            for key, a in entry.items():
                assert is_finite(a), key
            x = entry.get("x", p.detach())
            assert is_finite(x)
            if x.numel() and float(x.abs().max()) < torch.finfo(p.dtype).max:
                assert is_finite(p)
        if self.twin is not None:
            (one, saved), (two, other) = snapshot(self.opt), snapshot(self.twin)
            assert_same(one, two)
            assert_same(saved["state"], other["state"])

    @rule(how=st.sampled_from(["load", "deepcopy", "pickle"]))
    def resume(self, how):
        """A copy, in one of the ways in which one can be made."""
        if how == "load":
            self.twin = self.fresh()
            self.twin.load_state_dict(stored(self.opt.state_dict()))
        elif how == "deepcopy":
            self.twin = copy.deepcopy(self.opt)
        else:
            self.twin = pickle.loads(pickle.dumps(self.opt))
        self.check()

    @rule()
    def go_on_with_the_copy(self):
        if self.twin is not None:
            self.opt, self.twin = self.twin, None

    @rule(
        hows=st.lists(st.sampled_from(sorted(CORRUPTIONS)), min_size=5, max_size=10, unique=True),
        seed=SEEDS,
        is_fresh=st.booleans(),
    )
    def corrupt(self, hows, seed, is_fresh):
        """A checkpoint that is not what was saved is refused, here and by an optimizer that was just made."""
        opt = self.fresh() if is_fresh else self.opt
        for how in hows:
            saved = corrupted(how, copy.deepcopy(self.opt.state_dict()), np.random.default_rng(seed))
            if saved is not None:
                self.unchanged(lambda saved=saved: opt.load_state_dict(saved), opt)

    @rule(wrong=st.sampled_from(WRONG), seed=SEEDS)
    def set_a_wrong_option(self, wrong, seed):
        """As a scheduler that went astray would; a step with it is refused."""
        name, value = wrong
        group = self.opt.param_groups[seed % len(self.opt.param_groups)]
        kept, grads = group[name], [p.grad for p in self.params]
        for p in self.params:
            p.grad = torch.ones_like(p)
        group[name] = value
        before = snapshot(self.opt)
        refusal(self.opt.step)
        params, saved = snapshot(self.opt)
        assert_same((params, saved["state"]), (before[0], before[1]["state"]))
        group[name] = kept
        for p, g in zip(self.params, grads, strict=True):
            p.grad = g

    changes = CHANGES

    @rule(data=st.data())
    def change_an_option(self, data):
        name = data.draw(st.sampled_from(sorted(self.changes)))
        value = data.draw(st.sampled_from(self.changes[name]))
        number = data.draw(st.integers(0, len(self.recipe) - 1))
        for opt in self.both():
            opt.param_groups[number][name] = value

    @rule()
    def report(self):
        before = snapshot(self.opt)
        assert str(self.opt.report())
        assert_same(snapshot(self.opt), before)

    @rule(seed=SEEDS)
    def add_wrong_parameters(self, seed):
        p = self.params[seed % len(self.params)]
        wrong = [{"params": [1.0]}, {"params": [p]}, {"params": [torch.zeros(2, dtype=torch.int64)]}, {"lr": 1.0}, [p]]
        group = wrong[seed % len(wrong)]
        before = snapshot(self.opt)
        with pytest.raises((ValueError, TypeError)):  # some sentences are those of torch
            self.opt.add_param_group(group)
        assert_same(snapshot(self.opt), before)
