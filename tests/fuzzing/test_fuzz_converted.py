"""`Converted` under attack: whatever happens, it stays finite, changes all or nothing, and resumes bit by bit."""

import pytest
from attacks import cases
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test
from machine import DTYPES, SEEDS, SHAPES, Attack, clones, is_finite, made
from training import assert_same, build, snapshot

from o2nc.torch import Converted

KINDS_OF_CONVERSIONS = ["descent", "uniform", "nonsmooth", "sgd", "heavy ball", "adam"]
LAST = st.one_of(st.integers(0, 10), st.integers(0, 200))  # operations from the end: there things are written


class ConvertedAttack(Attack):
    """`Converted`, with the output point where there is one."""

    def build(self, groups):
        return Converted(groups, **self.options)

    @initialize(data=st.data(), seed=SEEDS)
    def choose(self, data, seed):
        choose = lambda values: data.draw(st.sampled_from(values))
        shapes = data.draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=4))
        dtype = choose(DTYPES)
        self.options = {
            "conversion": build(choose(KINDS_OF_CONVERSIONS), choose(["constant", "ogd box", "adagrad box"])),
            "weight_decay": choose([0.0, 0.1]),
            "nonfinite": choose(["raise", "skip"]),
            "fresh_samples": choose([True, False]),
            "changed": choose(["raise", "accept"]),
            "seed": choose([0, 7]),
        }
        params = made(shapes, [dtype] * len(shapes), seed, choose([False, True]))
        cut = choose(range(len(params)))
        self.start([{"params": part} for part in (params[:cut], params[cut:]) if part])

    @rule(seed=SEEDS)
    def add_parameters(self, seed):
        """Before the first step they are added, later they are refused."""
        (p,) = made([(2,)], [self.params[0].dtype], seed)
        if self.opt.t or len(self.recipe) > 3:
            if self.opt.t:
                self.unchanged(lambda: self.opt.add_param_group({"params": p}))
            return
        for opt in self.both():
            opt.add_param_group({"params": p if opt is self.opt else clones([p])})
        self.recipe.append({"params": [p]})

    @precondition(lambda self: hasattr(self, "opt"))
    @rule()
    def evaluate(self):
        """The output is a detour."""
        before = snapshot(self.opt)
        with self.opt.output():
            assert all(map(is_finite, self.params))
        assert_same(snapshot(self.opt)[0], before[0])

    @rule(number=LAST, seed=SEEDS, is_changed=st.booleans())
    def fail_in_a_step(self, number, seed, is_changed):
        """Also where the point has to follow parameters that were changed."""
        self.draw_gradients(seed)
        if is_changed and self.options["changed"] == "accept":
            self.twin = None
            for p in self.params:
                p.data.mul_(0.5)
        self.broken_before_its_end("step", number)

    @rule(number=LAST)
    def fail_on_the_way_to_the_output(self, number):
        self.broken_before_its_end("eval", number)
        self.opt.train()


@pytest.mark.filterwarnings("ignore:.* left out, ")
def test_converted_under_attack():
    run_state_machine_as_test(ConvertedAttack, settings=cases(30))
