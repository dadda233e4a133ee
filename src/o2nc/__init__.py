"""Turn any online learner with static regret into an optimizer for stochastic nonconvex problems."""

import importlib
from typing import TYPE_CHECKING, Any

from . import certificates, conversions, directions, learners, noise, online, operators, oracles, sets
from ._minimize import NonfiniteGradientError, minimize
from ._probe import probe
from ._result import Result
from .constants import Nonsmooth, Smooth
from .conversions import NonsmoothConversion, PredictionConversion, SegmentConversion, SmoothConversion
from .estimates import Probes
from .vectors import Blocks

if TYPE_CHECKING:
    from . import rivals as rivals
    from . import stationarity as stationarity

__version__ = "0.2.1"
__all__ = [
    "Blocks",
    "NonfiniteGradientError",
    "Nonsmooth",
    "NonsmoothConversion",
    "PredictionConversion",
    "Probes",
    "Result",
    "SegmentConversion",
    "Smooth",
    "SmoothConversion",
    "certificates",
    "conversions",
    "directions",
    "learners",
    "minimize",
    "noise",
    "online",
    "operators",
    "oracles",
    "probe",
    "rivals",
    "sets",
]


ROOMS = ("lab", "optax", "rivals", "stationarity", "torch")  # imported when they are first asked for
MOVED = ("experiments", "play")  # which say where they are


def __getattr__(name: str) -> Any:
    """A room that is imported when it is first asked for."""
    if name in (*ROOMS, *MOVED):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
