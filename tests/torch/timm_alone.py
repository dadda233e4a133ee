"""timm without torchvision. PyPI's torchvision is built for CUDA, and cannot be imported beside a CPU build of torch.

timm reads torchvision when it is imported, for transforms of images, which neither its optimizers nor its models use.
So a stand-in serves: a module that has every name. `make test-all` puts timm by itself into ``build/timm``.
"""

import importlib
import importlib.machinery
import sys
import types
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "build" / "timm"


def load():
    """timm, if need be from its folder and with the stand-in; None if it is not there."""
    if "timm" in sys.modules:
        return sys.modules["timm"]
    try:
        return importlib.import_module("timm")
    except (ModuleNotFoundError, RuntimeError):  # there is none, or its torchvision is for another torch
        for name in [name for name in sys.modules if name.split(".")[0] in ("timm", "torchvision")]:
            del sys.modules[name]
    if not (FOLDER / "timm").is_dir():
        return None
    sys.path.append(str(FOLDER))
    sys.meta_path.insert(0, Finder())
    try:
        return importlib.import_module("timm")
    finally:
        sys.path.remove(str(FOLDER))
        sys.meta_path.pop(0)
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]  # others look whether there is one


class Finder:
    """Finds torchvision, and every module inside it."""

    def find_spec(self, name, path=None, target=None):
        is_it = name.split(".")[0] == "torchvision"
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_it else None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


class StandIn(types.ModuleType):
    """A module in which every name is a class."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {})


class Anything(type):
    """A class in which every name is a word."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name
