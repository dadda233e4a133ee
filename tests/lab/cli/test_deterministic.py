"""`o2nc deterministic`: a start that is good enough, and what it refuses."""

import pytest

from reduced import invoke


def test_a_start_that_is_good_enough():
    result = invoke("deterministic", "--objective", "wine-svm", "--tol", 100)
    assert result.exit_code == 0, result.output
    lines = [line for line in result.output.splitlines() if line.startswith("gd ")]
    assert lines[0].split()[-1] == "1"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--objective", "f1"), "`--objective` must be one of cancer-logistic, cancer-svm,"),
        (("--tol", 0), "`--tol` must be finite and positive; got 0.0."),
        (("--tol", "nan"), "`--tol` must be finite and positive; got nan."),
        (("--calls", 0), "`--calls` must be a whole number, at least 1; got 0."),
        (("--out", "/nowhere/found.json"), "Cannot write /nowhere/found.json: /nowhere is not a directory."),
        (("--objective", "wine-svm", "--calls", 1, "--out", "/proc/found.json"), "Cannot write /proc/found.json"),
    ],
)
def test_errors_are_one_sentence(arguments, sentence):
    result = invoke("deterministic", *arguments)
    assert result.exit_code == (3 if "/proc/found.json" in arguments else 2)
    assert sentence in result.stderr
    assert "Traceback" not in result.output
