"""Checks of arguments, which raise sentences: which argument, which rule, what was given."""

import difflib
import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
LARGEST = 1e30  # of what is declared of an objective: what theorems make of such numbers stays within float64
SYNONYMS = (
    ("lr", "learning_rate", "rate", "step_size", "alpha"),
    ("weight_decay", "wd", "decay", "lambda"),
    ("betas", "beta", "b1", "momentum", "beta1", "beta2", "b2"),
    ("eps", "epsilon"),
    ("experts", "expert", "directions", "optimizers"),
)


def brief(value: Any) -> str:
    """``value`` as an error message shows it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_number(name: str, value: float, *, positive: bool = False) -> None:
    """Raise unless ``value`` is a finite number >= 0 (> 0 if ``positive``)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"`{name}` must be a number; got {value!r}.")
    if not 0 <= value <= sys.float_info.max or (positive and value == 0):  # `math.isfinite` fails for large integers
        rule = "positive" if positive else "nonnegative"
        raise ValueError(f"`{name}` must be finite and {rule}; got {brief(value)}.")


def check_size(name: str, value: float) -> None:
    """Raise if a number is so large or so small that a theorem's products of some such numbers may leave float64.

    A product that is too large is infinite, and one that is too small is 0, which nobody sees.

    >>> check_size("M", 1e-300)
    Traceback (most recent call last):
        ...
    ValueError: `M` must be 0 or lie between 1e-30 and 1e+30 in size; got 1e-300.
    """
    if isinstance(value, (int, float)) and 0 < abs(value) < math.inf and not 1 / LARGEST <= abs(value) <= LARGEST:
        raise ValueError(
            f"`{name}` must be 0 or lie between {1 / LARGEST:g} and {LARGEST:g} in size; got {brief(value)}."
        )


def check_share(name: str, value: Any) -> None:
    """Raise unless ``value`` is a number that is at least 0 and less than 1.

    >>> check_share("mu", 1.0)
    Traceback (most recent call last):
        ...
    ValueError: `mu` must be at least 0 and less than 1; got 1.0.
    """
    check_number(name, value)
    if value >= 1:
        raise ValueError(f"`{name}` must be at least 0 and less than 1; got {value}.")


def check_decay(name: str, lr: float, weight_decay: float) -> None:
    """Raise unless less than all of a weight decays in a step with the learning rate ``lr``.

    >>> check_decay("lr", 4.0, 0.5)
    Traceback (most recent call last):
        ...
    ValueError: `lr` times `weight_decay` must be less than 1, or a step forgets the weights; got 4.0 times 0.5.
    """
    if lr * weight_decay >= 1:
        raise ValueError(
            f"`{name}` times `weight_decay` must be less than 1, or a step forgets the weights; got {lr} times "
            f"{weight_decay}."
        )


def check_numbers(name: str, values: Any) -> tuple[float, ...]:
    """The values as floats; raise unless they are finite numbers. Letters and bytes are none.

    >>> check_numbers("gamma", b"12")
    Traceback (most recent call last):
        ...
    TypeError: `gamma` must be a sequence of numbers; got b'12'.
    """
    try:
        numbers = tuple(float(value) for value in values)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"`{name}` must be a sequence of numbers; got {values!r}.") from error
    if isinstance(values, (str, bytes)):
        raise TypeError(f"`{name}` must be a sequence of numbers; got {values!r}.")
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"`{name}` must be finite; got {values!r}.")
    return numbers


def check_seed(seed: Any) -> None:
    """Raise unless ``seed`` is a nonnegative whole number."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"`seed` must be a nonnegative whole number; got {seed!r}.")


def check_horizon(T: int, name: str = "T") -> None:
    """Raise unless ``T`` is a whole number >= 1."""
    if isinstance(T, bool) or not isinstance(T, int):
        raise TypeError(f"`{name}` must be a whole number; got {T!r}.")
    if T < 1:
        raise ValueError(f"`{name}` must be at least 1; got {T}.")
    if T > LARGEST:
        raise ValueError(f"`{name}` must be at most {LARGEST:g}; got {brief(T)}.")


def check_known(what: str, given: Iterable[Any], known: Iterable[str], error: type[Exception] = ValueError) -> None:
    """Raise ``error`` unless all names that are given are known; the sentence has the nearest.

    >>> check_known("`Hedged`", ["learning_rate"], ["lr", "eps"])
    Traceback (most recent call last):
        ...
    ValueError: `Hedged` must have known options; got 'learning_rate', and the nearest is 'lr'.
    """
    known = tuple(known)
    for name in (str(name) for name in given if name not in known):
        alike = [other for names in SYNONYMS if name in names for other in names if other in known]
        near = alike or difflib.get_close_matches(name, known, 1)
        hint = f"the nearest is {near[0]!r}" if near else f"there are {', '.join(known)}"
        got = f"{'the unexpected keyword argument ' if error is TypeError else ''}{name!r}"
        raise error(f"{what} must have known options; got {got}, and {hint}.")


def known_keywords(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator: the function, which answers a keyword that it has not with a sentence.

    >>> known_keywords("`double`")(lambda size: 2 * size)(sizes=1)
    Traceback (most recent call last):
        ...
    TypeError: `double` must have known options; got the unexpected keyword argument 'sizes', and the nearest is 'size'.
    """

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        known = tuple(name for name in inspect.signature(function).parameters if name != "self")

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            check_known(what, kwargs, known, TypeError)
            return function(*args, **kwargs)

        return call

    return decorated
