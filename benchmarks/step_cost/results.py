"""What was measured, as JSON: by the number of threads, and by section, each with the versions it was found with."""

import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any

from .timing import Cost, Costs

PACKAGES = ("torch", "numpy", "pytorch_optimizer", "o2nc")


def versions() -> dict[str, str]:
    """Those of Python and of the packages that are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def store(path: Path, threads: int, section: str, values: Any, **about: Any) -> None:
    """Write a section; the other ones, and those of other numbers of threads, stay."""
    found = load(path)
    found.setdefault(str(threads), {})[section] = {"versions": versions(), **about, "values": rounded(values)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")


def rounded(values: Any) -> Any:
    """Four digits of every number; costs by name.

    >>> rounded({"a": Cost(1.234567, 2.0), "b": 0.333333})
    {'a': {'wall': 1.235, 'cpu': 2.0}, 'b': 0.3333}
    """
    if isinstance(values, Cost):
        return rounded(values._asdict())
    if isinstance(values, dict):
        return {key: rounded(value) for key, value in values.items()}
    return float(f"{values:.4g}")


def costs(found: dict[str, Any], threads: int, section: str) -> dict[str, Costs]:
    """A section with costs, as it was stored; empty if it was not."""
    values = found.get(str(threads), {}).get(section, {}).get("values", {})
    return {title: {name: Cost(**cost) for name, cost in each.items()} for title, each in values.items()}


def curve(found: dict[str, Any], threads: int) -> dict[int, Costs]:
    """The curve over widths, as it was stored."""
    return {int(width): each for width, each in costs(found, threads, "curve").items()}
