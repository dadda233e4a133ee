"""A training log as a picture: what is read, what is drawn, and what is refused."""

import csv
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from attacked import FULL, end, stream
from o2nc.conversions import UntunedConversion
from o2nc.lab.cli.codes import Code
from o2nc.lab.figures.log import Log
from o2nc.lab.figures.training import charts, sentences, stacked, written
from o2nc.oracles import Constant
from o2nc.torch import Converted, Hedged, log

HEADER = "step,groups/0/name,groups/0/weights/adam,groups/0/regret/adam,groups/0/error/adam,groups/0/rate,loss\n"
ROW = "{},all,0.5,{},0.1,0.01,{}\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The log of a run of two groups with two experts each, and what the optimizer reported at its end."""
    path = tmp_path_factory.mktemp("run") / "run.csv"
    torch.manual_seed(0)
    x, y = torch.randn(4, 3, requires_grad=True), torch.randn(5, requires_grad=True)
    groups = [{"params": [x], "name": "matrices"}, {"params": [y], "name": "vectors", "lr": 0.02}]
    opt = Hedged(groups, lr=0.01, experts=("momentum", "adam"), weights="group")
    losses = []
    log(opt, path, every=2, loss=lambda: losses[-1])
    for _ in range(20):
        opt.zero_grad()
        loss = (x**2).sum() + (y**4).sum()
        losses.append(loss.item())
        loss.backward()
        opt.step()
    return path, opt.report(), losses


def test_a_log_is_read(run):
    path, report, losses = run
    found = Log.read(path)
    assert found.steps.tolist() == list(range(2, 21, 2))
    assert found.loss.tolist() == losses[1::2]
    assert [group.name for group in found.groups] == ["matrices", "vectors"]
    for group, last in zip(found.groups, report["groups"], strict=True):
        for kind in ("weights", "regret", "error"):
            assert {name: values[-1] for name, values in getattr(group, kind).items()} == last[kind]
        assert group.rate[-1] == last["rate"]


def test_what_is_drawn(run):
    found = Log.read(run[0])
    drawn = charts(found)
    assert list(drawn) == ["loss", "group-0", "group-1", "rate"]
    lines = {(line.label, line.panel): line for line in drawn["group-0"].lines}
    assert lines.keys() == {(name, panel) for name in ("momentum", "adam") for panel in (0, 1)}
    np.testing.assert_array_equal(lines["adam", 0].y, found.groups[0].weights["adam"])
    np.testing.assert_array_equal(lines["adam", 1].y, found.groups[0].regret["adam"])
    np.testing.assert_array_equal(lines["adam", 1].band, found.groups[0].error["adam"])
    assert [line.label for line in drawn["rate"].lines] == ["matrices", "vectors"]
    assert len(stacked(drawn).subfigs) == 4


def table(tmp_path, rows, header=HEADER):
    path = tmp_path / "run.csv"
    path.write_text(header + "".join(rows))
    return path


def test_a_row_that_was_written_again_counts_and_half_a_row_does_not(tmp_path):
    path = table(tmp_path, [ROW.format(1, 0, 9.0), ROW.format(2, 0, 8.0), ROW.format(2, 0, 7.0), "3,all,0.5"])
    found = Log.read(path)
    assert found.steps.tolist() == [1, 2]
    assert found.loss.tolist() == [9.0, 7.0]
    path.write_text(HEADER + ROW.format(1, 0, 9.0) + ROW.format(2, 0, 8.25).removesuffix("25\n"))
    assert Log.read(path).loss.tolist() == [9.0]  # its last number is cut


def test_numbers_that_are_not_finite_are_left_out_and_counted(tmp_path):
    found = Log.read(table(tmp_path, [ROW.format(1, 0, 9.0), ROW.format(2, "inf", "nan"), ROW.format(3, 2, 8.0)]))
    drawn = charts(found)
    assert drawn["loss"].lines[0].x.tolist() == [1, 3]
    assert drawn["group-0"].lines[1].y.tolist() == [0, 2]
    assert sentences(found)[-1] == "2 numbers of the log are not finite; they are left out."


def test_groups_that_share_a_learner_are_one_up_to_rounding(tmp_path):
    header = HEADER.strip() + "," + HEADER.replace("groups/0", "groups/1").replace("step,", "").replace(",loss", "")
    rows = [f"{t},heads,0.5,{t},0.1,0.01,1.0,vectors,{0.5 + 1.2e-16 * t!r},{t},0.1,0.01\n" for t in (1, 2)]
    assert [group.name for group in Log.read(table(tmp_path, rows, header)).distinct()] == ["heads, vectors"]


def test_a_group_where_all_experts_are_one_direction_has_no_weights(tmp_path):
    log_of = "groups/{0}/name,groups/{0}/directions/muon,groups/{0}/directions/adam,groups/{0}/weights/muon,"
    log_of += "groups/{0}/regret/muon,groups/{0}/rate"
    header = ",".join(["step", log_of.format(0), log_of.format(1)]) + "\n"
    rows = [f"{t},matrices,muon,adam,0.3,{t},0.01,vectors,adam,adam,0.3,{t},0.01\n" for t in (1, 2)]
    found = Log.read(table(tmp_path, rows, header))
    assert [line for line in sentences(found) if "regret" in line] == [
        "matrices: the largest regret is 2, against muon."
    ]
    assert "group-1" not in charts(found)
    assert [line.label for line in charts(found)["rate"].lines] == ["matrices, vectors"]


def test_groups_that_share_a_learner_are_one(tmp_path):
    header = HEADER.strip() + "," + HEADER.replace("groups/0", "groups/1").replace("step,", "").replace(",loss", "")
    rows = [f"{t},heads,0.5,{t},0.1,0.01,1.0,vectors,0.5,{t},0.1,0.01\n" for t in (1, 2)]
    found = Log.read(table(tmp_path, rows, header))
    assert [group.name for group in found.distinct()] == ["heads, vectors"]
    assert [line.label for line in charts(found)["rate"].lines] == ["heads, vectors"]
    assert sentences(found)[1] == "heads, vectors: the largest regret is 2, against adam (standard error 0.1)."


def test_the_mean_of_a_long_loss(tmp_path):
    losses = np.random.default_rng(0).uniform(1, 2, size=150)
    raw, mean = charts(Log.read(table(tmp_path, [ROW.format(t, 0, x) for t, x in enumerate(losses)])))["loss"].lines
    assert mean.label == "mean of the last 3 records"
    np.testing.assert_allclose(mean.y, [losses[max(0, t - 2) : t + 1].mean() for t in range(150)], rtol=1e-12)
    np.testing.assert_allclose(raw.y, losses, rtol=1e-15)


def test_the_log_of_a_conversion(tmp_path):
    x = torch.ones(3, requires_grad=True)
    opt = Converted([x], UntunedConversion(Constant()))
    log(opt, tmp_path / "run.csv")
    for _ in range(3):
        opt.zero_grad()
        (x**2).sum().backward()
        opt.step()
    found = Log.read(tmp_path / "run.csv")
    assert found.steps.tolist() == [1, 2, 3]
    assert list(charts(found)) == ["regret"]
    assert "The log has no loss." in sentences(found)[1]
    assert "`log(opt, 'run.csv', loss=lambda: loss.item())`" in sentences(found)[1]


def test_both_files(run, tmp_path):
    path, report, _ = run
    code, out, _ = end("plot", path, "--out", tmp_path / "picture")
    assert code == Code.DONE
    assert out.splitlines()[-2:] == [f"Picture: {tmp_path / 'picture.png'}", f"Page: {tmp_path / 'picture.html'}"]
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "picture.html").read_text()
    assert not re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(?!data:)', page)  # nothing is loaded
    drawn = json.loads(re.search(r"const charts = (.*?);\nconst drawn", page, flags=re.DOTALL)[1])
    assert list(drawn) == ["chart-loss", "chart-group-0", "chart-group-1", "chart-rate"]
    weights = {trace["name"]: trace["y"][-1] for trace in drawn["chart-group-0"]["data"] if trace["xaxis"] == "x1"}
    assert weights == pytest.approx(report["groups"][0]["weights"], rel=1e-4)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["picture.html", "picture.png"]


def test_names_beside_the_log_and_their_endings(tmp_path):
    path = table(tmp_path, [ROW.format(1, 0, 9.0)])
    found = Log.read(path)
    names = lambda out: [file.name for file in written(found, path, out)]
    assert names(None) == names(tmp_path / "run.png") == names(tmp_path / "run.html") == ["run.png", "run.html"]
    assert names(tmp_path / "a.b") == ["a.b.png", "a.b.html"]


@pytest.mark.parametrize("kind", ["png", "html"])
def test_what_somebody_else_wrote_stays(tmp_path, kind):
    path = table(tmp_path, [ROW.format(1, 0, 9.0)])
    for _ in range(2):  # its own files are written again
        assert end("plot", path)[0] == Code.DONE
    other = tmp_path / f"run.{kind}"
    content = {"png": b"\x89PNG\r\n\x1a\n" + bytes(100), "html": b"<!doctype html><html></html>"}[kind]
    other.write_bytes(content)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    code, _, errors = end("plot", path)
    assert code == Code.USAGE
    assert f"{other} exists and was not written by `o2nc plot`; choose another --out." in errors
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


BAD = {
    "not there": (None, Code.FAILED, "No such file"),
    "empty": (b"", Code.USAGE, "must be a log of `o2nc.torch.log`, with the columns `step`"),
    "another table": (b"a,b\n1,2\n", Code.USAGE, "it has a, b."),
    "no rows": (HEADER.encode(), Code.USAGE, "must have one row at least; it has none."),
    "not text": (b"\xff\xfe\x00step", Code.FAILED, "it is no table of text"),
    "a word": (f"{HEADER}{ROW.format(1, 'much', 2)}".encode(), Code.FAILED, "`groups/0/regret/adam` must hold numbers"),
    "a cell too many": (f"{HEADER}1,2,3,4,5,6,7,8\n{ROW.format(1, 0, 2)}".encode(), Code.FAILED, "row 2 has 8 cells"),
    "an open quote": (f'{HEADER}1,"a'.encode(), Code.FAILED, "it is no table of text"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_log_is_a_sentence(tmp_path, name):
    content, expected, sentence = BAD[name]
    path = tmp_path / "run.csv"
    if content is not None:
        path.write_bytes(content)
    code, _, errors = end("plot", path)
    assert code == expected
    assert sentence in " ".join(errors.split())
    assert "Traceback" not in errors
    assert [file.name for file in tmp_path.iterdir()] == ([] if content is None else ["run.csv"])


def test_a_directory_and_an_empty_name_are_sentences(tmp_path):
    code, _, errors = end("plot", tmp_path)
    assert code == Code.FAILED
    assert "Is a directory" in errors
    assert end("plot", "")[0] == Code.USAGE
    path = table(tmp_path, [ROW.format(1, 0, 9.0)])
    assert end("plot", path, "--out", "")[0] == Code.USAGE
    code, _, errors = end("plot", path, "--out", tmp_path / "nowhere" / "run")
    assert code == Code.USAGE
    assert "is not a directory" in errors


@pytest.mark.parametrize(("loss", "words"), [(3.0, "must be a function"), (lambda: "much", "must return a number")])
def test_a_loss_that_is_none(tmp_path, loss, words):
    x = torch.ones(2, requires_grad=True)
    opt = Hedged([x], lr=0.1)
    x.grad = torch.ones(2)
    with pytest.raises(TypeError, match=f"`loss` {words}"):
        log(opt, tmp_path / "run.csv", loss=loss) and opt.step()


def test_a_loss_may_be_a_tensor_and_not_a_number(tmp_path):
    x = torch.ones(2, requires_grad=True)
    opt, values = Hedged([x], lr=0.1), iter([torch.tensor([2.0], requires_grad=True), math.nan])
    log(opt, tmp_path / "run.csv", loss=lambda: next(values))
    for _ in range(2):
        x.grad = torch.ones(2)
        opt.step()
    with (tmp_path / "run.csv").open(newline="") as file:
        assert [row["loss"] for row in csv.DictReader(file)] == ["2.0", "nan"]


@pytest.mark.parametrize(("kind", "expected"), [("closed", Code.CLOSED_PIPE), ("full", Code.FAILED)])
@pytest.mark.skipif(not Path(FULL).exists(), reason="needs /dev/full")
def test_an_output_that_cannot_be_printed_ends_with_its_code(tmp_path, kind, expected):
    path = table(tmp_path, [ROW.format(1, 0, 9.0)])
    with stream(kind) as nobody:
        code, _, errors = end("plot", path, stdout=nobody)
    assert code == expected
    assert "Traceback" not in errors
    assert (tmp_path / "run.html").exists()


def test_names_of_a_log_are_text_on_the_page(tmp_path):
    """A group or an expert may be called anything: it cannot become markup."""
    name = "</script><b>$title"
    header = HEADER.replace("adam", name)
    path = table(tmp_path, [ROW.format(1, 0, 9.0).replace("all", name)], header)
    written(Log.read(path), path, None)
    page = (tmp_path / "run.html").read_text()
    assert name not in page
    assert "&lt;/script&gt;&lt;b&gt;$title" in page
