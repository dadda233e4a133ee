"""Landscapes: objectives of the library seen on a plane, so that a run can be drawn."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...registry import Registry
from ..objectives import objective
from ..objectives import registry as objectives
from ..objectives.double_well import WELL_SLOPE
from ..objectives.valley import ROTATION

Floats = NDArray[np.float64]

# ``make`` takes nothing and returns a `Landscape`
registry = Registry("landscape")


@dataclass(frozen=True, eq=False)
class Landscape:
    r"""An objective f of the library on the plane through 0 that two orthonormal directions span.

    $$x\mapsto f(x_1u+x_2v),\qquad\nabla=(\langle\nabla f,u\rangle,\langle\nabla f,v\rangle).$$

    A Lipschitz constant of the gradient of f serves its restriction too. ``M`` and ``L`` are those of the restriction.

    Args:
        f: the objective.
        directions: u and v, an array of shape (2, d).
        start: the first point.
        window: the part that is drawn, (left, right, bottom, top), a square.
        M: bound on the range on the plane.
        L: bound on the norm of the gradient on the plane.
        axes: the names of the two coordinates.

    Reference: Numerical Experiments, for f1 to f4.

    >>> f = landscape("f4")
    >>> f.value(f.start).shape, f.gradient(f.start).shape
    ((1,), (2,))
    """

    f: Any
    directions: Floats
    start: Floats
    window: tuple[float, float, float, float]
    M: float
    L: float
    axes: tuple[str, str]

    @property
    def beta(self) -> float | None:
        """The Lipschitz constant of the gradient; None if the landscape has kinks."""
        return getattr(self.f, "beta", None)

    def value_and_gradient(self, x: ArrayLike) -> tuple[Floats, Floats]:
        """f - inf f (f, if it has kinks), of shape (..., 1), and the gradient on the plane, of shape (..., 2)."""
        both = self.f.value_and_gradient if self.beta is None else self.f.gap_and_gradient
        value, gradient = both(np.asarray(x, dtype=float) @ self.directions)
        return value, gradient @ self.directions.T

    def value(self, x: ArrayLike) -> Floats:
        """The height at x, of shape (..., 1)."""
        return self.value_and_gradient(x)[0]

    def gradient(self, x: ArrayLike) -> Floats:
        """The gradient on the plane, of shape (..., 2)."""
        return self.value_and_gradient(x)[1]

    def grid(self, n: int = 60) -> tuple[Floats, Floats, Floats]:
        """The coordinates of an n by n grid of the window, each of shape (n,), and the heights, (n, n).

        >>> x, y, height = landscape("bowl").grid(5)
        >>> height.shape
        (5, 5)
        """
        left, right, bottom, top = self.window
        x, y = np.linspace(left, right, n), np.linspace(bottom, top, n)
        return x, y, self.value(np.stack(np.meshgrid(x, y), axis=-1))[..., 0]


@cache
def landscape(name: str) -> Landscape:
    """The landscape called ``name``.

    Reference: Numerical Experiments, for f1 to f4.

    >>> landscape("f1").axes
    ('x_1', 'y_1')
    >>> landscape("f9")
    Traceback (most recent call last):
        ...
    ValueError: `landscape` must be one of f1, f2, f3, f4, saddle, valley, kinks, bowl; got 'f9'.
    """
    return registry[name].make()


def _add(
    name: str, of: str, span: Any, words: str, M: float | None = None, L: float | None = None, **drawn: Any
) -> None:
    """Register the plane of the objective ``of`` that two coordinates, or two rows, span; M and L are its own."""

    def make() -> Landscape:
        f = objective(of, objectives[of].facts["kind"])
        rows = np.eye(f.d)[list(span)] if isinstance(span, tuple) else span
        return Landscape(f, rows, M=M or f.M, L=L or f.L, **{**drawn, "start": np.asarray(drawn["start"])})

    registry.add(name, make, words)


_PERIODS, _WELLS, _BEND = (-4.0, 4.0, -4.0, 4.0), (-2.0, 2.0, -2.0, 2.0), (-3.0, 3.0, -3.0, 3.0)
_SLOPE = math.exp(-0.5)  # the largest slope of 1 - exp(-s^2 / 2)
_F2: dict[str, Any] = {"span": (0, 3), "axes": ("c", "z_1"), "window": _WELLS}
_F2 |= {"M": 1 + 40.0, "L": math.hypot(WELL_SLOPE, 40 * _SLOPE)}

_add(
    "f1", "f1", (1, 65), "the paper's f1: cosines in rotated coordinates", M=2 * 8.8, L=math.hypot(8, 0.8),
    axes=("x_1", "y_1"), start=(-0.4, 2.6), window=_PERIODS,
)  # fmt: skip
_add("f2", "f2", words="the paper's f2: a double well beside a bowl", start=(1.7, 1.2), **_F2)
_add(
    "f3", "f3", (0, 1), "the paper's f3: two angles of an XY ring", M=2 * (3 + 64), L=math.sqrt(2) * 34,
    axes=("theta_1", "theta_2"), start=(2.4, -1.6), window=_PERIODS,
)  # fmt: skip
_add(
    "f4", "f4", (0, 1), "the paper's f4: a radial well and cosines", M=1 + 128.0, L=32 * math.sqrt(2) + _SLOPE,
    axes=("y_1", "y_2"), start=(1.8, 1.2), window=_PERIODS,
)  # fmt: skip
_add("saddle", "f2", words="the paper's f2, from the saddle between its wells", start=(0.05, 1.0), **_F2)
_add(
    "valley", "f5", ROTATION[[63, 0]], "f5: a narrow valley that bends", M=40.4, L=_SLOPE * math.hypot(40, 40.4),
    axes=("y_64", "y_1"), start=(2.0, 0.2), window=_BEND,
)  # fmt: skip
_add(
    "kinks", "valley", (7, 0), "a bent valley whose walls meet in kinks",
    axes=("x_8", "x_1"), start=(2.0, 0.2), window=_BEND,
)  # fmt: skip
_add(
    "bowl", "bowl", (0, 1), "a piecewise-linear bowl: all curvature in kinks",
    axes=("x_1", "x_2"), start=(0.95, -0.85), window=(-1.2, 1.2, -1.2, 1.2),
)  # fmt: skip
