"""Imports point one way, array libraries are known to one module, and `import o2nc` is light."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import o2nc

PACKAGE, ROOT = Path(o2nc.__file__).parent, Path(__file__).parents[1]
FRONT_ENDS = ("torch", "optax")
DOORS = ("_minimize", "_result", "online")
BELOW_SETS = {"_xp", "checks", "constants", "registry", "vectors", "operators"}
MAY_IMPORT = {
    "_array": set(),
    "_xp": {"_array"},
    "checks": set(),
    "registry": set(),
    "estimates": set(),
    "states": set(),
    "noise": {"checks"},
    "constants": {"checks", "estimates", "noise"},
    "certificates": {"checks", "constants", "noise"},
    "vectors": {"_xp", "checks"},
    "operators": {"_xp", "checks", "vectors"},
    "losses": BELOW_SETS,
    "directions": BELOW_SETS | {"states"},
    "sets": BELOW_SETS,
    "learners": {"_xp", "checks", "registry", "certificates"},
    "oracles": BELOW_SETS | {"states", "losses", "directions", "sets", "learners", "certificates"},
    "conversions": BELOW_SETS | {"states", "losses", "oracles.base", "learners", "directions", "noise", "certificates"},
    "rivals": BELOW_SETS | {"certificates", "conversions.base", "conversions.average", "conversions.coins"},
}


def room(module):
    """The first part of a module's name below the package: its file, or its folder."""
    return module.split(".")[0]


def modules():
    """Every module of the package by name, with its path."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "__init__", path


def names(node, path):
    """What an import statement names, in full: ``o2nc.`` and so on for relative ones."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    package = ["o2nc", *path.relative_to(PACKAGE).parent.parts]
    base = package[: len(package) - node.level + 1] if node.level else []
    module = ".".join([*base, *([node.module] if node.module else [])])
    if node.module is None or module == "o2nc":
        return [f"{module}.{alias.name}" for alias in node.names]
    return [module]


def imports(path, *, top_only=False):
    """The imports of a file: all of them, or those outside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if top_only and isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and id(node) not in inside:
            yield from names(node, path)


def own(found):
    """The imports from the package itself, without its name."""
    return {name.removeprefix("o2nc.") for name in found if name.startswith("o2nc.")}


FILES = dict(modules())


def allowed(target, rooms):
    return any(target == name or target.startswith(f"{name}.") for name in rooms)


@pytest.mark.parametrize("name", [name for name in FILES if room(name) in MAY_IMPORT])
def test_imports_point_one_way(name):
    rooms = MAY_IMPORT[room(name)] | {room(name)}
    wrong = {target for target in own(imports(FILES[name])) if not allowed(target, rooms)}
    assert not wrong, f"{name} must import from {sorted(rooms)} only; it imports {sorted(wrong)}."


@pytest.mark.parametrize("name", [name for name in FILES if room(name) not in ("lab", "__main__")])
def test_the_library_never_imports_its_lab(name):
    assert not {target for target in own(imports(FILES[name])) if room(target) in ("lab", "__main__")}


@pytest.mark.parametrize("name", [name for name in FILES if room(name) not in ("__init__", "lab", "rivals")])
def test_nothing_of_the_library_imports_the_rivals(name):
    assert not {target for target in own(imports(FILES[name])) if room(target) == "rivals"}


@pytest.mark.parametrize("name", ["experiments", "play"])
def test_a_room_that_has_moved_leaves_a_sentence(name):
    with pytest.raises(ModuleNotFoundError, match=f"`o2nc.{name}` is now `o2nc.lab"):
        importlib.import_module(f"o2nc.{name}")
    with pytest.raises(ModuleNotFoundError, match=f"`o2nc.{name}` is now `o2nc.lab"):
        getattr(o2nc, name)


@pytest.mark.parametrize("name", ["lab", "optax", "rivals", "stationarity", "torch"])
def test_a_room_is_there_when_it_is_first_asked_for(name):
    code = f"import sys, o2nc; assert 'o2nc.{name}' not in sys.modules; print(o2nc.{name}.__name__)"
    assert run(code) == [f"o2nc.{name}"]


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("lab.")])
def test_nothing_of_the_lab_imports_the_command_line(name):
    targets = {target for target in own(imports(FILES[name])) if target.startswith("lab.cli")}
    assert name.startswith("lab.cli") or not targets


@pytest.mark.parametrize("name", [name for name in FILES if room(name) in ("online", *FRONT_ENDS)])
def test_a_front_end_sees_the_core_and_never_another(name):
    others = {"lab", "testing", *DOORS, *FRONT_ENDS} - {room(name)}
    assert not {target for target in own(imports(FILES[name])) if room(target) in others}


def test_the_package_itself_imports_no_front_end_and_nothing_of_the_lab():
    above = ("lab", "__main__", *FRONT_ENDS)
    assert not {target for target in own(imports(FILES["__init__"])) if room(target) in above}


@pytest.mark.parametrize("name", FILES)
def test_one_room_knows_the_array_libraries(name):
    """Only _xp imports the compat layer; the core imports no array library, and _xp imports them inside functions."""
    roots = {target.split(".")[0] for target in imports(FILES[name])}
    assert ("array_api_compat" in roots) == (room(name) == "_xp")
    if room(name) in MAY_IMPORT:
        at_top = {target.split(".")[0] for target in imports(FILES[name], top_only=True)}
        assert not at_top & {"numpy", "torch", "jax", "scipy"}
        assert room(name) == "_xp" or not roots & {"numpy", "torch", "jax", "scipy"}


def test_the_reader_of_imports(tmp_path):
    """The test of the tests: relative, absolute and late imports are seen."""
    source = "import a.b\nfrom . import c\nfrom ..d import e\nfrom o2nc import f\ndef g():\n    import numpy\n"
    path = PACKAGE / "oracles" / "imaginary.py"
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.Import, ast.ImportFrom))]
    found = {name for node in nodes for name in names(node, path)}
    assert found == {"a.b", "o2nc.oracles.c", "o2nc.d", "o2nc.f", "numpy"}
    assert own(found) == {"oracles.c", "d", "f"}
    file = tmp_path / "late.py"
    file.write_text("def g():\n    import numpy\nimport math\n")
    assert list(imports(file)) == ["math", "numpy"]
    assert list(imports(file, top_only=True)) == ["math"]
    assert allowed("oracles.base", {"oracles.base"})
    assert not allowed("oracles.hedge", {"oracles.base"})
    assert not allowed("setsuna", {"sets"})


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_import_is_light():
    """`import o2nc` brings numpy, array_api_compat and the standard library, and nothing else: no torch, no extra."""
    code = """
import sys, numpy.random, array_api_compat
before = set(sys.modules)
import o2nc
print(*{m.split('.')[0] for m in set(sys.modules) - before})
"""
    outside = set(run(code)) - set(sys.stdlib_module_names) - {"numpy", "array_api_compat"}
    assert outside == {"o2nc"}


def test_a_run_on_numpy_imports_no_other_array_library():
    code = """
import sys, numpy as np, o2nc
from o2nc.operators import Identity
oracle, constants = o2nc.oracles.Hedge([Identity()]), o2nc.Smooth.paper(M=1.0, beta=1.0, sigma=0.0, T=3)
o2nc.minimize(lambda x, rng: x, np.ones(2), oracle=oracle, constants=constants)
print(*{m.split('.')[0] for m in sys.modules})
"""
    assert not set(run(code)) & {"torch", "jax", "jaxlib", "array_api_strict", "scipy", "typer", "rich", "matplotlib"}


@pytest.mark.parametrize(
    ("package", "name", "front_end", "extra"),
    [("torch", "PyTorch", "torch", "torch"), ("optax", "Optax", "optax", "jax"), ("jax", "JAX", "optax", "jax")],
)
def test_without_its_library_a_front_end_says_what_to_install(package, name, front_end, extra):
    """An entry None in sys.modules is how Python marks a module that cannot be imported."""
    code = f"""
import sys
sys.modules["{package}"] = None
import o2nc
try:
    import o2nc.{front_end}
except ModuleNotFoundError as error:
    print(error)
"""
    assert " ".join(run(code)) == (
        f"`o2nc.{front_end}` needs {name}, which is not installed; `pip install 'o2nc[{extra}]'` brings it."
    )
