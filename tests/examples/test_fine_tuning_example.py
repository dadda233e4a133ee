"""The example of fine-tuning, in tiny form: the start is the same for all, and what is printed is what was found."""

import importlib
import re

import pytest

pytestmark = pytest.mark.slow
tuning = importlib.import_module("fine_tuning")


def test_prose_is_learned_before():
    """From log 256 = 5.5, and the same weights every time."""
    windows = tuning.evenly(tuning.prose(), 16, tuning.CONTEXT)
    losses = [tuning.loss(tuning.pretrained(16, n), windows, tuning.ALONE).item() for n in (0, 40, 40)]
    assert losses[1] < 4.5 < 5.4 < losses[0]
    assert losses[1] == losses[2]


def test_example(capsys):
    tuning.main(width=16, before=8, steps=8)
    reports, losses = capsys.readouterr().out.split("\n\n")
    assert [line.split(":")[0] for line in reports.splitlines()[1:]] == ["step 2", "step 4", "step 6", "step 8"]
    for line in reports.splitlines()[1:]:
        weights = [float(w) for w in re.findall(r"(?:adam|muon) (\d\.\d+)", line)]
        assert sum(weights) == pytest.approx(1.0, abs=0.011)
    found = [float(line.split()[0]) for line in losses.splitlines()[1:]]
    assert found == sorted(found)
    assert {line.split()[1] for line in losses.splitlines()[1:]} == {"Hedged", "AdamW", "Muon"}
