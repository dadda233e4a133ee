"""Lightning's command line makes `Hedged` from its class path: every option by its name, and the example."""

import importlib
import json
from pathlib import Path

import pytest
import torch

from o2nc.torch import Hedged

pytest.importorskip("lightning")
jsonargparse = pytest.importorskip("jsonargparse")
FILE = Path(__file__).parents[2] / "examples" / "lightning_cli.yaml"
OPTIONS = {
    "lr": 0.02, "experts": ["muon", "adam"], "betas": [0.9, 0.99], "eps": 1e-7, "weight_decay": 0.1, "scale": "fixed",
    "weights": "group", "matrices": True, "precision": "float32", "sight": 0.1, "rho": 0.9, "c": 2.0, "maximize": True,
    "nonfinite": "skip", "foreach": False, "compile": False, "fused": False,
}  # fmt: skip
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec.. is deprecated"),  # by Lightning, of PyTorch
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),  # on machines with more cores
    pytest.mark.filterwarnings("ignore:LightningCLI's args parameter is intended"),  # a test has no command line
]


@pytest.fixture(autouse=True)
def _without_warnings_of_jsonargparse(monkeypatch):
    """By Lightning: it calls what is deprecated there."""
    monkeypatch.setenv("JSONARGPARSE_DEPRECATION_WARNINGS", "off")


def run(*arguments):
    return importlib.import_module("lightning_cli").main(["fit", *map(str, arguments)])


def test_every_option_can_be_written_on_a_command_line():
    parser = jsonargparse.ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(torch.optim.Optimizer, "optimizer", skip={"params"})
    given = [f"--optimizer.{name}={v if isinstance(v, str) else json.dumps(v)}" for name, v in OPTIONS.items()]
    found = parser.parse_args(["--optimizer=o2nc.torch.Hedged", *given]).optimizer.init_args.as_dict()
    expected = Hedged([torch.zeros(2)], **OPTIONS)
    opt = Hedged([torch.zeros(2)], **found)
    assert set(found) == set(OPTIONS)  # a new option needs a line here
    assert {**opt.defaults, "betas": [*opt.defaults["betas"]]} == expected.defaults
    assert (opt.foreach, opt.compile, opt.nonfinite) == (False, False, "skip")


def test_a_file_and_a_line_say_the_same(capsys):
    from_file = run("--config", FILE, "--trainer.max_epochs", 1)
    line = ("lr=0.01", 'experts=["muon","adam"]', "weight_decay=0.01")
    from_line = run(
        "--trainer.max_epochs=1",
        "--model.optimizer=o2nc.torch.Hedged",
        *(f"--model.optimizer.{option}" for option in line),
    )
    assert [group["name"] for group in from_file.param_groups] == ["matrices", "heads", "vectors"]
    assert from_file.param_groups[0]["experts"] == ("muon", "adam")
    assert from_file.t == 16
    assert from_file.report() == from_line.report()


def test_without_roles(capsys):
    """Lightning gives the optimizer of its own argument all parameters in one group."""
    with pytest.warns(UserWarning, match="configure_optimizers` will be overridden"):
        opt = run("--optimizer=o2nc.torch.Hedged", "--trainer.max_epochs=1")
    assert type(opt) is Hedged
    assert [len(group["params"]) for group in opt.param_groups] == [4]


def test_a_wrong_option_is_refused(capsys):
    with pytest.raises(SystemExit):
        run("--model.optimizer=o2nc.torch.Hedged", "--model.optimizer.learning_rate=0.1")
    assert "learning_rate" in capsys.readouterr().err


def test_example(capsys):
    run("--config", FILE)
    assert float(capsys.readouterr().out.split()[-1]) > 0.8
