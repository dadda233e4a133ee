"""Checkpoints of `Hedged` between one process and two, and what happens when something goes wrong on one of them."""

import parallel
import parallel_checkpoints
import pytest
import torch
from ranks import Ranks
from test_distributed import assert_agree

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # torch's, on one process
KINDS = ("one", "ddp", "fsdp")
HOW = {
    "hedged": {"experts": "all", "weights": "group"},
    "states": {"experts": "states"},
    "shadows": {"experts": "shadows"},
    "algorithm 1": {"case": "smooth", "oracle": "adagrad"},
    "algorithm 2": {"case": "nonsmooth", "oracle": "hedge"},
}


def run(ranks, kind, function, *args):
    """On one process here, or on two."""
    return [function("one", *args)] if kind == "one" else ranks.run(function, kind, *args)


def assert_same_run(one, two, exact):
    """Parameters and what the learners remember: bit by bit, or up to rounding."""
    # bases of "soap" make more of a last digit where there was no gradient yet: the page promises 1e-7
    tolerance = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-7, "atol": 1e-9}
    torch.testing.assert_close(one["params"], two["params"], **tolerance)
    torch.testing.assert_close(one["memory"], two["memory"], **tolerance)


@pytest.mark.parametrize("case", HOW)
@pytest.mark.parametrize("after", KINDS)
@pytest.mark.parametrize("before", KINDS)
def test_a_checkpoint_resumes_anywhere(ranks, tmp_path, before, after, case):
    """A layer has had one gradient only, and a state from then."""
    how = HOW[case]
    run(ranks, before, parallel_checkpoints.saved, 3, how, str(tmp_path))
    continued = run(ranks, after, parallel_checkpoints.resumed, 3, 3, how, str(tmp_path))
    assert_agree(continued)
    whole = run(ranks, after, parallel.trained, 6, how, torch.float64, 1, (1,))
    assert_same_run(continued[0], whole[0], exact=before == after)


@pytest.mark.parametrize("case", HOW)
@pytest.mark.parametrize("full", [True, False])
def test_the_state_of_one_process_resumes_on_two(ranks, full, case):
    states = parallel_checkpoints.plain_states(3, HOW[case])
    continued = ranks.run(parallel_checkpoints.from_plain, "fsdp", 3, 3, HOW[case], states, full)
    assert_agree(continued)
    assert_same_run(continued[0], parallel.trained("one", 6, HOW[case], aside=(1,)), exact=False)


@pytest.mark.parametrize("case", HOW)
def test_the_gathered_state_of_two_resumes_on_one(ranks, case):
    states = ranks.run(parallel_checkpoints.gathered, 3, HOW[case])[0]
    continued = parallel_checkpoints.from_plain("one", 3, 3, HOW[case], states, True)
    assert_same_run(continued, parallel.trained("one", 6, HOW[case], aside=(1,)), exact=False)


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ({"weights": "shared"}, {"weights": "tensor"}, "weights of group 0 was shared and is tensor here"),
        (
            {"experts": "adams"},
            {"experts": "signs"},
            "experts of group 0 was ('momentum', 'adam') and is ('momentum', 'sign')",
        ),
        ({"experts": "signs"}, {"experts": "adams"}, "weight.root."),
        ({"case": "smooth"}, {"case": "descent"}, "conversion.kappa was 0.0 and is 1.0 here"),
        ({"experts": "default"}, {"experts": "all"}, "weight.e.3"),
        ({"experts": "all"}, {"experts": "default"}, "weight.C"),
    ],
)
def test_a_checkpoint_of_another_configuration_is_refused(ranks, tmp_path, before, after, names):
    """By a sentence that names the difference; if tensors are missing, torch's own reader names them first."""
    ranks.run(parallel_checkpoints.saved, "fsdp", 2, before, str(tmp_path))
    said = ranks.run(parallel_checkpoints.refused, after, str(tmp_path))
    assert all(names in sentence for sentence in said), said


@pytest.mark.parametrize(("kind", "where"), [("ddp", "loss"), ("fsdp", "loss"), ("fsdp", "gradient")])
@pytest.mark.parametrize("nonfinite", ["raise", "skip"])
@pytest.mark.parametrize("case", ["hedged", "smooth"])
def test_a_gradient_that_is_not_finite_on_one_rank(ranks, kind, where, nonfinite, case):
    runs = ranks.run(parallel_checkpoints.poisoned, kind, nonfinite, where, case)
    for before, said, after, _ in runs:
        assert ("Gradients must be finite" in said) == (nonfinite == "raise")
        assert_same_run(after, before, exact=True)
    assert_agree([run[-1] for run in runs])


def test_a_killed_rank(tmp_path):
    """The others end with torch's error, and the last checkpoint resumes."""
    folder, group = tmp_path / "checkpoint", Ranks(2, tmp_path)
    try:
        with pytest.raises(RuntimeError, match=r"(?s)Rank 0 failed.*(closed|reset|Connection)"):
            group.run(parallel_checkpoints.killed, str(folder))
    finally:
        group.close()
    continued = parallel_checkpoints.resumed("one", 3, 3, {}, str(folder))
    assert_same_run(continued, parallel.trained("one", 6, {}, aside=(1,)), exact=False)
