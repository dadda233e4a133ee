"""Tables, sentences, `holds` and the exit code of a reproduction say the same of every certificate."""

import copy

import numpy as np
import pytest

from o2nc.certificates import mean_interval
from o2nc.lab.cli.codes import Code
from o2nc.lab.objectives import objective
from o2nc.lab.paper.experiment import Reproduction
from o2nc.lab.paper.findings import compared, failures, verdicts
from o2nc.lab.paper.methods import METHODS, SGD_GRID
from o2nc.lab.paper.numbers import certify, numbers
from o2nc.lab.paper.published import RESULTS
from o2nc.lab.paper.tables import tables
from o2nc.lab.runner.paired import play
from o2nc.lab.runner.statistics import CONFIDENCE
from o2nc.lab.runner.tables import exceeded
from reduced import invoke

SETTINGS = Reproduction(replications=4, iterations=30)


@pytest.fixture(scope="module")
def found():
    """The numbers of a few rounds."""
    records = {name: play(objective(name), list((METHODS | SGD_GRID).values()), range(4), 30) for name in RESULTS}
    return {"settings": SETTINGS.to_dict(), "versions": {}, **numbers(records, 30)}


@pytest.fixture
def broken(found):
    """The same with a bound that lies below what was measured, beyond all errors."""
    again = copy.deepcopy(found)
    tight = again["certificates_by_method"]["f2"]["sgd"]["tight"]
    tight["bound"], tight["interval"], tight["holds"] = 1e-9, [0.0, 1e-8], False
    return again


def column(found):
    """The verdicts of the table of every method."""
    (table,) = (table for table in tables(found) if table.name == "certificates_by_method")
    at = list(table.header).index("holds")
    return {(row[0], row[1]): row[at] for row in table.rows}


def test_every_certificate_holds_by_its_printed_intervals(found):
    every = list(compared(found))
    assert {kind for _, _, kind, _ in every} >= {"tight", "tight_regret", "theorem", "a_priori"}
    for _, _, _, c in every:
        low, high = c["measured_interval"]
        assert low <= c["measured"] <= high
        assert c["holds"] == (low <= (c["interval"] or [c["bound"]])[-1])


def test_the_numbers_of_sgd_on_f4():
    """Its bound is an estimate of the measured value itself, and falls below it by chance."""
    record = play(objective("f4"), [METHODS["sgd"]], range(128), 3000)["sgd"]
    tight = certify(METHODS["sgd"], "f4", record, 3000)["tight"]
    assert exceeded(tight)
    assert tight["holds"]
    average = record.at("average", 3000)
    assert tight["measured_interval"] == pytest.approx(list(mean_interval(average, CONFIDENCE)))
    assert tight["measured"] == pytest.approx(np.mean(average))


def test_what_holds_is_said_everywhere(found):
    assert failures(found) == []
    assert set(column(found).values()) <= {"yes", "within the errors"}
    assert not any("does not hold" in sentence for sentence in verdicts(found))


def test_what_does_not_hold_is_said_everywhere(found, broken, monkeypatch, tmp_path):
    assert failures(broken) == ["tight of sgd on f2"]
    assert [place for place, verdict in column(broken).items() if verdict == "NO"] == [("f2", "SGD")]
    assert "does not hold: tight of sgd on f2" in verdicts(broken)
    for numbers_, code in ((found, Code.NOT_REACHED), (broken, Code.DISAGREES)):
        monkeypatch.setattr(Reproduction, "run", lambda *_, numbers_=numbers_, **__: numbers_)
        assert invoke("reproduce", "--out", tmp_path).exit_code == code
