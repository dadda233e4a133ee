"""Constants that are derived from others unless they are given."""

from collections.abc import Mapping
from typing import Any

from ..checks import check_number


class Tuned(float):
    """A constant that was derived from the others, not given."""


def fill(constants: Any, tuned: Mapping[str, float]) -> None:
    """Set the fields of a frozen dataclass that are None to what was derived for them, and check all.

    What ``dataclasses.replace`` passes on from other constants is neither given nor derived from these.
    """
    for name, value in tuned.items():
        given = getattr(constants, name)
        if given is None:
            object.__setattr__(constants, name, Tuned(value))
        elif isinstance(given, Tuned) and given != value:
            raise ValueError(
                f"`{name}` must be tuned again for these constants, by {name}=None, or kept, by {name}=float(...); "
                f"got {given:.6g}, which was tuned for others (now {value:.6g})."
            )
        check_number(name, getattr(constants, name), positive=True)
