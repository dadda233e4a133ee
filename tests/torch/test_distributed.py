"""`Hedged` on two processes: the run of one process on the whole batch, whatever is cut and wherever gradients are."""

import parallel
import pytest
import torch

pytestmark = pytest.mark.slow


def assert_agree(ranks, one=None, rtol=1e-5):
    """All ranks bit by bit, and with one process up to ``rtol`` of the largest entry of each tensor."""
    first, *others = ranks
    for other in others:
        assert other["weights"] == first["weights"]
        for mine, theirs in zip(first["memory"], other["memory"], strict=True):
            assert all(torch.equal(mine[key], theirs[key]) for key in mine)
        assert all(torch.equal(first["params"][name], p) for name, p in other["params"].items())
    if one is not None:
        for name, p in one["params"].items():
            torch.testing.assert_close(first["params"][name], p, rtol=0, atol=rtol * p.abs().max().item(), msg=name)


@pytest.mark.parametrize("scope", ["shared", "group", "tensor"])
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_two_processes_are_one(ranks, kind, scope):
    how = {"experts": "all", "weights": scope}
    one = parallel.trained("one", 50, how, torch.float32)
    assert_agree(ranks.run(parallel.trained, kind, 50, how, torch.float32), one)
    assert max(one["weights"][0].values()) > 0.3  # of six: it has learned something


@pytest.mark.parametrize("experts", ["all", "states", "shadows"])
@pytest.mark.parametrize("kind", ["fsdp", "hybrid", "replicas"])
def test_in_double_precision_up_to_its_rounding(ranks, kind, experts):
    """Also with directions that have a state, on shards and on gathered tensors."""
    how, rtol = {"experts": experts}, 1e-12 if experts == "all" else 1e-9  # roots and bases of matrices
    assert_agree(ranks.run(parallel.trained, kind, 12, how), parallel.trained("one", 12, how), rtol=rtol)


@pytest.mark.parametrize("kind", ["ddp", "fsdp", "hybrid", "replicas"])
def test_the_default_experts_agree(ranks, kind):
    """Which a last digit could turn: 40 steps, half of a batch on each process, also in two parts."""
    how = {"experts": "muon and soap"}
    one = parallel.trained("one", 40, how)
    for chunks in (1, 2):
        assert_agree(ranks.run(parallel.trained, kind, 40, how, torch.float64, chunks), one, rtol=1e-7)


def test_without_traces(ranks):
    how = {"experts": "all", "sight": None}
    assert_agree(ranks.run(parallel.trained, "fsdp", 12, how), parallel.trained("one", 12, how), rtol=1e-12)


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_accumulated_gradients(ranks, kind):
    one = parallel.trained("one", 8, {}, chunks=2)
    assert_agree(ranks.run(parallel.trained, kind, 8, {}, torch.float64, 2), one, rtol=1e-12)


def test_narrow_parameters(ranks):
    """Their points are in parts too; rounding to bfloat16 hides which sum was rounded how."""
    how = {"experts": "all"}
    one = parallel.trained("one", 6, how, torch.bfloat16)
    assert_agree(ranks.run(parallel.trained, "fsdp", 6, how, torch.bfloat16), one, rtol=0.02)


@pytest.mark.parametrize("scope", ["shared", "tensor"])
def test_a_layer_that_one_process_does_not_use(ranks, scope):
    how = {"weights": scope}
    assert_agree(ranks.run(parallel.with_one_idle, "ddp", 8, how), parallel.with_one_idle("one", 8, how), rtol=1e-12)


@pytest.mark.parametrize("lost", [(0,), (1,)])
def test_a_gradient_that_one_process_lacks_is_0_there(ranks, lost):
    given, filled = (ranks.run(parallel.without_gradients, 3, lost, filled) for filled in (False, True))
    assert_agree(given)
    for one, two in zip(given, filled, strict=True):
        assert all(torch.equal(p, two["params"][name]) for name, p in one["params"].items())


def test_a_gradient_that_nobody_has_leaves_its_parameter_out(ranks):
    given = ranks.run(parallel.without_gradients, 3, (0, 1), False)
    assert_agree(given)
    before, after = parallel.trained("one", 2, {})["params"], given[0]["params"]
    torch.testing.assert_close(after["one.weight"], before["one.weight"], rtol=0, atol=1e-14)
    assert (after["one.bias"] - before["one.bias"]).abs().max() > 1e-3


@pytest.mark.parametrize("case", ["hedged", "smooth"])
def test_a_step_without_gradients_changes_nothing(ranks, case):
    for states, before, after in ranks.run(parallel.without_any, case):
        assert states == 0
        torch.testing.assert_close(after, before, rtol=0, atol=0)


def test_what_is_in_parts_and_what_is_whole(ranks):
    """What is like a parameter is cut as it is; of "soap" each rank keeps all, squares, averages and bases."""
    shapes = {name: tuple(p.shape) for name, p in parallel.net().named_parameters()}
    for found in ranks.run(parallel.kept, "fsdp", {"experts": "muon and soap"}):
        for name in ("table.weight", "conv.weight", "one.weight", "one.bias"):
            cut, whole = found[name]
            assert set(cut) >= {"m", "e.0"}
            assert set(cut.values()) == {shapes[name]}
            arrays = {key: shape for key, shape in whole.items() if len(shape) > 1}
            assert all(key.startswith("soap.blocks.") for key in arrays)
            assert len(arrays) == (5 if name in ("conv.weight", "one.weight") else 0)


@pytest.mark.parametrize("scope", ["shared", "tensor"])
def test_what_goes_over_the_wire(ranks, scope):
    """Each matrix of which polar wants the whole goes to its owner and back; numbers of each tensor are summed.

    First <s, s>, and whether there is a gradient; then <s, e> for each trace, <m, m> and all <d, d'>.
    """
    found = ranks.run(parallel.counted, "fsdp", {"weights": scope})
    matrices = [p for p in parallel.net().parameters() if p.ndim > 1][
        1:-1
    ]  # the first is a table, the last is not used
    K, tensors = 3, len(list(parallel.net().parameters()))
    for calls, total in found:
        assert [name for name, _ in calls] == ["all_reduce", "all_to_all_single", "all_to_all_single", "all_reduce"]
        assert total == 4
        assert calls[0][1] == tensors * 2 * 8
        assert calls[3][1] == tensors * (K + 1 + K * (K + 1) // 2) * 8
    for k in (1, 2):
        assert sum(calls[k][1] for calls, _ in found) == sum(p.numel() for p in matrices) * 4
    assert ranks.run(parallel.counted, "ddp", {"weights": scope}) == [([], 0)] * 2


def test_without_matrices_only_numbers_are_summed(ranks):
    found = ranks.run(parallel.counted, "fsdp", {"experts": "elementwise"})
    assert [([name for name, _ in calls], total) for calls, total in found] == [(["all_reduce"] * 2, 2)] * 2
