"""The soak, in short: killed runs end where an undisturbed one does, and a difference is found."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import soak
import torch

pytestmark = pytest.mark.slow


def test_a_short_soak(tmp_path):
    command = [sys.executable, str(Path(soak.__file__)), "--quick", "--out", str(tmp_path)]
    for _ in range(2):  # the second time everything is there
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert "40 steps, 3 kills" in done.stdout
        assert done.stdout.count("bit by bit: yes") == 2
    losses = soak.Losses(tmp_path / "killed")
    assert len(losses.read()) == 40
    with pytest.raises(AssertionError, match="The loss of step 7 was"):
        losses.write(7, losses.read()[7] * (1 + 2**-52))


def test_kills_are_drawn_by_the_seed():
    options = replace(soak.TINY, steps=2000, every=100)
    kills = soak.planned(24, options, 0)
    assert kills == soak.planned(24, options, 0) != soak.planned(24, options, 1)
    assert sum((kill.step + 1) % options.every == 0 for kill in kills) >= 6
    assert all(0 < kill.step < options.steps for kill in kills)


def test_what_differs_is_named():
    a, b = ({"opt": {"m": torch.tensor([1.0, x]), "t": 3}} for x in (2.0, 2.0 + 2**-22))
    assert soak.differing(a, a) == []
    assert soak.differing(a, b) == ["/opt/m"]
    assert soak.differing(a, {"opt": {}}) == ["/opt"]
