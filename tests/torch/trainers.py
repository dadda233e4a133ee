"""What the tests of Lightning, transformers and accelerate share: optimizers, and when two runs are the same."""

from training import assert_same, build, snapshot

from o2nc.torch import Converted, Hedged, groups

OPTIMIZERS = {
    "hedged": lambda model: Hedged(groups(model, weight_decay=0.01), lr=1e-2),
    "algorithm 1": lambda model: Converted(model.parameters(), build("descent", "ogd box")),
    "algorithm 2": lambda model: Converted(model.parameters(), build("nonsmooth", "adagrad box"), seed=2),
}


def assert_same_runs(one, two):
    """Pairs of an optimizer and a scheduler agree bit by bit: parameters, state, learners, rates, what is reported."""
    (opt, scheduler), (other, its_scheduler) = one, two
    assert opt is not other
    assert opt.t == other.t > 0
    assert_same(snapshot(opt), snapshot(other))
    assert opt.report() == other.report()
    assert_same(scheduler.state_dict(), its_scheduler.state_dict())
