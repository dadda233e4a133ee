"""The benchmark of worst cases against closed forms of one and two rounds."""

import pytest
import worst_case


@pytest.mark.slow
@pytest.mark.parametrize("a", [1.0, 0.5, 0.2])
def test_one_round_has_a_closed_form(a):
    """m_1 = 0: x moves in round 2 only, so S is T |g|^2, and D >= |g|^2 / 2 enters the bound."""
    pytest.importorskip("PEPit")
    for case in worst_case.CASES:
        if case.played != "anything" and case.r == 0 and not case.any_start:
            _, start, gap, *_ = case.theorem(a)
            for T in (1, 2):
                expected = T / (start + gap / 2)
                assert worst_case.worst_case(case, a, T) == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_the_prediction_loss_attains_the_theorem_in_two_rounds():
    pytest.importorskip("PEPit")
    case = next(case for case in worst_case.CASES if case.prediction)
    assert worst_case.worst_case(case, 1.0, 2) == pytest.approx(1.0, abs=1e-4)


def test_without_pepit_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(worst_case, "PEPit", None)
    worst_case.main((1,))
    assert capsys.readouterr().out == "PEPit is not installed; `pip install pepit` or the extra `bench` brings it.\n"
