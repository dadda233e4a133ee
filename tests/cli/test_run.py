"""`o2nc run`: any oracle with any set, and what it refuses."""

import pytest

from reduced import invoke


def test_run_prints_a_table_and_a_chart():
    result = invoke("run", "--objective", "f3", "--replications", 2, "--iterations", 100)
    assert result.exit_code == 0, result.output
    assert "regret against I" in result.output
    assert "gap (log scale): * sgd, o hedge" in result.output


@pytest.mark.parametrize(
    ("oracle", "operators", "rate"),
    [
        ("sgd", None, None),
        ("hedge-self-tuned", "hull", None),
        ("ogd", "box", None),
        ("adagrad", "box", None),
        ("full-adagrad", "hull", None),
        ("omd-entropic", "hull", 0.1),
        ("omd-binary", "box", 0.1),
        ("coin-betting", "hull", None),
        ("frank-wolfe", "box", 0.1),
        ("ftrl", "box", 0.1),
    ],
)
def test_run_takes_any_combination(oracle, operators, rate):
    given = {"--set": operators, "--rate": rate}
    options = [part for option, value in given.items() if value is not None for part in (option, value)]
    result = invoke("run", "--objective", "f4", "--oracle", oracle, *options, "--replications", 2, "--iterations", 5)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("options", [("hedge", "--set", "box"), ("identity", "--rate", 3), ("adahedge", "--rate", 3)])
def test_run_refuses_what_an_oracle_does_not_take(options):
    result = invoke("run", "--objective", "f4", "--oracle", *options)
    assert result.exit_code == 2
    assert "must not be given for the oracle" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--objective", "f9"), "`objective` must be one of f1, f2, f3, f4, f5, f6, f7, f8; got 'f9'."),
        (("--objective", "f1", "--oracle", "adam"), "`oracle` must be one of"),
        (("--objective", "f1", "--oracle", "ogd", "--set", "ball"), "`set` must be one of"),
        (("--objective", "f1", "--oracle", "omd"), "`rate` must be given for the oracle omd."),
    ],
)
def test_run_names_what_it_knows(arguments, sentence):
    result = invoke("run", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_no_iterations_are_refused_with_a_sentence():
    result = invoke("run", "--objective", "f4", "--iterations", "0")
    assert result.exit_code == 2
    assert "`iterations` must be a whole number, at least 1; got 0" in " ".join(result.output.split())
