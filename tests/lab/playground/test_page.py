"""The page without a browser: its widgets, what they draw, and where its server listens."""

import socket
import sys

import numpy as np
import pytest

pn = pytest.importorskip("panel", reason="the page needs the extra lab")

from o2nc.lab.playground import Method, run  # noqa: E402
from o2nc.lab.playground.page import HOST, Page, server  # noqa: E402

SMALL = 20  # rounds


@pytest.fixture
def page():
    made = Page(is_dark=False)
    made.T.value = SMALL
    return made


def path(page, name="A"):
    return np.stack([page.runs[name].path.data[axis] for axis in "xy"], axis=-1)


def test_the_points_are_those_of_the_runs(page):
    for name, controls in page.controls.items():
        np.testing.assert_array_equal(path(page, name), run(page.settings, controls.method).x)


def test_what_both_share_changes_both_pictures(page):
    changes = {"landscape": "f2", "law": "gaussian", "sigma": 5.0, "on": "both", "seed": 5}
    for widget, value in changes.items():
        before = {name: path(page, name) for name in "AB"}
        getattr(page, widget).value = value
        for name in "AB":
            assert not np.array_equal(path(page, name), before[name]), widget


def test_a_control_of_a_method_changes_its_picture_alone(page):
    before = {name: path(page, name) for name in "AB"}
    page.controls["B"].step.value = 0.5
    assert np.array_equal(path(page, "A"), before["A"])
    assert not np.array_equal(path(page, "B"), before["B"])


def test_rounds_are_shown_one_by_one(page):
    page.player.value = 7
    assert len(path(page)) == 7
    assert page.player.label == "round 7 of 20"
    assert page.runs["A"].here.data["x"] == page.runs["A"].rounds.x[6, 0]
    edge = np.stack([page.runs["B"].shape.data[axis] for axis in "xy"]) - page.runs["B"].rounds.x[6][:, None]
    np.testing.assert_allclose(np.linalg.norm(edge, axis=0), 0.8)  # B plays the identity


def test_settings_that_do_not_go_together_are_a_sentence_and_then_gone(page):
    controls = page.controls["A"]
    controls.set.value = "box"
    assert controls.sentence.visible
    assert controls.sentence.object.startswith("`AdaHedge(experts=...)` must be a sequence of operators")
    assert not len(path(page, "A"))
    assert len(path(page, "B")) == SMALL
    assert '"A"' not in page.text.value
    controls.set.value = "hull"
    assert not controls.sentence.visible
    assert len(path(page, "A")) == SMALL


def test_the_step_is_that_of_the_conversion(page):
    controls = page.controls["A"]
    controls.loss.value = "linear"
    controls.conversion.value = "sgd"
    assert controls.method == Method("sgd", step=0.01)
    assert len(path(page)) == SMALL
    assert "no certificate: there is no certificate of SGD" in controls.certificate.object
    controls.conversion.value = "smooth"
    assert controls.step.value == 1.0


def test_the_certificate_is_drawn_at_its_bound(page):
    span, certificate = page.charts.bounds["A"], page.runs["A"].rounds.result.certificate
    assert span.location == certificate.bound
    low, high = page.charts.measured.y_range.start, page.charts.measured.y_range.end
    assert low < min(page.runs["A"].rounds.measured.min(), certificate.bound)
    assert high > max(page.runs["A"].rounds.measured.max(), certificate.bound)


@pytest.fixture
def address():
    made = server()
    yield made.port
    made.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is not this machine")
def test_the_server_listens_on_one_address_of_this_machine(address):
    socket.create_connection((HOST, address), timeout=5).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", address), timeout=5)
