"""The speed of two processes: what is printed, and its ratios."""

import subprocess
import sys

import parallel_speed
import pytest

pytestmark = pytest.mark.slow


def test_every_method_has_its_numbers():
    done = subprocess.run(
        [sys.executable, parallel_speed.__file__, "--quick"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")][2:]
    assert [row[0].removeprefix("| ") for row in rows] == list(parallel_speed.METHODS)
    assert rows[0][2] == rows[0][5] == "1.00"


def test_a_ratio_is_of_medians():
    kinds = {"ddp": {"AdamW": (2.0, 3.0), "`Hedged`": (4.0, 4.5)}}
    text = parallel_speed.markdown(kinds, parallel_speed.SMALL)
    assert "| `Hedged` | 512 | 0.50 | 1.50 |" in text
    turns = [[(1.0, 1.0), (9.0, 1.0), (3.0, 1.0)], [(2.0, 3.0), (8.0, 2.0), (4.0, 1.0)]]
    assert parallel_speed.medians(turns, 2) == (2.0, 1.5)
