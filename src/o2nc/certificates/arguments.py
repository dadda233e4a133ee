"""The checks that the certificates make of their arguments; exact fractions pass unchanged."""

import math
from collections.abc import Iterable
from fractions import Fraction

from ..checks import check_number
from ..constants import Nonsmooth, PaperSmooth, SmoothConstants


def check_size(name: str, value: float, *, positive: bool = False) -> None:
    """Raise unless ``value`` is a finite number or fraction >= 0 (> 0 if ``positive``).

    >>> check_size("sigma", -1.0)
    Traceback (most recent call last):
    ValueError: `sigma` must be finite and nonnegative; got -1.0.
    """
    check_number(name, float(value) if isinstance(value, Fraction) else value, positive=positive)


def check_sizes(**sizes: float) -> None:
    """Raise unless all are finite numbers or fractions >= 0.

    >>> check_sizes(M=1.0, beta=-2.0)
    Traceback (most recent call last):
    ValueError: `beta` must be finite and nonnegative; got -2.0.
    """
    for name, value in sizes.items():
        check_size(name, value)


def check_known(constants: SmoothConstants | Nonsmooth) -> None:
    """Raise unless the constants are known: a bound made of estimates is none.

    >>> from o2nc import Probes, Smooth
    >>> check_known(Smooth.estimate(Probes(8, (0.0, 1.0), (1.0, 1.0), (0.0, 0.0), (1.0, 1.0)), T=10))
    Traceback (most recent call last):
    ValueError: `constants` must be known for a certificate; practical: the constants were estimated from 8 samples at 2 points.
    """  # noqa: E501
    if constants.practical:
        raise ValueError(f"`constants` must be known for a certificate; {constants.practical}.")


def check_paper(constants: PaperSmooth) -> None:
    """Raise unless the constants are known and those of the paper, for which its Theorem 1 is.

    >>> from o2nc import Smooth
    >>> check_paper(Smooth(gap=1.0, beta=1.0, sigma=0.0, T=10))
    Traceback (most recent call last):
    TypeError: `constants` must be Smooth.paper(M, beta, sigma, T) for Theorem 1; got Smooth(gap=1.0, beta=1.0, sigma=0.0, T=10), which `theorem_sharp` is for.
    """  # noqa: E501
    if not isinstance(constants, PaperSmooth):
        hint = ", which `theorem_sharp` is for" if isinstance(constants, SmoothConstants) else ""
        raise TypeError(f"`constants` must be Smooth.paper(M, beta, sigma, T) for Theorem 1; got {constants!r}{hint}.")
    check_known(constants)


def check_finite(name: str, value: float) -> None:
    """Raise unless ``value`` is a finite number or fraction of either sign.

    >>> check_finite("regret", float("nan"))
    Traceback (most recent call last):
    ValueError: `regret` must be finite; got nan.
    """
    if not is_number(value):
        raise TypeError(f"`{name}` must be a number; got {value!r}.")
    if not math.isfinite(value):
        raise ValueError(f"`{name}` must be finite; got {value}.")


def is_number(value: object) -> bool:
    """Whether ``value`` is one number or fraction.

    >>> is_number(0.5), is_number([0.5]), is_number(True)
    (True, False, False)
    """
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def replicated(name: str, values: Iterable[float]) -> list[float]:
    """``values`` as a list of finite floats, one a replication.

    >>> replicated("Q", [1, 2.5])
    [1.0, 2.5]
    """
    try:
        numbers = [float(value) for value in values]
    except TypeError:
        raise TypeError(f"`{name}` must hold one number for each replication; got {values!r}.") from None
    if not numbers:
        raise ValueError(f"`{name}` must hold at least 1 replication; got 0.")
    for number in numbers:
        check_finite(name, number)
    return numbers


def same_length(**sums: Iterable[float]) -> list[list[float]]:
    """The sums as lists of one length, one number for each replication.

    >>> same_length(Q=[1.0, 2.0], N=[3.0])
    Traceback (most recent call last):
    ValueError: All sums must hold the same number of replications; got `Q` 2, `N` 1.
    """
    lists = {name: replicated(name, values) for name, values in sums.items()}
    if len({len(values) for values in lists.values()}) > 1:
        lengths = ", ".join(f"`{name}` {len(values)}" for name, values in lists.items())
        raise ValueError(f"All sums must hold the same number of replications; got {lengths}.")
    return list(lists.values())
