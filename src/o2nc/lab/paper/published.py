r"""The published tables, exactly as printed: ``published.toml``.

Every number is the string of its printed digits, with ``e-4`` for $\times10^{-4}$, so that its precision is not lost;
`digits` parses it and `agrees` compares to the last printed digit.

>>> RESULTS["f1"]["hedge"]["gap"]
'1.6630e-4'
"""

import math
import re
import tomllib
from decimal import Decimal
from importlib.resources import files
from typing import Any, NamedTuple

REPLICATIONS = 128
ITERATIONS = 3000  # the iterates that are reported

METHODS = ("hedge", "sgd")
METRICS = ("gap", "average", "instant")  # f(W_3000) - f*, A_3000, ||grad f(W_3000)||^2

_TABLES: dict[str, dict[str, Any]] = tomllib.loads((files(__package__) / "published.toml").read_text(encoding="utf-8"))
DEFINITIONS, INITIALISATION, CONSTANTS = _TABLES["definitions"], _TABLES["initialisation"], _TABLES["constants"]
RESULTS, PAIRED, REDUCTIONS = _TABLES["results"], _TABLES["paired"], _TABLES["reductions"]

# "all 128 paired replications favor the reduction in all three reported metrics"
FAVOURABLE = {name: dict.fromkeys(METRICS, f"{REPLICATIONS}") for name in RESULTS}


class Digits(NamedTuple):
    """A printed number: its value, and half a unit of its last digit (0 if it is exact).

    Reference: Numerical Experiments, the tables.

    >>> Digits(value=0.5, half_unit=5e-05).value
    0.5
    """

    value: float
    half_unit: float


def digits(printed: str) -> Digits:
    r"""The value $x$ of a printed number and the half unit $h$ of its last digit: it stands for $[x-h,x+h]$.

    Whole numbers, ``pi/3`` and ``0.4 sqrt(63)`` are exact.

    Reference: Numerical Experiments, the tables.

    >>> digits("1.6630e-4")
    Digits(value=0.0001663, half_unit=5e-09)
    >>> digits("4224")
    Digits(value=4224.0, half_unit=0.0)
    >>> digits("0.4 sqrt(63)")
    Digits(value=3.174901573277509, half_unit=0.0)
    """
    if printed == "pi/3":
        return Digits(math.pi / 3, 0.0)
    if match := re.fullmatch(r"(\d+\.\d+) sqrt\((\d+)\)", printed):
        return Digits(float(match[1]) * math.sqrt(int(match[2])), 0.0)
    if not re.fullmatch(r"-?\d+(\.\d+(e-?\d+)?)?", printed):
        raise ValueError(f"`printed` must be a number as the paper prints it; got {printed!r}.")
    number = Decimal(printed)
    exponent = int(number.as_tuple().exponent)
    return Digits(float(number), float(Decimal(5).scaleb(exponent - 1)) if "." in printed else 0.0)


def agrees(printed: str, value: float) -> bool:
    r"""Whether ``value`` rounds to the printed digits, $|value-x|\le h$ up to a relative rounding of 1e-12.

    Reference: Numerical Experiments, the tables.

    >>> agrees("0.839792", 0.8397916408), agrees("0.839792", 0.8397926)
    (True, False)
    """
    x, half_unit = digits(printed)
    return abs(value - x) <= half_unit + 1e-12 * abs(x)
