"""`for_trainer`: the Trainer makes what is made by hand, on one process, on two and for LoRA, and resumes."""

import importlib
from functools import partial
from pathlib import Path

import parallel
import parallel_factories
import pytest
import torch
from trainers import assert_same_runs
from training import assert_same, snapshot

from launches import ACCELERATE, TORCHRUN, launched
from o2nc.torch import Hedged, for_trainer, groups
from sentences import check

pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated")  # by peft, of transformers
SCRIPT = Path(__file__).parents[2] / "examples" / "transformers_factory.py"
SMALL = (
    "--steps",
    "8",
    "--experts",
    "muon",
    "adam",
)  # rounding does not turn their directions, as it may those of soap
KEYS = slice(32, 64)  # of the bias of attention: its gradient is 0 but for rounding, of which Adam makes steps


def wrapped(trainer):
    return trainer.optimizer.optimizer, trainer.lr_scheduler


def test_wrong_options_are_refused_before_there_is_a_model():
    check(partial(for_trainer, lr=-1.0), ValueError, "`lr` must be finite and nonnegative; got -1.0")
    check(partial(for_trainer, experts=("mun",)), ValueError, "'mun'")
    with pytest.raises(TypeError, match="unexpected keyword argument 'rate'"):
        for_trainer(rate=0.1)


def test_roles_and_options_arrive():
    model = torch.nn.Sequential(torch.nn.Embedding(9, 4), torch.nn.Linear(4, 12), torch.nn.Linear(12, 9))
    told = {"weight_decay": 0.1, "patterns": {"2.weight": "matrices"}, "split": {"1.weight": 3}}
    factory, options = for_trainer(**told, lr=0.02, nonfinite="skip")
    opt = factory()(model, **options)
    by_hand = Hedged(groups(model, **told), lr=0.02, nonfinite="skip")
    assert opt.nonfinite == "skip"
    assert_same(opt.state_dict(), by_hand.state_dict())
    assert [group["name"] for group in opt.param_groups] == ["matrices", "matrices split 3", "embeddings", "vectors"]


def test_flat_parameters_are_refused():
    from torch.distributed.fsdp import FullyShardedDataParallel

    class Flat(FullyShardedDataParallel):
        def __init__(self):
            torch.nn.Module.__init__(self)

    factory, options = for_trainer()
    check(
        lambda: factory()(torch.nn.Sequential(Flat()), **options), ValueError, "by FSDP2; got FSDP1", "{'version': 2}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("order", ["sharded first", "made first"])
def test_shards_are_one_process(ranks, order):
    """Sharded by a loop of our own, since accelerate shards on devices only."""
    pytest.importorskip("accelerate")
    one = parallel_factories.trained("whole", 12)
    found = ranks.run(parallel_factories.trained, order, 12)
    for mine, whole in zip(*(each["held"] for each in found), strict=True):
        assert mine[0] + whole[0] == mine[1]  # of each parameter a process holds its part, and no more
    for each in found:
        for name, p in one["params"].items():
            torch.testing.assert_close(each["params"][name], p, rtol=0, atol=1e-12 * p.abs().max().item(), msg=name)
    assert_same(one["params"], parallel.trained("one", 12, {})["params"])


@pytest.fixture
def factory(accelerate_anew):
    """The example; transformers is read late, since it takes seconds."""
    pytest.importorskip("transformers")
    return importlib.import_module("transformers_factory")


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"accumulate": 2}, {"lora": True}], ids=str)
def test_resumed_is_uninterrupted(factory, options, tmp_path):
    """Bit by bit, with dropout."""
    if "lora" in options:
        pytest.importorskip("peft")
    fit = partial(factory.fit, steps=8, dropout=0.1, **options)
    whole = fit(tmp_path / "whole")
    seed = 0 if "lora" in options else 1  # the checkpoint of an adapter has not the model that it is for
    resumed = fit(tmp_path / "resumed", resume=tmp_path / "whole" / "checkpoint-4", seed=seed)
    assert_same_runs(wrapped(whole), wrapped(resumed))
    assert wrapped(whole)[0].t == 8


@pytest.mark.slow
def test_the_run_is_that_of_an_optimizer_made_by_hand(factory, tmp_path, monkeypatch):
    found = wrapped(factory.fit(tmp_path / "found", 4))

    class ByHand(factory.Trainer):
        def __init__(self, model, *args, optimizer_cls_and_kwargs, **options):
            opt = Hedged(groups(model, weight_decay=0.01), lr=1e-2, experts=factory.EXPERTS)
            super().__init__(model, *args, optimizers=(opt, None), **options)

    monkeypatch.setattr(factory, "Trainer", ByHand)
    by_hand = wrapped(factory.fit(tmp_path / "by hand", 4))
    assert_same(snapshot(found[0]), snapshot(by_hand[0]))


@pytest.mark.slow
def test_lora(factory, tmp_path):
    """The factors are matrices, all else stays as it was, and the loss falls."""
    peft = pytest.importorskip("peft")
    trainer = factory.fit(tmp_path, 60, lora=True)
    model, opt = trainer.model, wrapped(trainer)[0]
    factory.set_seed(0)
    before = dict(factory.adapted(factory.tiny()).named_parameters())
    assert isinstance(model, peft.PeftModel)
    assert [group["name"] for group in opt.param_groups] == ["matrices"]
    for name, p in model.named_parameters():
        assert torch.equal(p, before[name]) != ("lora" in name), name
    assert all("lora" in name for name in opt.param_groups[0]["param_names"])
    assert trainer.evaluate()["eval_loss"] < 2.6  # log 16 = 2.77 knows nothing


def loaded(checkpoint):
    """The parameters, without those that rounding moves, and the state of a checkpoint."""
    from safetensors.torch import load_file

    params = load_file(checkpoint / "model.safetensors")
    for name, p in params.items():
        if name.endswith("c_attn.bias"):
            p[KEYS] = 0
    return params, torch.load(checkpoint / "optimizer.pt", weights_only=True)


@pytest.mark.slow
def test_two_processes_are_one_and_resume(factory, tmp_path):
    """DDP by torchrun, and by accelerate launch with accumulated gradients; the latter goes on from its checkpoint."""
    factory.fit(tmp_path / "one", 8, experts=["muon", "adam"])
    printed = launched(*TORCHRUN, 2, SCRIPT, tmp_path / "two", *SMALL)
    assert "processes 2, parameters Parameter" in printed
    accumulated = (*ACCELERATE, 2, SCRIPT, tmp_path / "four", *SMALL, "--accumulate", 2)
    assert "processes 2" in launched(*accumulated)
    one, two, four = (loaded(tmp_path / name / "checkpoint-8") for name in ("one", "two", "four"))
    for other, _ in (two, four):
        for name, p in one[0].items():
            atol = 1e-4 * p.abs().max().item()
            torch.testing.assert_close(other[name], p, rtol=0, atol=atol, msg=name)
    launched(*accumulated, "--resume", tmp_path / "four" / "checkpoint-4")
    assert_same(loaded(tmp_path / "four" / "checkpoint-8"), four)


@pytest.mark.slow
@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a GPU: accelerate shards on devices only, and runs DDP on a CPU"
)
def test_fsdp_of_the_trainer(tmp_path):
    """Sharded over all GPUs; it resumes, and does what one process does."""
    run = (*TORCHRUN, torch.cuda.device_count(), SCRIPT, tmp_path, *SMALL, "--fsdp")
    whole = launched(*run)
    assert "parameters DTensor" in whole
    assert launched(*run, "--resume", tmp_path / "checkpoint-4").splitlines()[-1] == whole.splitlines()[-1]
    one = launched(SCRIPT, tmp_path / "one", *SMALL)
    assert one.splitlines()[-1].split()[-1] == whole.splitlines()[-1].split()[-1]


@pytest.mark.slow
def test_fsdp_without_a_gpu_is_refused(factory, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="--fsdp needs a GPU"):
        factory.fit(tmp_path, 8, fsdp=True)


@pytest.mark.slow
@pytest.mark.parametrize("lora", [False, True])
def test_example(factory, lora, tmp_path, capsys):
    factory.main(tmp_path, 60, lora=lora)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("processes 1, parameters Parameter, loss ")
    assert float(last.split()[-1]) < 2.6
