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
ITERATIONS = 3000  # the iterates that are reported

METHODS = ("hedge", "sgd")
METRICS = ("gap", "average", "instant")  # f(W_3000) - f*, A_3000, ||grad f(W_3000)||^2


def _rows(keys: str, **rows: str) -> dict[str, dict[str, str]]:
    """Rows of a table under the same keys; "~" stands for a blank inside a cell."""
    cells = {name: [cell.replace("~", " ") for cell in row.split()] for name, row in rows.items()}
    return {name: dict(zip(keys.split(), row, strict=True)) for name, row in cells.items()}


# Numbers of the definitions of the objectives.
DEFINITIONS = _rows("g_star l s_c", f2="-0.0763742876 0.0388908730 0.0021279855")

# Table "Initializations used for f1, f2, f3, f4".
INITIALISATION = {
    **_rows("z gap gradient_norm", f1="pi/3 0.5000 0.8660"),
    **_rows("c u v gap gradient_norm", f2="1.4744540 0 -0.0194454 0.5000 1.7408"),
    **_rows("amplitude gap gradient_norm", f3="0.0312463 0.5000 5.6572", f4="0.1743116 0.5000 5.7214"),
}

# Table "objective functions and algorithm constants".
CONSTANTS = _rows(
    "d M beta sigma a eta gamma",
    f1="129 1128.4 8 0.8 0.839792 1.64022e-3 9.03934e-5",
    f2="67 2561.0111 40 3.2 0.707246 2.76268e-4 2.98384e-5",
    f3="64 4224 36 3.2 0.861684 3.73995e-4 2.13919e-5",
    f4="64 4097 33 0.4~sqrt(63) 0.818926 3.87749e-4 2.26616e-5",
)

# Table "Sample means after 3000 iterations over 128 held-out paired replications".
_MEANS = {
    "hedge": _rows(
        "gap average instant",
        f1="1.6630e-4 0.102682 9.8381e-4",
        f2="1.5776e-3 0.630867 3.0460e-2",
        f3="4.6602e-4 0.484976 3.1787e-2",
        f4="4.9071e-4 0.470901 3.2387e-2",
    ),
    "sgd": _rows(
        "gap average instant",
        f1="2.9997e-4 0.103946 2.4296e-3",
        f2="2.0124e-3 0.657793 5.8206e-2",
        f3="9.3061e-4 0.509866 6.3497e-2",
        f4="9.6865e-4 0.496561 6.3931e-2",
    ),
}
RESULTS = {name: {method: _MEANS[method][name] for method in METHODS} for name in CONSTANTS}

# Table "Paired 95% confidence intervals": Black-box + Hedge less SGD, "low,high".
_ENDS = _rows(
    "gap average instant",
    f1="-1.3742e-4,-1.2993e-4 -1.2703e-3,-1.2572e-3 -1.4881e-3,-1.4036e-3",
    f2="-4.4717e-4,-4.2240e-4 -2.7051e-2,-2.6800e-2 -2.8737e-2,-2.6755e-2",
    f3="-4.8450e-4,-4.4468e-4 -2.5019e-2,-2.4761e-2 -3.3071e-2,-3.0348e-2",
    f4="-4.9627e-4,-4.5962e-4 -2.5796e-2,-2.5525e-2 -3.2754e-2,-3.0335e-2",
)
PAIRED = {name: {metric: tuple(ends.split(",")) for metric, ends in row.items()} for name, row in _ENDS.items()}

# The closing summary: percentages by which Black-box + Hedge lowers SGD's means.
REDUCTIONS = _rows(
    "gap average instant", f1="44.6 1.2 59.5", f2="21.6 4.1 47.7", f3="49.9 4.9 49.9", f4="49.3 5.2 49.3"
)

# "all 128 paired replications favor the reduction in all three reported metrics"
FAVOURABLE = {name: dict.fromkeys(METRICS, "128") for name in RESULTS}


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
