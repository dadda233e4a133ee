"""`Hedged` on two processes: the run of one process on the whole batch, whatever is cut and wherever gradients are."""

import pytest
import torch

import parallel
from ranks import Ranks


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    ranks = Ranks(2, tmp_path_factory.mktemp("ranks"))
    yield ranks
    ranks.close()


def assert_close(one, two, rtol):
    """Relative to the largest entry of each tensor."""
    assert one.keys() == two.keys()
    for name in one:
        scale = max(two[name].abs().max().item(), 1e-30) if two[name].numel() else 1.0
        assert (one[name] - two[name]).abs().max().item() <= rtol * scale, name


def assert_agree(ranks, one=None, rtol=1e-5):
    """All ranks bit by bit, and with one process up to rounding."""
    first, *others = ranks
    for other in others:
        assert other["weights"] == first["weights"]
        for mine, theirs in zip(first["memory"], other["memory"], strict=True):
            assert all(torch.equal(mine[key], theirs[key]) for key in mine)
        assert all(torch.equal(first["params"][name], p) for name, p in other["params"].items())
    if one is not None:
        assert_close(first["params"], one["params"], rtol)


@pytest.mark.parametrize("scope", ["shared", "group", "tensor"])
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_two_processes_are_one(ranks, kind, scope):
    how = {"experts": "all", "options": {"weights": scope}}
    one = parallel.trained("one", 50, **how)
    assert_agree(ranks.run(parallel.train, kind, 50, how), one)
