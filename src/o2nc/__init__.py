"""Turn any online learner with static regret into an optimizer for stochastic nonconvex problems."""

from typing import TYPE_CHECKING, Any

from . import certificates, conversions, directions, learners, noise, online, operators, oracles, rivals, sets
from ._minimize import NonfiniteGradientError, minimize
from ._probe import probe
from ._result import Result
from .constants import Nonsmooth, Smooth
from .conversions import NonsmoothConversion, PredictionConversion, SegmentConversion, SmoothConversion
from .estimates import Probes
from .vectors import Blocks

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    """The room that is imported when it is first asked for."""
    if name == "stationarity":
        import importlib

        return importlib.import_module(".stationarity", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
