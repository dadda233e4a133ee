"""A page to play with: settings become rounds, and rounds a picture. `o2nc play` opens it.

The computation is here and needs no browser; `o2nc.lab.playground.page` draws it and needs the extra ``play``.
"""

from .landscapes import Landscape, landscape
from .methods import Method, Settings
from .noise import Noise
from .program import code
from .rounds import Rounds, ellipse, matrix, radius, run

__all__ = [
    "Landscape",
    "Method",
    "Noise",
    "Rounds",
    "Settings",
    "code",
    "ellipse",
    "landscape",
    "matrix",
    "radius",
    "run",
]
