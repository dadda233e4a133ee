"""The lower bounds: functions that are as smooth as they say, runs that are what was found, and closed forms."""

import lower_bound
import numpy as np
import pytest

from o2nc import SmoothConversion
from o2nc.oracles import Constant


def test_a_zigzag_is_smooth_and_has_its_gap():
    rng = np.random.default_rng(0)
    for _ in range(20):
        steps = -rng.uniform(0.05, 1.0, size=5)
        slopes = [5.0]
        for dx in steps:
            slopes.append(slopes[-1] + rng.uniform(-1, 1) * dx)
        f = lower_bound.Zigzag(slopes, steps.tolist())
        x = np.linspace(f.knots[0] - 1, 6, 40001)
        value, slope = f(x)
        h = x[1] - x[0]
        np.testing.assert_allclose(np.diff(value) / h, (slope[1:] + slope[:-1]) / 2, atol=h)
        assert np.max(np.abs(np.diff(slope))) <= h * (1 + 1e-9)
        np.testing.assert_allclose(f(np.concatenate([[0.0], np.cumsum(steps)]))[1], slopes, rtol=0, atol=1e-12)
        assert float(f(np.asarray(0.0))[0]) - value.min() == pytest.approx(f.gap, abs=h)
    dips = lower_bound.Zigzag([0.2, 0.2], [-2.0])  # down to slope -0.8 and back
    assert dips.gap == pytest.approx(0.02)
    assert dips(np.linspace(-3, 3, 6001))[0].min() == pytest.approx(dips(np.asarray(0.0))[0] - 0.02, abs=1e-6)


@pytest.mark.parametrize("kind", lower_bound.CONSTANTS)
def test_what_is_found_is_a_run_below_the_bound(kind, monkeypatch):
    monkeypatch.setattr(lower_bound, "GENERATIONS", 30)
    conversion = SmoothConversion(lower_bound.hedge(), lower_bound.CONSTANTS[kind](4))
    best, winner, _ = lower_bound.search(conversion, 4)
    average, gap = lower_bound.run(conversion, winner)
    assert average == pytest.approx(best, rel=1e-9)
    assert gap <= 1 + 1e-9
    assert 1 < best <= min(lower_bound.proved(kind, 4)[1], lower_bound.TRIVIAL)


def test_the_search_comes_near_the_worst_case_of_the_identity(monkeypatch):
    """Four rounds, the sharp step: performance estimation says 1.125."""
    monkeypatch.setattr(lower_bound, "GENERATIONS", 60)
    best, _, _ = lower_bound.search(SmoothConversion(Constant(), lower_bound.sharp(4)), 4)
    assert 1.11 < best <= 1.125 * (1 + 1e-9)


@pytest.mark.slow
def test_worst_cases_in_closed_form():
    pytest.importorskip("PEPit")
    for T in (1, 3):
        assert lower_bound.worst_case(1.0, None, T) == pytest.approx(2 / T, rel=1e-4)
    assert lower_bound.worst_case(0.5, 1.0, 2) == pytest.approx(2.0, rel=1e-4)  # m_1 = 0: twice the first gradient
    assert lower_bound.worst_case(0.5, 1.0, 4) == pytest.approx(1.125, rel=1e-3)


def test_without_pepit_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(lower_bound, "PEPit", None)
    monkeypatch.setattr("sys.argv", ["lower_bound.py"])
    lower_bound.main()
    assert capsys.readouterr().out == "PEPit is not installed; `pip install pepit` or the extra `bench` brings it.\n"
