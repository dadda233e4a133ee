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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Theorem 1 needs `--beta`"),
        (("--nonsmooth",), "`--nonsmooth` needs `--M`, `--L` and `--lam`."),
        (
            ("--nonsmooth", "--L", 1, "--lam", 1, "--beta", 4),
            "`--beta` and `--gap` must not be given with `--nonsmooth`",
        ),
        (("--beta", 4, "--lam", 1), "`--L` and `--lam` must not be given without `--nonsmooth`"),
        (("--beta", 4, "--gap", -1), "`gap` must be finite and positive; got -1.0."),
        (("--beta", -1), "`beta` must be finite and positive; got -1.0."),
    ],
)
def test_certify_says_what_it_needs(arguments, sentence):
    result = invoke("certify", "--M", 1, "--sigma", 0.5, "--T", 10000, "--regret", 10, *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
