"""Importing this makes the packages of the examples known."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "examples"))
