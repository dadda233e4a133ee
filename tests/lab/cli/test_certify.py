"""`o2nc certify`: the theorems term by term, and what they need."""

import pytest

from reduced import invoke


def test_certify_prints_the_terms():
    result = invoke("certify", "--M", 1, "--beta", 4, "--sigma", 0.5, "--T", 10000, "--regret", 10)
    assert result.exit_code == 0
    assert "noise   1.01" in result.output
    assert "Theorem 1, sharp" in result.output
    assert result.output.startswith("Sharp theorem")  # with G = sqrt(M beta) = 2
    assert "regret  0.004\n" in result.output
    result = invoke("certify", "--gap", 0.5, "--beta", 4, "--sigma", 0.5, "--T", 10000, "--regret", 10)
    assert "regret  0.002\n" in result.output
    assert "Theorem 1" not in result.output
    result = invoke(
        "certify", "--nonsmooth", "--M", 1, "--L", 1, "--lam", 1, "--sigma", 0.5, "--T", 10000, "--regret", 10
    )
    assert result.exit_code == 0
    assert "Theorem 2" in result.output


def test_certify_explains_a_bound_that_says_nothing_or_too_much():
    low = invoke("certify", "--M", 1, "--beta", 4, "--sigma", 0.5, "--T", 1000, "--regret", -1e5).output
    assert low.count("a bound below 0 on what is never negative") == 3  # the sharp theorem, and Theorem 1 twice
    assert "vacuous" not in low
    high = invoke("certify", "--M", 1, "--beta", 4, "--sigma", 0.5, "--T", 10, "--regret", 10).output
    assert high.count("vacuous: every point has at most 4\n") == 3
    flat = ("certify", "--nonsmooth", "--M", 1, "--L", 2, "--lam", 1, "--sigma", 0.5, "--T", 100, "--regret", 1)
    assert invoke(*flat).output.count("vacuous: every point has at most 2\n") == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Algorithm 1 needs `--beta`"),
        (("--nonsmooth",), "`--nonsmooth` needs `--M`, `--L` and `--lam`."),
        (
            ("--nonsmooth", "--L", 1, "--lam", 1, "--beta", 4),
            "`--beta` and `--gap` must not be given with `--nonsmooth`",
        ),
        (("--beta", 4, "--lam", 1), "`--L` and `--lam` must not be given without `--nonsmooth`"),
        (("--beta", 4, "--gap", -1), "`--gap` must be finite and positive; got -1.0."),
        (("--beta", -1), "`--beta` must be finite and positive; got -1.0."),
    ],
)
def test_certify_says_what_it_needs(arguments, sentence):
    result = invoke("certify", "--M", 1, "--sigma", 0.5, "--T", 10000, "--regret", 10, *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
