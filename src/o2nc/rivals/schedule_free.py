"""Schedule-free SGD, with the interface of the conversions."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..conversions.base import Conversion, check_given, registry
from ..vectors import Vector, check_like, check_vector, leaf, zeros_like


class ScheduleFreeSGDState(NamedTuple):
    """What schedule-free SGD remembers."""

    x: Vector  # the average x_t, the output
    away: Vector  # z_t - x_t
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True)
class ScheduleFreeSGD(Conversion):
    r"""SGD on z, the average x of its points, and the samples at y, between the two.

    $$y_t=(1-\kappa)z_t+\kappa x_t,\qquad z_{t+1}=z_t-\eta s_t,\qquad x_{t+1}=(1-c_t)x_t+c_tz_{t+1},\qquad z_1=x_1.$$

    $c_t=1/t$ makes x the mean of the z; it is what the package ``schedulefree`` has. With a constant c, x is a moving
    average, and this is a conversion by discounted regret: `UpdatesConversion.schedule_free` has the same points.

    The points that are moved are those of the samples, the y. The output is x, in whatever round.

    Args:
        eta: the step size (gamma in the paper).
        kappa: the share of x in y, "momentum" in the package, at least 0 and at most 1.
        c: the share of the newest z in x; None for 1/t.

    Reference: Defazio, Yang, Mehta, Mishchenko, Khaled and Cutkosky, The road less scheduled (2024); for constant c
    Ahn, Magakyan and Cutkosky (2025).

    >>> import numpy as np
    >>> sgd = ScheduleFreeSGD(eta=0.5)
    >>> y = np.asarray([1.0])
    >>> state = sgd.init(y)
    >>> for _ in range(2):
    ...     dy, state = sgd.update(y, state, y)
    ...     y = y + dy
    >>> state.x, y.round(4)
    (array([0.375]), array([0.3625]))
    """

    eta: float
    kappa: float = 0.9
    c: float | None = None

    def __post_init__(self) -> None:
        check_number("ScheduleFreeSGD(eta=...)", self.eta, positive=True)
        for name, value in {"kappa": self.kappa, "c": self.c}.items():
            if value is not None and not (isinstance(value, (int, float)) and 0 <= value <= 1):
                raise ValueError(f"`ScheduleFreeSGD({name}=...)` must be at least 0 and at most 1; got {value!r}.")

    @property
    def needs(self) -> frozenset[str]:
        """The point."""
        return frozenset({"x"})

    @property
    def has_output(self) -> bool:
        """The average is another point than that of the samples."""
        return True

    def init(self, x: Vector, *, tau: Any = None) -> ScheduleFreeSGDState:
        """z_1 = x_1 = y_1."""
        check_vector("x", x)
        return ScheduleFreeSGDState(x=x + zeros_like(x), away=zeros_like(x), t=_xp.first_round(leaf(x)))

    def update(
        self, s: Vector, state: ScheduleFreeSGDState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, ScheduleFreeSGDState]:
        """A step of z against the sample at y_t = ``x``, and z into the average."""
        check_given(self, x=x)
        check_like("s", s, state.x)
        c = 1 / _xp.like(state.t, leaf(s)) if self.c is None else self.c
        ahead = state.away - self.eta * s  # z_{t+1} - x_t
        away = ahead * (1 - c)
        dx = ahead * c - (1 - self.kappa) * state.away  # x_{t+1} - y_t, for y_t = x_t + (1 - kappa) (z_t - x_t)
        return dx + (1 - self.kappa) * away, ScheduleFreeSGDState(x=x + dx, away=away, t=state.t + 1)

    def output(self, state: ScheduleFreeSGDState, x: Vector) -> Vector:
        """The average."""
        return state.x


registry.add("schedule-free-sgd", lambda oracle: ScheduleFreeSGD(eta=0.1), "SGD, its average, samples between")
