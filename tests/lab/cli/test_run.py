"""`o2nc run`: any oracle with any set, and what it refuses."""

import pytest

from reduced import invoke


def test_run_prints_a_table_and_a_chart():
    result = invoke("run", "--objective", "f3", "--replications", 2, "--iterations", 100)
    assert result.exit_code == 0, result.output
    assert "regret against I" in result.output
    assert "gap (log scale): * sgd, o hedge" in result.output


@pytest.mark.parametrize(
    "oracle",
    [
        "sgd",
        "hedge-self-tuned:hull",
        "ogd:box",
        "adagrad:box:kappa=4",
        "full-adagrad:hull",
        "omd-entropic:hull:rate=0.1",
        "omd-binary:box:rate=0.1",
        "coin-betting",
        "frank-wolfe:box:rate=0.1",
        "ftrl:rate=0.1:box",
        "adahedge:r=uniform",
    ],
)
def test_run_takes_any_combination(oracle):
    """Spelled as in `compare`."""
    result = invoke("run", "--objective", "f4", "--oracle", oracle, "--replications", 2, "--iterations", 5)
    assert result.exit_code == 0, result.output
    assert oracle in result.output


@pytest.mark.parametrize("oracle", ["hedge:box", "identity:rate=3", "adahedge:rate=3"])
def test_run_refuses_what_an_oracle_does_not_take(oracle):
    result = invoke("run", "--objective", "f4", "--oracle", oracle)
    assert result.exit_code == 2
    assert "must not be given for the oracle" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--objective", "f9"),
            "`--objective` must be one of dictionary, f1, f2, f3, f4, f5, f6, f7, f8, network, savage, sigmoid; got",
        ),
        (("--objective", "f1", "--oracle", "adam"), "`--oracle` must be one of"),
        (("--objective", "f1", "--oracle", "ogd:ball"), "`set` must be one of"),
        (("--objective", "f1", "--oracle", "omd"), "`rate` must be given for the oracle omd, as in omd:rate=0.1."),
    ],
)
def test_run_names_what_it_knows(arguments, sentence):
    result = invoke("run", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_no_iterations_are_refused_with_a_sentence():
    result = invoke("run", "--objective", "f4", "--iterations", "0")
    assert result.exit_code == 2
    assert "`--iterations` must be a whole number, at least 1; got 0" in " ".join(result.stderr.split())
