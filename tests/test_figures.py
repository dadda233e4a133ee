"""Every figure can be read to its borders: nothing is cropped, and no words are on others."""

import importlib.util
import json
import re
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

import figures
from o2nc.lab import playground
from o2nc.lab.figures.log import Log
from o2nc.lab.figures.training import charts, stacked, written
from o2nc.lab.nonsmooth.experiment import NonsmoothExperiment
from o2nc.lab.paper.experiment import Reproduction
from o2nc.lab.runner.charts import Chart, Line, figure, write_figure
from o2nc.lab.runner.records import merge
from test_docs import ROOT
from test_docs import charts as of_tables

ASSETS = sorted((ROOT / "docs" / "assets").rglob("*.png"))
RESULTS = ROOT / "benchmarks" / "results"
LONG = "model.transformer.layers.11.attention.output.projection.weight"


def nothing_wrong(found):
    """Nothing is, and something was looked at."""
    assert found
    assert not {name: faults for name, faults in found.items() if faults}


def runs_of(experiment):
    """Its records as the store would give them."""
    found = {}
    for cell in experiment.cells():
        for name, record in cell.run().items():
            found.setdefault(cell.group, {}).setdefault(cell.objective, {}).setdefault(name, []).append(record)
    return {
        group: {name: {key: merge(parts) for key, parts in row.items()} for name, row in rows.items()}
        for group, rows in found.items()
    }


def drawn(experiment, folder):
    """The faults of its figures as they are written."""
    runs = runs_of(experiment)
    with figures.watched() as found:
        for name, chart in experiment.charts(runs, experiment.numbers(runs)).items():
            write_figure(folder, name, chart)
    return found


def test_the_checker_sees_what_is_cropped_or_overprinted():
    bare = Figure(figsize=(3, 2))
    assert figures.faults(bare, format="png") == []
    bare.text(0.5, 0.5, "one")
    assert figures.faults(bare, format="png") == []
    bare.text(0.52, 0.52, "two")
    assert figures.faults(bare, format="png") == ["one on the other: 'one', 'two'"]
    cropped = Figure(figsize=(3, 2))
    cropped.text(0.9, 0.5, "a name that is cut")
    assert figures.faults(cropped, format="png") == ["beyond the canvas: 'a name that is cut'", "ink at the right"]
    assert figures.faults(cropped, format="pdf") == ["beyond the canvas: 'a name that is cut'"]
    line = Figure(figsize=(3, 2))
    line.subplots().set_position([0.5, 0.5, 0.5, 0.3])
    assert "ink at the right" in figures.faults(line, format="png")
    one = '<svg viewBox="0 0 90 20" font-size="12"><text x="{}" y="15">four words of text</text></svg>'
    assert figures.svg_faults(one.format(0)) == ["beyond the canvas: 'four words of text'"]


def test_the_figures_of_a_reproduction(tmp_path):
    found = drawn(Reproduction(replications=2, iterations=12), tmp_path)
    assert len(found) == 12
    nothing_wrong(found)


@pytest.mark.slow
def test_the_figures_of_the_nonsmooth_experiment(tmp_path):
    nothing_wrong(drawn(NonsmoothExperiment(replications=2, T=200, horizons=(100, 150, 400)), tmp_path))


@pytest.mark.parametrize("words", ["f1", "a method with a long name, " * 3, LONG, "W" * 300])
@pytest.mark.parametrize(("panels", "n"), [(1, 20), (2, 7), (3, 1)])
def test_a_chart_with_any_names(words, panels, n):
    x = np.arange(1.0, 40.0)
    lines = [Line(x, k + x, f"{words}, {k}", "black", panel) for k in range(n) for panel in range(panels)]
    assert figures.faults(figure(Chart([f"{words}: what is shown"] * panels, lines)), format="png", dpi=80) == []


def test_a_chart_with_named_heights():
    rows = [
        "the bound as it is proved, before anything is replaced",
        *(f"what replaces it, step {k}" for k in range(14)),
    ]
    chart = Chart([""], [Line(np.geomspace(1, 1e4, 15), np.arange(15), "f1", "black")], log=["x"], rows=rows)
    assert figures.faults(figure(chart), format="png", dpi=80) == []


@pytest.mark.parametrize("names", [["all"], ["matrices", "vectors"], [f"{LONG}.{k}" for k in range(9)]])
def test_the_picture_of_a_training_run(names, tmp_path):
    path = tmp_path / "run.csv"
    kinds = [f"{part}/{name}" for part in ("weights", "regret", "error") for name in ("adam", "momentum")]
    columns = [f"groups/{k}/{part}" for k in range(len(names)) for part in ("name", *kinds, "rate")]
    rows = [
        [t, *(cell for k, name in enumerate(names) for cell in (name, *[0.1 * t + k] * 6, 0.01 / (t + k))), 9.0 / t]
        for t in range(1, 60)
    ]
    text = [",".join(map(str, row)) for row in [["step", *columns, "loss"], *rows]]
    path.write_text("\n".join(text) + "\n")
    log = Log.read(path)
    assert len(stacked(charts(log)).subfigs) == len(charts(log))
    with figures.watched() as found:
        written(log, path, None)
    nothing_wrong(found)


def test_the_charts_of_the_pages():
    maker = of_tables()
    pages = [path for path in (ROOT / "docs").glob("*.md") if maker.CHART.search(path.read_text())]
    assert len(pages) > 8
    found = {}
    for path in pages:
        text = maker.on_page_markdown(path.read_text())
        found |= {
            f"{path.name} {k}": figures.svg_faults(svg) for k, svg in enumerate(re.findall("<svg.*?</svg>", text))
        }
    nothing_wrong(found)


@pytest.mark.slow
def test_the_gallery():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "docs" / "gallery.py")
    gallery = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gallery)
    with figures.watched() as found:
        for name in gallery.CASES:
            gallery.png(name)
    assert len(found) == len(gallery.CASES)
    nothing_wrong(found)


@pytest.mark.parametrize("page", ["docs/index.md", "docs/assets/rooms.svg"])
def test_the_drawings(page):
    drawings = re.findall("<svg.*?</svg>", (ROOT / page).read_text(), flags=re.DOTALL)
    nothing_wrong({k: figures.svg_faults(text) for k, text in enumerate(drawings)})


@pytest.mark.parametrize("path", [path for path in ASSETS if path.name != "playground.png"], ids=lambda path: path.stem)
def test_the_stored_pictures(path):
    assert figures.ink_at_a_border(imread(path)) == []


def test_the_figures_of_the_benchmarks(tmp_path):
    import lower_bound
    import optax_step
    import speedrun
    import torch_step
    import variance_reduction
    from ladder import figure as ladder
    from ladder.race import Race
    from networks.run import load as networks
    from pretraining import figure as pretraining
    from pretraining.run import load as curves
    from step_cost import figure as steps
    from step_cost import results

    points = [SimpleNamespace(gradients=10.0**k, average=2.0**-k, bound=3.0**-k) for k in range(6)]
    rows = {
        kind: {T: dict.fromkeys(lower_bound.STYLES, 1 / T) for T in (1, 2, 4, 50)} for kind in lower_bound.CONSTANTS
    }
    with figures.watched() as found:
        ladder.draw(networks(speedrun.OUT), Race(), tmp_path / "speedrun.png")
        pretraining.draw(curves(RESULTS / "language_model.jsonl"), tmp_path / "language-model.png")
        steps.draw(results.curve(results.load(torch_step.OUT), 2), tmp_path / "torch-step.png")
        optax_step.picture(optax_step.curve(results.load(optax_step.OUT)), tmp_path / "optax-step.png")
        variance_reduction.draw(dict.fromkeys(variance_reduction.METHODS, points), tmp_path / "variance-reduction.png")
        lower_bound.draw(tmp_path / "lower-bound.png", rows)
    nothing_wrong(found)


def test_the_picture_of_the_front_page(tmp_path):
    import idea

    points = np.linspace(idea.START, 0, idea.T)
    shown = SimpleNamespace(points=points, gaps=idea.height(points), U=np.eye(2))
    with figures.watched() as found:
        idea.draw({"identity": shown, "learned": shown}, tmp_path / "idea.png")
    nothing_wrong(found)


def shown(code, name, monkeypatch, folder):
    """The faults of the figures that a program shows."""
    monkeypatch.setattr(plt, "show", lambda: None)
    with figures.watched() as found:
        exec(compile(code, name, "exec"), {})
        for number in plt.get_fignums():
            plt.figure(number).savefig(folder / f"{number}.png")
    plt.close("all")
    return found


def test_the_program_of_the_playground(monkeypatch, tmp_path):
    settings = playground.Settings("f4", T=5)
    methods = {name: playground.Method("sgd", step=0.01) for name in "AB"}
    nothing_wrong(shown(playground.code(settings, methods), "program", monkeypatch, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["own_oracle", "own_problem", "train_network"])
def test_the_notebooks(name, monkeypatch, tmp_path):
    cells = json.loads((ROOT / "examples" / "notebooks" / f"{name}.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    nothing_wrong(shown(code, name, monkeypatch, tmp_path))
