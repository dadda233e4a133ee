"""The notebooks run from the first cell to the last, and are stored without outputs."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))
PRINTED = {  # what a reader should see
    "own_oracle": ["KeepOrDrop: regret ", "Constant: regret 0.0"],
    "own_problem": ["Sharp theorem: average squared gradient (a-posteriori)", "AdaGrad: measured "],
    "train_network": ["Hedged: ", "of the test digits", "matrices"],
}


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == sorted(PRINTED)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # of the kernel's own libraries
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path):
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(path.parent)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    text = "".join(output.text for output in outputs if output.output_type == "stream")
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not [words for words in PRINTED[path.stem] if words not in text]
    if path.stem == "train_network":
        share = float(text.split("Hedged: ")[1].split("%")[0])
        assert share > 95
