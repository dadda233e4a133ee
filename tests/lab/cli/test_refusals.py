"""What is out of range is refused before anything is computed, whatever the command and the option."""

import pytest
import typer.main

from o2nc.lab.cli import app
from o2nc.lab.compare import comparison
from o2nc.lab.deterministic import experiment as deterministic
from o2nc.lab.figures import training
from o2nc.lab.objectives import objective, of_kind
from o2nc.lab.playground import page
from o2nc.lab.runner import engine, experiment, paired
from reduced import invoke

SEED, COUNT = (-1, 2**64, "one"), (-1, 0, "many")
RUNS = {
    "--seed": SEED,
    "--iterations": (*COUNT, 20001),
    "--backend": ("cupy",),
    "--dtype": ("int8",),
}
PLACES = {"--jobs": COUNT, "--engine": ("slurm",), "--address": ("127.0.0.1:8786",)}
ORACLES = {
    "--objective": ("f9", "bowl"),
    "--oracle": (
        "newton",
        "ogd:ball",
        "omd",
        "ogd:rate=0",
        "ogd:rate=-1",
        "ogd:rate=nan",
        "squint:box",
        "adahedge:r=2",
        "adahedge:kappa=-1",
        "adahedge:kappa=1e9",
        "learned:r=1",
        "sgd:kappa=1",
    ),
}
CERTIFY = ("--sigma", 1, "--T", 100, "--regret", 0, "--gap", 1, "--beta", 1)
COMMANDS = {  # of each command: what it must be given, and values that each of its options refuses
    "reproduce": ((), RUNS | PLACES | {"--replications": (*COUNT, 1), "--seeds": (-1, "two")}),
    "compare": ((), RUNS | ORACLES | {"--replications": (*COUNT, 1), "--jobs": COUNT}),
    "run": (("--objective", "f4"), RUNS | ORACLES | {"--replications": COUNT}),
    "nonsmooth": (
        (),
        PLACES
        | {"--seed": SEED, "--replications": (*COUNT, 1), "--T": (*COUNT, 1, 2, 3), "--horizon": (*COUNT, 1, 2)}
        | {"--lam": (-1, 0, "nan", "inf", 1e12)},
    ),
    "deterministic": ((), {"--objective": ("f1",), "--tol": (-1, 0, "nan", "inf"), "--calls": COUNT}),
    "certify": (
        CERTIFY,
        {"--sigma": (-1, "nan"), "--T": COUNT, "--regret": ("nan", "inf"), "--gap": (-1, 0), "--M": (-1, 0, "nan")}
        | {"--beta": (-1, 0, "inf"), "--L": (1,), "--lam": (1,), "--nonsmooth": ("--gap",)},
    ),
    "play": ((), {"--port": (-1, 65536, "http")}),
    "plot": (("none.csv",), {}),
    "list": (("nothing",), {}),
}
FREE = {"--out", "--help", "--browser", "--no-browser"}  # --out has tests of its own
CASES = [
    (command, *given, option, value)
    for command, (given, options) in COMMANDS.items()
    for option, values in options.items()
    for value in values
]


@pytest.fixture(autouse=True)
def nothing_is_computed(monkeypatch, tmp_path):
    def reached(*arguments, **options):
        pytest.fail("something was computed")

    for place, name in (
        (experiment, "compute"),
        (engine, "processes"),
        (comparison, "processes"),
        (paired._Group, "play"),
        (deterministic, "_best"),
        (training, "written"),
        (page, "server"),
    ):
        monkeypatch.setattr(place, name, reached)
    monkeypatch.chdir(tmp_path)


def test_every_option_of_every_command_is_asked():
    commands = typer.main.get_command(app).commands
    assert COMMANDS.keys() == commands.keys()
    for name, command in commands.items():
        known = {each for option in command.params for each in option.opts if each.startswith("-")}
        assert known - FREE == set(COMMANDS[name][1]), name


@pytest.mark.parametrize("arguments", CASES, ids=lambda arguments: " ".join(map(str, arguments)))
def test_a_value_out_of_range_is_refused_before_anything_is_computed(arguments, tmp_path):
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.strip()
    assert result.stdout == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["plot", "list"])
def test_an_argument_that_is_nothing(command):
    result = invoke(command, *COMMANDS[command][0])
    assert result.exit_code in (2, 3)
    assert result.stdout == ""


def test_every_objective_is_asked_and_not_the_first_alone():
    """The largest factor of the descent loss depends on the objective."""
    least = min(of_kind("smooth"), key=lambda name: kappa(name))
    other = max(of_kind("smooth"), key=lambda name: kappa(name))
    oracle = f"adahedge:kappa={(kappa(least) + kappa(other)) / 2}"
    result = invoke("compare", "--objective", other, "--objective", least, "--oracle", oracle)
    assert result.exit_code == 2
    assert "`kappa` must be at most c/a" in result.stderr


def kappa(name):
    """The largest that is allowed: c / a."""
    c = objective(name).constants(paired.HORIZON)
    return c.c / c.a
