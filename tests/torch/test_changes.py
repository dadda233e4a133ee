"""Hedged when somebody else changes the state, the model or the options between steps."""

import copy

import pytest
import torch
from training import NAMED, assert_same, draws, half, parameters, snapshot, stored, tensors, train

from o2nc.directions import Mask
from o2nc.directions.base import LENGTH
from o2nc.torch import Hedged, log
from sentences import check

LARGE = (400, 400)  # cut into pieces, of which views are kept
EXPERTS = ("momentum", "adam", "polar")
either = pytest.mark.parametrize("experts", [EXPERTS, ("muon", "soap")], ids=str)


def pair(shapes=(LARGE, (3,)), experts=EXPERTS):
    """Two equal optimizers that have made three steps."""
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    opt = Hedged(params, 1e-2, experts)
    steps(opt, 3)
    return opt, copy.deepcopy(opt)


def steps(opt, count, seed=1):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        for p in of(opt):
            p.grad = torch.randn(p.shape, generator=generator).to(p.dtype)
        opt.step()


def of(opt):
    return [p for group in opt.param_groups for p in group["params"]]


def assert_equal(opt, other):
    for p, q in zip(of(opt), of(other), strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=0)
        for key, value in opt.state[p].items():
            torch.testing.assert_close(value, other.state[q][key], rtol=0, atol=0)


@either
def test_tensors_of_the_state_may_be_replaced(experts):
    opt, other = pair(experts=experts)
    for p in of(opt):
        opt.state[p] = {key: value.clone() for key, value in opt.state[p].items()}
    for each in (opt, other):
        steps(each, 3)
    assert_equal(opt, other)


def test_a_parameter_whose_state_was_removed_starts_again():
    opt, _ = pair()
    p = of(opt)[0]
    del opt.state[p]
    steps(opt, 2)
    assert opt.state[p]["t"] == 2
    assert opt.state[p]["m"].any()
    assert opt.state[of(opt)[1]]["t"] == 5


@either
def test_a_model_that_becomes_narrow_gets_its_points(experts):
    opt, _ = pair(experts=experts)
    for p in of(opt):
        p.data = p.data.to(torch.bfloat16)
    steps(opt, 2)
    for p in of(opt):
        assert opt.state[p]["x"].dtype == opt.state[p]["m"].dtype == torch.float32
        assert torch.equal(opt.state[p]["x"].to(torch.bfloat16), p)


@either
def test_a_model_that_becomes_wide_has_a_wide_state(experts):
    opt, _ = pair(experts=experts)
    for p in of(opt):
        p.data = p.data.double()
    steps(opt, 2)
    dtypes = {a.dtype for p in of(opt) for a in opt.state[p].values() if a.is_floating_point()}
    assert dtypes == {torch.float64}
    assert "root" in opt.state[of(opt)[1]]


def test_another_memory_format_changes_nothing():
    opt, other = pair([(64, 64, 8, 8)])
    for p in of(opt):
        p.data = p.data.to(memory_format=torch.channels_last)
    for each in (opt, other):
        steps(each, 2)
    torch.testing.assert_close(of(opt)[0].contiguous(), of(other)[0], rtol=0, atol=1e-6)


def test_a_first_step_that_is_left_out_leaves_no_state():
    p = torch.nn.Parameter(torch.zeros(2))
    opt = Hedged([p], nonfinite="skip")
    p.grad = torch.tensor([1.0, torch.inf])
    opt.step()
    assert not opt.state


@pytest.mark.parametrize("wrong", [lambda u: u[..., :1], lambda u: u / 0])
def test_a_function_of_a_wrong_shape_or_value_is_a_sentence(wrong):
    p = torch.nn.Parameter(torch.zeros(2))
    opt = Hedged([p], experts=("momentum", wrong))
    p.grad = torch.ones(2)
    with pytest.raises(ValueError, match=r"must return (an array in the shape|numbers that are finite)"):
        opt.step()
    assert not p.any()


def test_the_learner_reads_its_rate_at_every_step():
    opt, other = pair()
    opt.param_groups[0]["c"] = 1e-6
    for each in (opt, other):
        steps(each, 1)
    uniform, moved = (list(each.report()["groups"][0]["weights"].values()) for each in (opt, other))
    assert uniform == pytest.approx([1 / 3] * 3, abs=1e-5)
    assert moved != pytest.approx([1 / 3] * 3, abs=1e-3)


def test_two_masks_have_names():
    p = torch.nn.Parameter(torch.zeros(2))
    first, second = torch.tensor([True, False]), torch.tensor([False, True])
    opt = Hedged([p], 1.0, (Mask({p: first}, name="first"), Mask({p: second}, name="second")))
    p.grad = torch.ones(2)
    opt.step()
    torch.testing.assert_close(p.detach(), torch.tensor([-LENGTH, -LENGTH]))
    assert set(opt.report()["groups"][0]["weights"]) == {"first", "second"}


def test_a_log_in_a_folder_that_does_not_exist_is_a_sentence(tmp_path):
    opt, _ = pair([(3,)])
    with pytest.raises(ValueError, match="must be in a folder that exists"):
        log(opt, tmp_path / "nowhere" / "run.csv")


def test_a_log_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "run.csv").mkdir()
    opt, _ = pair([(3,)])
    with pytest.raises(ValueError, match=r"`to` must be a file that can be written; .*run\.csv cannot: Is a directory"):
        log(opt, tmp_path / "run.csv")


def test_parameters_without_state_stay_without():
    """Those that had no gradient yet."""
    first, whole = (Hedged([{"params": a[:2]}, {"params": a[2:]}], 0.02, NAMED) for a in (parameters(), parameters()))
    for opt in (first, whole):
        p = opt.param_groups[0]["params"][1]
        p.grad = torch.ones_like(p)
        opt.step()
    second = Hedged(
        [{"params": [torch.nn.Parameter(p.detach().clone()) for p in group["params"]]} for group in first.param_groups],
        experts=NAMED,
    )
    second.load_state_dict(stored(first.state_dict()))
    assert [p in second.state for group in second.param_groups for p in group["params"]] == [False, True, False, False]
    train(second, 2)
    train(whole, 2)
    assert_same(snapshot(second), snapshot(whole))


def test_cleared_state_is_a_new_start():
    """``opt.state`` is the only store."""
    for clear in (lambda opt: opt.state.clear(), lambda opt: setattr(opt, "state", type(opt.state)(dict))):
        opt, other = Hedged(parameters(), 0.02, NAMED), Hedged(parameters(), 0.02, NAMED)
        train(opt, 3)
        clear(opt)
        for p, a in zip(opt.param_groups[0]["params"], parameters(), strict=True):
            p.data = a.data.clone()  # in other memory
        train(opt, 3)
        train(other, 3)
        assert_same(snapshot(opt), snapshot(other))


@pytest.mark.parametrize("scope", ["shared", "group", "tensor"])
def test_groups_can_be_added_at_any_time(scope):
    """A parameter that joins late is as one whose gradients were missing."""
    opt, other = (Hedged(parameters()[:2], 0.02, NAMED, weights=scope) for _ in range(2))
    more, others = (parameters()[2:] for _ in range(2))
    other.add_param_group({"params": (p for p in others), "lr": 0.05})
    for t in range(6):
        if t == 3:
            opt.add_param_group({"params": more, "lr": 0.05})
        for each, last in ((opt, more), (other, others)):
            for p, g in zip((*each.param_groups[0]["params"], *last), tensors(draws(t)), strict=True):
                p.grad = None if t < 3 and any(p is q for q in last) else g
            each.step()
    assert_same(snapshot(opt), snapshot(other))


def test_state_does_not_depend_on_the_experts_of_a_group_that_joins():
    """Without sight a parameter keeps the lengths of its own directions, however many others have."""
    opt = Hedged(parameters()[:2], 0.02, ("adam",), sight=None)
    steps(opt, 1)
    opt.add_param_group({"params": parameters()[2:], "experts": ("adam", "sign")})
    before = snapshot(opt)
    opt.report()
    assert_same(snapshot(opt), before)


@pytest.mark.parametrize("size", [4, 2**16])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_parameters_that_are_not_contiguous(dtype, size, monkeypatch):
    """Their state is; also where tensors are cut, into buckets of 4 entries."""
    for name in ("SIZE", "LARGE"):
        monkeypatch.setattr(f"o2nc.torch.state.{name}", size)
    plain = parameters(dtype)
    strided = [torch.nn.Parameter(p.detach().clone()) for p in plain]
    strided[2] = torch.nn.Parameter(plain[2].detach().t().contiguous().t())
    strided[3] = torch.nn.Parameter(plain[3].detach().clone(memory_format=torch.channels_last))
    assert not strided[2].is_contiguous()
    mask = lambda p: half(p).double().t().contiguous().t() if p.ndim == 2 else half(p)
    opt, other = (Hedged(params, 0.02, (*NAMED, Mask(mask))) for params in (strided, plain))
    strides = [p.stride() for p in strided]
    train(opt, 3)
    train(other, 3)
    for p, q in zip(strided, plain, strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=1e-13)
    assert [p.stride() for p in strided] == strides
    assert all(opt.state[p]["m"].is_contiguous() for p in strided)


def test_parameters_whose_memory_is_replaced_are_followed():
    """As `torch.nn.utils.vector_to_parameters` does."""
    opt, other = (Hedged(parameters(), 0.02, NAMED) for _ in range(2))
    for t in range(3):
        train(opt, 1, start=t)
        train(other, 1, start=t)
        params = opt.param_groups[0]["params"]
        torch.nn.utils.vector_to_parameters(torch.nn.utils.parameters_to_vector(params), params)
    assert_same(snapshot(opt), snapshot(other))


def test_mixed_dtypes():
    """Float64, float32 and bfloat16 in one group and one learner."""
    dtypes = [torch.float64, torch.float32, torch.bfloat16, torch.float32]
    params = [torch.nn.Parameter(a.to(dtype)) for a, dtype in zip(tensors(draws(1)), dtypes, strict=True)]
    opt = Hedged(params, 0.02, NAMED)
    train(opt, 3)
    widths = [opt.state[p]["m"].dtype for p in params]
    assert widths == [torch.float64, torch.float32, torch.float32, torch.float32]
    assert ["x" in opt.state[p] for p in params] == [False, False, True, False]
    assert len({tuple(opt.state[p]["C"].tolist()) for p in params}) == 1


def test_a_model_that_is_cast_after_a_report_starts_at_its_own_points():
    """The point is the parameter as it is, not as it was when the report was made: one digit was from before."""
    runs = []
    for is_reported in (True, False):
        p = torch.nn.Parameter(torch.tensor([1.314], dtype=torch.float64))
        opt = Hedged([p])
        if is_reported:
            opt.report()
        p.data = p.data.to(torch.bfloat16)
        p.grad = torch.zeros_like(p)
        opt.step()
        assert opt.state[p]["x"].item() == p.item()
        steps(opt, 2)
        runs.append(snapshot(opt))
    assert_same(*runs)


@pytest.mark.parametrize("experts", [("muon", "soap"), ("momentum",)], ids=str)
def test_a_state_that_does_not_fit_the_dtype_of_a_cast_is_refused(experts):
    """Squares of 1e30 are no numbers of float32; half a step was made before the eigenvectors of "soap" failed."""
    params = [torch.nn.Parameter(torch.ones(shape, dtype=torch.float64)) for shape in ((3,), (2, 3))]
    opt = Hedged(params, 0.01, experts)
    for p in params:
        p.grad = torch.full_like(p, 1e30)
    opt.step()
    before = snapshot(opt)[1]["state"]

    def cast(dtype):
        for p in params:
            p.grad, p.data = None, p.data.to(dtype)
            p.grad = torch.ones_like(p)

    cast(torch.float32)
    check(opt.step, ValueError, "must fit into torch.float32", "e+", "Nothing was changed")
    cast(torch.float64)
    assert_same(snapshot(opt)[1]["state"], before)
    opt.step()
    assert all(p.isfinite().all() for p in params)


@pytest.mark.parametrize("experts", [("muon", "soap"), ("muon", "adam"), ("shampoo", "adam"), ("sign",)], ids=str)
@pytest.mark.parametrize(("name", "value"), [("eps", 1e-4), ("betas", (0.9, 0.99)), ("weight_decay", 0.1)])
def test_an_option_that_changes_is_taken_by_the_run_as_by_the_one_that_resumes(experts, name, value):
    opt, _ = pair([(6, 5), (3,)], experts)
    for group in opt.param_groups:
        group[name] = value
    steps(opt, 3)
    other = Hedged([torch.nn.Parameter(p.detach().clone()) for p in of(opt)], 1e-2, experts)
    other.load_state_dict(copy.deepcopy(opt.state_dict()))
    for each in (opt, other):
        steps(each, 5, seed=2)
    for p, q in zip(of(opt), of(other), strict=True):
        assert torch.equal(p, q)


@pytest.mark.parametrize(("name", "value"), [("split", 2), ("matrices", False), ("stacks", True)])
def test_what_makes_matrices_cannot_change(name, value):
    opt, _ = pair([(6, 5), (3,)], ("muon", "soap"))
    opt.param_groups[0][name] = value
    check(lambda: steps(opt, 1), ValueError, f"`{name}` of group 0 must stay")


@pytest.mark.parametrize("count", [-1, 2.5, float("nan"), "x", None, True])
def test_a_count_of_skipped_steps_is_a_count(count):
    opt, other = pair([(6, 5), (3,)])
    saved = copy.deepcopy(opt.state_dict())
    for group in saved["param_groups"]:
        group["skipped"] = count
    check(lambda: other.load_state_dict(saved), ValueError, "`skipped` of a checkpoint")
