"""The least values that a command takes are enough for it to end."""

import pytest

from reduced import invoke

pytestmark = pytest.mark.slow

LEAST = {
    "reproduce": ("--replications", 2, "--iterations", 1, "--jobs", 1),
    "compare": ("--objective", "f4", "--objective", "network", "--replications", 2, "--iterations", 1, "--jobs", 1),
    "run": ("--objective", "f4", "--replications", 1, "--iterations", 1),
    "nonsmooth": ("--T", 4, "--horizon", 3, "--replications", 2, "--jobs", 1),
    "deterministic": ("--objective", "wine-svm", "--calls", 1),
    "certify": ("--sigma", 0, "--T", 1, "--regret", 0, "--gap", 1, "--beta", 1),
}


@pytest.mark.parametrize("command", LEAST)
def test_the_least_values_are_enough(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(command, *LEAST[command])
    assert result.exit_code in ((4,) if command == "reproduce" else (0,)), result.output
    assert "nan" not in result.stdout
