"""The report in a browser, the LaTeX tables in LaTeX, the figures as files."""

import re
import shutil
import subprocess

import pytest

from o2nc.experiments.layout import Table, layout
from o2nc.experiments.markup import latex
from o2nc.experiments.reproduce import reproduce
from o2nc.experiments.settings import Settings


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A tiny run of all outputs: (directory, tables)."""
    out = tmp_path_factory.mktemp("report") / "out"
    return out, reproduce(out, Settings(replications=3, iterations=30), seeds=1, jobs=1)


def test_the_report_is_one_file(finished):
    page = (finished[0] / "report.html").read_text()
    assert not re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(?!data:)', page)
    for table in layout(finished[1]):
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
    assert len(re.findall(r'<path class="js-line"', body)) >= 4 * 14 + 16


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


def test_a_short_run_says_what_it_did_not_reach(finished):
    assert finished[1]["summary"]["not_reached"] == 72
    assert "which this run did not reach" in (finished[0] / "report.html").read_text()
