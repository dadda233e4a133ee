"""Noise in the plane, of a declared variance."""

import math
from dataclasses import dataclass

import numpy as np

from ...checks import check_number
from ...registry import Registry
from .landscapes import Floats

# ``make(rng, shape)`` draws independent numbers of mean 0 and variance 1
laws = Registry("noise")
laws.add("signs", lambda rng, shape: rng.choice([-1.0, 1.0], size=shape), "a fair sign")
laws.add("gaussian", lambda rng, shape: rng.standard_normal(shape), "Gaussian")
laws.add(
    "heavy", lambda rng, shape: rng.standard_t(3.0, shape) / math.sqrt(3.0), "Student's t with 3 degrees: heavy tails"
)

# the coordinates with noise
PLACES = {"first": (1.0, 0.0), "second": (0.0, 1.0), "both": (1.0, 1.0)}


@dataclass(frozen=True)
class Noise:
    r"""Noise $\xi$ in the plane with $E\xi=0$ and $E\|\xi\|^2=\sigma^2$, shared equally by the noisy coordinates.

    Args:
        law: "signs", "gaussian" or "heavy".
        sigma: root of the variance; 0 is an exact gradient.
        on: the noisy coordinates: "first", "second" or "both".

    Reference: Assumption 2.

    >>> noise = Noise("signs", sigma=0.5, on="second")
    >>> np.abs(noise(np.random.default_rng(0)))
    array([0. , 0.5])
    """

    law: str = "signs"
    sigma: float = 2.0
    on: str = "second"

    def __post_init__(self) -> None:
        laws[self.law]
        check_number("Noise(sigma=...)", self.sigma)
        if self.on not in PLACES:
            raise ValueError(f"`Noise(on=...)` must be one of {', '.join(PLACES)}; got {self.on!r}.")

    def __call__(self, rng: np.random.Generator) -> Floats:
        """One draw, of shape (2,)."""
        place = np.asarray(PLACES[self.on])
        return self.sigma / math.sqrt(place.sum()) * place * laws[self.law].make(rng, 2)

    @property
    def quiet(self) -> Floats:
        """The coordinates that the projector P keeps: those without noise; the first, if both have it."""
        return np.asarray([0.0, 1.0] if self.on == "first" else [1.0, 0.0])
