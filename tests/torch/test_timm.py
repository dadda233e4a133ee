"""timm makes `Hedged` by its name: groups of either side, fallbacks, layer decay, its schedulers, the example."""

import importlib

import pytest
import timm_alone
import torch

from o2nc.torch import Hedged, groups, register_timm

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def timm():
    timm = timm_alone.load()
    if timm is None:
        pytest.skip("timm is not installed, and not in build/timm")
    register_timm()
    return timm


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))


def step(model, opt):
    model(torch.linspace(-1, 1, 12).reshape(2, 6)).square().mean().backward()
    opt.step()
    opt.zero_grad()


@pytest.mark.parametrize("name", ["o2nc_hedged", "hedged", "O2NC_Hedged"])
def test_by_name(timm, name):
    """The same steps as by hand, with groups by weight decay as timm makes them."""
    model, other = net(), net()
    opt = timm.optim.create_optimizer_v2(model, opt=name, lr=0.02, weight_decay=0.1)
    vectors, matrices = ([getattr(other[k], kind) for k in (0, 2)] for kind in ("bias", "weight"))
    by_hand = Hedged([{"params": vectors, "weight_decay": 0.0}, {"params": matrices, "weight_decay": 0.1}], lr=0.02)
    for _ in range(3):
        step(model, opt)
        step(other, by_hand)
    assert type(opt) is Hedged
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), other.parameters(), strict=True))


def test_roles(timm):
    opt = timm.optim.create_optimizer_v2(net(), opt="o2nc_hedged", weight_decay=0.1, param_group_fn=groups)
    assert [(group["name"], group["weight_decay"]) for group in opt.param_groups] == [
        ("matrices", 0.1), ("heads", 0.1), ("vectors", 0.0)
    ]  # fmt: skip


def test_it_is_listed_once(timm, caplog):
    register_timm()
    assert timm.optim.list_optimizers("*hedged") == ["hedged", "o2nc_hedged"]
    assert "already registered" not in caplog.text
    assert timm.optim.get_optimizer_info("o2nc_hedged").has_betas
    assert timm.optim.get_optimizer_class("o2nc_hedged")([torch.zeros(2, 2)], lr=0.1).defaults["lr"] == 0.1


def test_options_of_timm(timm):
    """`foreach`, betas, and layers that learn more slowly, by its own scheduler."""
    model, options = net(), {"lr": 0.1, "betas": (0.9, 0.99), "foreach": False, "layer_decay": 0.5, "weight_decay": 0.1}
    model.pretrained_cfg = {"classifier": "2"}  # which says what the last layer is
    opt = timm.optim.create_optimizer_v2(model, opt="o2nc_hedged", **options)
    assert (opt.foreach, opt.defaults["betas"]) == (False, (0.9, 0.99))
    schedulers = importlib.import_module("timm.scheduler")
    scheduler, _ = schedulers.create_scheduler_v2(opt, "cosine", num_epochs=10, warmup_epochs=0, min_lr=0.0)
    scheduler.step(5)
    assert [group["lr"] for group in opt.param_groups] == pytest.approx([0.025, 0.025, 0.05, 0.05])
    step(model, opt)
    assert opt.t == 1


def test_fallbacks_have_adam(timm):
    """As in timm's own Muon. A bias is Adam's in any case."""
    options = {"lr": 0.02, "experts": ("muon",), "scale": "fixed"}
    model, other = net(), net()
    opt = timm.optim.create_optimizer_v2(model, opt="o2nc_hedged", fallback_list=["2.*"], **options)
    told = Hedged(groups(other, patterns={"2.weight": "heads"}), **options)
    assert [group["matrices"] for group in opt.param_groups] == [None, False]
    for _ in range(3):
        step(model, opt)
        step(other, told)
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), other.parameters(), strict=True))


def test_example(timm, capsys):
    """A vision transformer of timm learns digits."""
    pytest.importorskip("sklearn")
    importlib.import_module("timm_digits").main(150)
    report, accuracy = capsys.readouterr().out.rsplit("accuracy ", 1)
    assert float(accuracy) > 0.5
    rows = [line.split()[:2] for line in report.splitlines()[1:6]]
    assert rows[:2] == [["matrices", "muon"], ["matrices", "soap"]]
    assert rows[2:] == [[role, "adam"] for role in ("embeddings", "heads", "vectors")]
