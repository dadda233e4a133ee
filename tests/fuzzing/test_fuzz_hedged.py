"""`Hedged` under attack: whatever happens, it stays finite, changes all or nothing, and resumes bit by bit."""

import warnings

import torch
from attacks import cases, sentence
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test
from machine import CHANGES, DTYPES, SEEDS, SHAPES, Attack, Told, clones, made
from training import assert_same, half, halved, snapshot

from o2nc.directions import Mask
from o2nc.torch import Hedged, Shadow


class Moody(torch.optim.SGD):
    """An optimizer of a user that fails when it is told to."""

    fails = False

    def step(self, closure=None):
        if Moody.fails:
            raise Told
        return super().step(closure)


def moody(u):
    """A function of a user that does."""
    if Moody.fails:
        raise Told
    return u / 3


def fails(expert):
    return expert is moody or (isinstance(expert, Shadow) and expert.optimizer is Moody)


EXPERTS = [
    ("muon", "soap"),
    ("momentum", "adam"),
    ("adam",),
    ("momentum",),
    ("muon",),
    ("soap", "sign"),
    ("adam", "sign", "polar", halved),
    ("shampoo", Mask(half), "momentum"),
    ("muon", torch.optim.NAdam),
    ("adam", Shadow(torch.optim.RMSprop, alpha=0.9)),
    ("soap", Shadow(torch.optim.RMSprop), moody),
    ("muon", moody, Shadow(Moody, momentum=0.9)),
    ("shampoo", moody),
    ("momentum", Shadow(torch.optim.Adam), Shadow(Moody)),
]
CHANGES_OF_HEDGED = {
    **CHANGES,
    "lr": [*CHANGES["lr"], torch.tensor(0.05)],
    "betas": [(0.9, 0.999), (0.0, 0.0), (0.99, 0.5)],
    "eps": [1e-8, 1e-3, 1e-30],
}


class HedgedAttack(Attack):
    """`Hedged`, whose groups and dtypes may change at any time."""

    changes = CHANGES_OF_HEDGED

    def build(self, groups):
        return Hedged(groups, **self.options)

    @initialize(data=st.data(), seed=SEEDS)
    def choose(self, data, seed):
        choose = lambda values: data.draw(st.sampled_from(values))
        shapes = data.draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=5))
        dtypes = [choose(DTYPES)] * len(shapes) if choose([True, True, False]) else [choose(DTYPES) for _ in shapes]
        self.options = {
            "lr": choose([None, 0.1]),
            "experts": choose(EXPERTS),
            "scale": choose(["learned", "learned", "fixed"]),
            "weights": choose(["shared", "group", "tensor"]),
            "weight_decay": choose([0.0, 0.1]),
            "nonfinite": choose(["raise", "skip"]),
            "foreach": choose([None, False]),
            "precision": choose([None, None, "bfloat16"]),
            "sight": choose([2.0, None]),
        }
        params = made(shapes, dtypes, seed, choose([False, False, True]))
        cut = choose(range(len(params)))
        self.start([{"params": part} for part in (params[:cut], params[cut:]) if part])

    @rule(data=st.data(), seed=SEEDS)
    def add_parameters(self, data, seed):
        if len(self.recipe) > 3:
            return
        shape, dtype = data.draw(st.sampled_from(SHAPES)), data.draw(st.sampled_from(DTYPES))
        options = {"experts": data.draw(st.sampled_from([self.options["experts"], ("adam", "sign")]))}
        params = made([shape], [dtype], seed)
        for opt in self.both():
            opt.add_param_group({"params": params if opt is self.opt else clones(params), **options})
        self.recipe.append({"params": params, **options})

    @rule(dtype=st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
    def cast(self, dtype):
        """As ``model.to(dtype)`` does it, to all parameters; what does not fit the state is taken back."""
        kept, state = [p.dtype for p in self.params], snapshot(self.opt)[1]["state"]
        self.cast_all([dtype] * len(kept))
        try:
            for opt in self.both():
                opt.report()
        except ValueError as error:
            sentence(error)
            assert_same(snapshot(self.opt)[1]["state"], state)
            self.cast_all(kept)

    def cast_all(self, dtypes):
        for opt in self.both():
            params = [p for group in opt.param_groups for p in group["params"]]
            for p, dtype in zip(params, dtypes, strict=True):
                p.grad, p.data = None, p.data.to(dtype)

    @rule(seed=SEEDS)
    def change_a_parameter(self, seed):
        """From outside, as whoever clips or ties weights does."""
        k = seed % len(self.params)
        for opt in self.both():
            p = [p for group in opt.param_groups for p in group["params"]][k]
            p.data.mul_(0.5)

    @precondition(lambda self: any(map(fails, self.options["experts"])))
    @rule(seed=SEEDS)
    def fail_in_an_expert(self, seed):
        """One of the user's, after others have found their directions."""
        self.draw_gradients(seed)
        if not any(p.numel() and p.grad.any() for p in self.params):
            return
        Moody.fails = True
        try:
            self.broken(self.opt.step)
        finally:
            Moody.fails = False


def test_hedged_under_attack():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "After 200 steps the weights|.* left out, ")
        run_state_machine_as_test(HedgedAttack, settings=cases(30))
