"""Random smooth objectives on which learners are chosen: of the kind of the paper's four, and none of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TAIL = 3.0  # the index of the Pareto law of heavy noise; E rho^2 = 3
BEND = 5.12  # above the largest curvature of 1 - exp(-(s^2 - 1)^2 / 2), 5.117
HORIZON = 20000  # of the paper's rate a
RATES = (0.5, 0.95)  # where a lies; that of the paper's objectives lies between 0.68 and 0.89


@dataclass(frozen=True)
class Shape:
    """A function of one number with values in [0, range], a minimum of 0 at ``bottom``, and |phi''| at most 1."""

    name: str
    phi: Callable[[Floats], tuple[Floats, Floats]]  # the value and the slope
    range: float
    bottom: float = 0.0


def _cosine(s: Floats) -> tuple[Floats, Floats]:
    return 2 * np.sin(s / 2) ** 2, np.sin(s)


def _bowl(s: Floats) -> tuple[Floats, Floats]:
    e = np.expm1(-s * s / 2)
    return -e, s + s * e


def _tanh(s: Floats) -> tuple[Floats, Floats]:
    t = np.tanh(s)
    return t * t / 2, t - t**3


def _wells(s: Floats) -> tuple[Floats, Floats]:
    p = s * s - 1
    e = np.expm1(-p * p / 2)
    return -e / BEND, 2 * s * p * (1 + e) / BEND


SHAPES = (Shape("cosine", _cosine, 2.0), Shape("bowl", _bowl, 1.0), Shape("tanh", _tanh, 0.5),
          Shape("wells", _wells, 1 / BEND, bottom=1.0))  # fmt: skip


@dataclass(frozen=True, eq=False)
class Development:
    r"""$f(x)=\sum_iw_i\varphi(y_i)+c\sum_i(1-\cos(y_{i+1}-y_i))$ in the coordinates $y=Qx$, on a ring.

    $f^*=0$, $\beta=\max_iw_i+4c$ and $M=\sum_iw_i\sup\varphi+2cd$. The noise is $\rho B\epsilon$ with fair signs, in
    the second half of a run with B' in the place of B; $\rho=1$, or Pareto of index 3.
    """

    name: str
    shape: Shape
    weights: Floats  # w
    coupling: float  # c
    Q: Floats
    x: Floats  # the start
    basis: Floats  # orthonormal columns that P keeps
    B: Floats
    B_late: Floats
    heavy: bool = False
    useful: bool = True  # whether P removes the noise and keeps what there is to learn

    d = property(lambda self: len(self.weights))
    beta = property(lambda self: float(self.weights.max()) + 4 * self.coupling)
    M = property(lambda self: self.shape.range * float(self.weights.sum()) + 2 * self.coupling * self.d)
    D = property(lambda self: float(self.value_and_gradient(self.x)[0]))

    @cached_property
    def _axes(self) -> bool:
        return bool(np.array_equal(self.Q, np.eye(self.d)))

    @property
    def sigma(self) -> float:
        """The root of the larger of the variances of the two halves."""
        most = max(float(np.sum(B * B)) for B in (self.B, self.B_late))
        return math.sqrt(most * (TAIL / (TAIL - 2) if self.heavy else 1.0))

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        """f(x), (...,), and the gradient, (..., d)."""
        y = x if self._axes else x @ self.Q.T
        value, slope = self.shape.phi(y)
        value, g = value @ self.weights, slope * self.weights
        if self.coupling:
            ahead = np.roll(y, -1, axis=-1) - y
            value = value + self.coupling * np.sum(2 * np.sin(ahead / 2) ** 2, axis=-1)
            g = g + self.coupling * (np.roll(np.sin(ahead), 1, axis=-1) - np.sin(ahead))
        return value, g if self._axes else g @ self.Q

    def noise(self, rng: np.random.Generator, replications: int, late: bool) -> Floats:
        """Samples of the noise, (replications, d)."""
        B = self.B_late if late else self.B
        epsilon = 2.0 * rng.integers(0, 2, size=(replications, B.shape[1])) - 1.0
        rho = (1 - rng.random((replications, 1))) ** (-1 / TAIL) if self.heavy else 1.0
        return rho * (epsilon @ B.T)


# how a row of the family is made: (name, coordinates, where the noise is, what P keeps, heavy tails)
RECIPES = (
    ("quiet axes", "axes", "some", "rest", False),
    ("noise on nearly all axes", "axes", "most", "rest", False),
    ("noise in a subspace", "rotated", "some", "rest", False),
    ("P and its half", "axes", "some", "half", False),  # P removes the noise and half of what is useful
    ("noise along bowls", "axes", "most", "rest", False),
    ("noise along turned bowls", "rotated", "most", "rest", False),
    ("even noise", "rotated", "all", "half", False),
    ("moving noise", "axes", "moves", "rest", False),
    ("heavy noise", "pairs", "some", "rest", True),  # P removes half of each pair
    ("noise on half of the signal", "axes", "signal", "rest", False),  # P keeps the other half
    ("noise along coupled bowls", "axes", "most", "rest", False),
    ("P keeps the noise", "rotated", "some", "noise", False),
)


def family(count: int = 24, seed: int = 0) -> list[Development]:
    """``count`` objectives, the recipes again and again with other random numbers."""
    return [_made(k, np.random.default_rng([seed, k])) for k in range(count)]


def _made(k: int, rng: np.random.Generator) -> Development:
    name, coordinates, where, kept, heavy = RECIPES[k % len(RECIPES)]
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    d = 2 * round(2 ** (6 * rng.uniform() ** 0.5))  # 2 to 128, large ones more often
    Q = _rotation(coordinates, d, rng)
    axes = np.eye(d) if coordinates == "pairs" else Q.T  # of the noise: those of y, but of x where pairs are turned

    order, h = rng.permutation(d), d // 2
    signals = {"some": h, "most": max(1, d // 32)}.get(
        where, d
    )  # how many coordinates of y start away from the minimum
    direction = np.zeros(d)
    direction[order[:signals]] = rng.choice([-1.0, 1.0], size=signals)
    quiet, halves = order[signals % d :], (order[:h], order[h:])
    noisy, late = {"moves": halves, "signal": (halves[0], halves[0])}.get(where, (quiet, quiet))
    keep = {"rest": np.setdiff1d(order, noisy), "half": order[: max(1, signals // 2)], "noise": noisy}[kept]

    # first unit weights, then the scale of f and that of the noise that make a and beta D / sigma^2 what was drawn
    right = kept == "rest" and where in ("some", "most") and coordinates != "pairs"
    gap = 0.5 if right else 0.5 * 10 ** rng.uniform(0, 1)
    a, ratio = rng.uniform(*RATES), 10 ** (rng.uniform(0, 1) if right else rng.uniform(0.75, 3))
    made: dict[str, Any] = {
        "shape": shape,
        "Q": Q,
        "basis": axes[:, keep],
        "heavy": heavy,
        "x": direction,
        "useful": right,
    }
    made["weights"] = 10 ** rng.uniform(-1, 0, size=d) if rng.random() < 0.5 else np.ones(d)
    made["coupling"] = 1 / 32 if "coupled" in name or rng.random() < 0.25 else 0.0
    one = Development("", B=axes[:, noisy], B_late=axes[:, late], **made)
    scale = a**2 * HORIZON * gap / ratio / one.M
    size = math.sqrt(scale * one.beta * gap / ratio) / one.sigma
    made |= {"weights": scale * made["weights"], "coupling": scale * made["coupling"]}

    start = lambda t: (shape.bottom + t * direction) @ Q
    made["x"] = start(_root(lambda t: scale * float(one.value_and_gradient(start(t))[0]) - gap))
    return Development(f"{k + 1} {name}", B=size * axes[:, noisy], B_late=size * axes[:, late], **made)


def _rotation(coordinates: str, d: int, rng: np.random.Generator) -> Floats:
    if coordinates == "rotated":
        return np.linalg.qr(rng.standard_normal((d, d)))[0]
    Q = np.eye(d)
    if coordinates == "pairs":  # y_i and y_{i + d/2} are turned by 45 degrees
        h = d // 2
        Q[:h, h:], Q[h:, :h] = np.eye(h), -np.eye(h)
        Q *= math.sqrt(0.5)
    return Q


def _root(function: Callable[[float], float]) -> float:
    """The first crossing of zero from below that a walk from 0 meets, by bisection."""
    high = 1e-3
    while function(high) < 0:
        high *= 1.1
    low = high / 1.1
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return high
