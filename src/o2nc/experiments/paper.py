r"""The published tables, exactly as printed.

Every number is the string of its printed digits, with ``e-4`` for $\times10^{-4}$, so that its precision is not lost;
`digits` parses it and `agrees` compares to the last printed digit.

>>> RESULTS["f1"]["hedge"]["gap"]
'1.6630e-4'
"""

import math
import re
from decimal import Decimal
from typing import NamedTuple

REPLICATIONS = 128
T_RUN = 20000  # the declared horizon of the constants
ITERATIONS = 3000  # the iterates that are reported
Z = 1.96  # the normal quantile of the paired intervals

METHODS = ("hedge", "sgd")
METRICS = ("gap", "average", "instant")  # f(W_3000) - f*, A_3000, ||grad f(W_3000)||^2

# Numbers of the definitions of the objectives.
DEFINITIONS = {"f2": {"g_star": "-0.0763742876", "l": "0.0388908730", "s_c": "0.0021279855"}}

# Table "Initializations used for f1, f2, f3, f4".
INITIALISATION: dict[str, dict[str, str]] = {
    "f1": {"z": "pi/3", "gap": "0.5000", "gradient_norm": "0.8660"},
    "f2": {"c": "1.4744540", "u": "0", "v": "-0.0194454", "gap": "0.5000", "gradient_norm": "1.7408"},
    "f3": {"amplitude": "0.0312463", "gap": "0.5000", "gradient_norm": "5.6572"},
    "f4": {"amplitude": "0.1743116", "gap": "0.5000", "gradient_norm": "5.7214"},
}

# Table "objective functions and algorithm constants".
CONSTANTS: dict[str, dict[str, str]] = {
    "f1": {
        "d": "129",
        "M": "1128.4",
        "beta": "8",
        "sigma": "0.8",
        "a": "0.839792",
        "eta": "1.64022e-3",
        "gamma": "9.03934e-5",
    },
    "f2": {
        "d": "67",
        "M": "2561.0111",
        "beta": "40",
        "sigma": "3.2",
        "a": "0.707246",
        "eta": "2.76268e-4",
        "gamma": "2.98384e-5",
    },
    "f3": {
        "d": "64",
        "M": "4224",
        "beta": "36",
        "sigma": "3.2",
        "a": "0.861684",
        "eta": "3.73995e-4",
        "gamma": "2.13919e-5",
    },
    "f4": {
        "d": "64",
        "M": "4097",
        "beta": "33",
        "sigma": "0.4 sqrt(63)",
        "a": "0.818926",
        "eta": "3.87749e-4",
        "gamma": "2.26616e-5",
    },
}

# Table "Sample means after 3000 iterations over 128 held-out paired replications".
RESULTS: dict[str, dict[str, dict[str, str]]] = {
    "f1": {
        "hedge": {"gap": "1.6630e-4", "average": "0.102682", "instant": "9.8381e-4"},
        "sgd": {"gap": "2.9997e-4", "average": "0.103946", "instant": "2.4296e-3"},
    },
    "f2": {
        "hedge": {"gap": "1.5776e-3", "average": "0.630867", "instant": "3.0460e-2"},
        "sgd": {"gap": "2.0124e-3", "average": "0.657793", "instant": "5.8206e-2"},
    },
    "f3": {
        "hedge": {"gap": "4.6602e-4", "average": "0.484976", "instant": "3.1787e-2"},
        "sgd": {"gap": "9.3061e-4", "average": "0.509866", "instant": "6.3497e-2"},
    },
    "f4": {
        "hedge": {"gap": "4.9071e-4", "average": "0.470901", "instant": "3.2387e-2"},
        "sgd": {"gap": "9.6865e-4", "average": "0.496561", "instant": "6.3931e-2"},
    },
}

# Table "Paired 95% confidence intervals": Black-box + Hedge less SGD, (low, high).
PAIRED: dict[str, dict[str, tuple[str, str]]] = {
    "f1": {
        "gap": ("-1.3742e-4", "-1.2993e-4"),
        "average": ("-1.2703e-3", "-1.2572e-3"),
        "instant": ("-1.4881e-3", "-1.4036e-3"),
    },
    "f2": {
        "gap": ("-4.4717e-4", "-4.2240e-4"),
        "average": ("-2.7051e-2", "-2.6800e-2"),
        "instant": ("-2.8737e-2", "-2.6755e-2"),
    },
    "f3": {
        "gap": ("-4.8450e-4", "-4.4468e-4"),
        "average": ("-2.5019e-2", "-2.4761e-2"),
        "instant": ("-3.3071e-2", "-3.0348e-2"),
    },
    "f4": {
        "gap": ("-4.9627e-4", "-4.5962e-4"),
        "average": ("-2.5796e-2", "-2.5525e-2"),
        "instant": ("-3.2754e-2", "-3.0335e-2"),
    },
}

# The closing summary: percentages by which Black-box + Hedge lowers SGD's means.
REDUCTIONS: dict[str, dict[str, str]] = {
    "f1": {"gap": "44.6", "average": "1.2", "instant": "59.5"},
    "f2": {"gap": "21.6", "average": "4.1", "instant": "47.7"},
    "f3": {"gap": "49.9", "average": "4.9", "instant": "49.9"},
    "f4": {"gap": "49.3", "average": "5.2", "instant": "49.3"},
}

# "all 128 paired replications favor the reduction in all three reported metrics"
FAVOURABLE: dict[str, dict[str, str]] = {name: dict.fromkeys(METRICS, "128") for name in RESULTS}


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
