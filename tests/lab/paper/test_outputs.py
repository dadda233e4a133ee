"""The outputs of a reproduction: numbers, data, the report in a browser, the LaTeX tables in LaTeX, the figures."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import xarray

from o2nc.lab.paper import published as paper
from o2nc.lab.paper.findings import findings
from o2nc.lab.paper.methods import METHODS
from o2nc.lab.paper.numbers import TIGHT, tight_ratios
from o2nc.lab.paper.tables import tables
from o2nc.lab.runner.tables import Table, latex
from reduced import reduced

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished():
    """The directory of the reduced reproduction, and its numbers."""
    out, _ = reduced()
    return out, json.loads((out / "tables.json").read_text())


def test_the_report_is_one_file(finished):
    page = (finished[0] / "report.html").read_text()
    assert not re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(?!data:)', page)
    for table in tables(finished[1]):
        assert f'id="{table.name}"' in page
    assert "a-posteriori" in (finished[0] / "tables.json").read_text()
    for term in ("alignment", "tracker", "drift", "noise"):
        assert term in page


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium on the PATH")
def test_the_report_draws_every_chart_without_an_error(finished):
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--log-level=0",
        "--virtual-time-budget=20000", "--dump-dom", (finished[0] / "report.html").as_uri(),
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    console = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    assert not [line for line in console if "Error" in line or "Uncaught" in line], console
    assert 'data-drawn="6"' in result.stdout
    body = result.stdout[result.stdout.index("<body") :]
    charts = re.findall(r'<div class="chart[^"]*" id="chart-(\w+)"', body)
    assert charts == ["f1", "f2", "f3", "f4", "learner", "learned"]
    assert len(re.findall(r'<path class="js-line"', body)) >= 4 * 16 + 12


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex on the PATH")
def test_the_latex_tables_compile(finished, tmp_path):
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-output-directory", str(tmp_path)]
    result = subprocess.run([*command, str(finished[0] / "tables.tex")], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:]
    assert (tmp_path / "tables.pdf").stat().st_size > 10_000


def test_latex_escapes():
    text = latex([Table("a", "T", "50% of |grad|^2", ["a_b", "x<y"], [["1.5e-4", "#1 & {2}"]])], "Page")
    for part in (r"50\% of $\|\nabla f\|^2$", r"a\_b", "x$<$y", r"$1.5\times10^{-4}$", r"\#1 \& \{2\}"):
        assert part in text


def test_the_markdown_tables_have_equal_rows(finished):
    width = None
    for line in (finished[0] / "tables.md").read_text().splitlines():
        if not line.startswith("|"):
            width = None
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        assert width in (None, cells)
        width = cells


def test_the_figures_are_there(finished):
    for name in ("f1", "f2", "f3", "f4", "learner", "learned"):
        assert (finished[0] / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (finished[0] / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_schema_of_the_tables(finished):
    _, found = finished
    for name in paper.RESULTS:
        assert set(found["results"][name]) == {
            "hedge", "sgd", "frozen", "identity", "projector", "learned", "blind",
            "sharp_identity", "sharp", "sharp_blind", "sharp_stated", "one_run", "sgd_best",
        }  # fmt: skip
        assert found["results"][name]["sgd_best"]["average"] == min(found["sgd_grid"][name].values())
        for method in METHODS:
            assert set(found["results"][name][method]) == {"gap", "average", "instant"}
        for metric in paper.METRICS:
            low, high = found["paired"][name][metric]
            assert low < high
        parts = found["decomposition"][name]
        total = found["results"][name]["sgd"]["gap"] - found["results"][name]["hedge"]["gap"]
        assert parts["tracker"] + parts["prior"] + parts["learning"] == pytest.approx(total, rel=1e-9)
        assert found["certificates"][name]["tight"]["bound"] > 0
        by_method, own = found["certificates_by_method"][name], found["certificates"][name]
        assert by_method["hedge"].items() <= own.items()
        for method in ("sharp_identity", "sharp_stated"):
            assert own[f"a_priori_{method}"] == by_method[method]["a_priori"]
            assert own[f"a_priori_{method}"]["label"] == "a-priori"
        assert own["one_run"] == by_method["one_run"]["one_run"]
        assert own["one_run"]["label"] == "high-probability"
        assert (own["one_run"]["failed"], own["one_run"]["holds"]) == (0, True)
        assert set(found["certificates_by_method"][name]) == set(METHODS)
    for entry in found["agreement"]:
        assert {"table", "cell", "published", "measured", "stderr", "agrees"} <= set(entry)
        assert isinstance(entry["agrees"], bool)
    assert found["settings"]["seed"] == 0
    assert found["versions"]["numpy"] == np.__version__


def test_the_controls_show_what_they_show(finished):
    _, found = finished
    for name in paper.RESULTS:
        percent = found["decomposition"][name]["percent"]
        assert abs(percent["learning"]) < 1e-3
        assert percent["prior"] > 10
        assert found["learner"][name]["largest_move"] < 1e-4
        assert found["results"][name]["projector"]["gap"] < found["results"][name]["hedge"]["gap"]
    words = (finished[0] / "report.html").read_text()
    assert "The learner does not learn" in words
    assert "The gain is the prior&#x27;s" in words


def test_the_learners_learn(finished):
    _, found = finished
    for name, limit, unknown in (("f1", 0.25, 0.4), ("f2", 0.5, 1.0), ("f3", 0.1, 0.5), ("f4", 0.1, 0.4)):
        gap = {method: row["gap"] for method, row in found["results"][name].items()}
        assert gap["learned"] < limit * gap["hedge"]
        assert gap["blind"] < unknown * gap["hedge"] < gap["sgd"]
        parts = found["decomposition_learned"][name]
        assert parts["tracker"] + parts["prior"] + parts["learning"] == pytest.approx(gap["sgd"] - gap["learned"])
        assert parts["intervals"]["learning"][0] > 0
        assert found["learner_learned"][name]["regret"] < 0


def test_the_sharp_constants_pay(finished):
    _, found = finished
    for name, known, unknown in (("f1", 0.2, 0.22), ("f2", 0.3, 0.35), ("f3", 0.55, 0.8), ("f4", 0.57, 0.65)):
        average = {method: row["average"] for method, row in found["results"][name].items()}
        assert average["sharp"] < known * average["hedge"]
        assert average["sharp_blind"] < unknown * average["hedge"]
        assert average["sharp"] < average["sgd_best"]
        for method, limit in (("sharp_identity", 4), ("sharp_stated", 15)):
            stated = found["certificates"][name][f"a_priori_{method}"]
            assert 1 < stated["bound"] / stated["measured"] < limit


def test_the_tight_certificate_is_tight_for_every_method(finished):
    _, found = finished
    for methods in tight_ratios(found).values():
        assert max(methods.values()) < TIGHT
    for methods in found["certificates_by_method"].values():
        for kinds in methods.values():
            low, high = kinds["tight"]["interval"]
            assert low < kinds["tight"]["bound"] < high
    assert "all are within 1.2" in " ".join(findings(found))


def test_the_results_file(finished):
    _, found = finished
    assert (finished[0] / "results.nc").stat().st_size < 100e6
    with xarray.open_dataset(finished[0] / "results.nc") as data:
        assert dict(data.sizes) == {
            "objective": 4, "algorithm": 17, "iteration": 3000, "checkpoint": 7, "replication": 6,
        }  # fmt: skip
        assert data.attrs["seed"] == 0
        assert json.loads(data.attrs["constants"])["f3"]["beta"] == 36
        last = data["gap_mean"].sel(objective="f2", algorithm="hedge", iteration=3000)
        assert float(last) == found["results"]["f2"]["hedge"]["gap"]
        each = data["gap"].sel(objective="f2", algorithm="hedge", checkpoint=3000)
        assert float(each.mean()) == pytest.approx(float(last))
        assert float(each.std(ddof=1)) == pytest.approx(
            float(data["gap_std"].sel(objective="f2", algorithm="hedge", iteration=3000))
        )
        assert np.isnan(data["regret_mean"].sel(algorithm="sgd")).all()
        assert all(data[name].attrs["long_name"] for name in data.data_vars)
