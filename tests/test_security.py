"""SECURITY.md: what the source never imports and never calls."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "o2nc").rglob("*.py"))
MODULES = {
    *("pickle", "marshal", "shelve", "dill", "cloudpickle", "ctypes"),
    *("socket", "ssl", "http", "urllib", "urllib3", "requests", "ftplib", "smtplib", "asyncio", "webbrowser"),
    *("subprocess", "multiprocessing", "pty", "runpy", "code"),
}
CALLS = {
    *("eval", "exec", "compile", "__import__"),
    *("os.system", "os.popen", "torch.load", "np.load", "numpy.load", "joblib.load", "np.fromfile"),
}


def forbidden(text):
    """What a source imports or calls that it must not."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {(node.module or "").split(".")[0]} & MODULES
        elif isinstance(node, ast.Call):
            found |= {ast.unparse(node.func)} & CALLS
            found |= {k.arg for k in node.keywords if k.arg == "allow_pickle" and ast.unparse(k.value) != "False"}
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_the_source_does_what_the_page_says(path):
    allowed = {"socket"} if path.relative_to(ROOT / "src").as_posix() == "o2nc/lab/playground/page.py" else set()
    assert forbidden(path.read_text(encoding="utf-8")) == allowed


@pytest.mark.parametrize(
    "text", ["import pickle", "from urllib.request import urlopen", "eval('1')", "np.load(f, allow_pickle=True)"]
)
def test_what_is_forbidden_is_found(text):
    assert forbidden(text)


def test_an_array_of_a_cell_is_read_without_pickle():
    store = (ROOT / "src" / "o2nc" / "lab" / "runner" / "store.py").read_text(encoding="utf-8")
    assert "read_array(io.BytesIO(entry), allow_pickle=False)" in store


def test_the_page_names_what_is_never_used():
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for name in ("pickle", "socket", "urllib", "subprocess", "eval", "exec", "torch.load", "numpy.load"):
        assert f"`{name}`" in page
