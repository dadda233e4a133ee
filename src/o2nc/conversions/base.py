"""What may be asked of a conversion: a fresh sample in, a displacement and a new state out, and its theorem."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..certificates import Certificate
from ..registry import Registry
from ..vectors import Vector

State = Any  # a NamedTuple of arrays
Answer = Certificate | str  # a certificate, or the sentence why there is none

registry = Registry("conversion")  # make(oracle) is an example; predictable: no step along the sample of its round

NEEDS = {
    "tau": "the round of its output, before the first round",
    "x": "the point of the sample",
    "r": "a uniform number a round",
    "value": "the value of the objective at the point of the sample",
    "again": "the sample of the last round once more, at the point of this one",
}


class Samples(NamedTuple):
    """What was seen of the samples of a run, one number a replication."""

    first: list[float]  # |s_1|^2
    spread: list[float]  # squared distances of the s_1 from their mean, times n / (n - 1); none if the x_1 differ
    energy: list[float]  # sum of |s_t|^2
    dependence: str = ""  # why the replications are not independent, in words; nothing if they may be


class Conversion(ABC):
    """An optimizer for stochastic nonconvex problems, as a pure function of its state, with its theorem.

    Your own has ``init`` and ``update``. The rest has defaults: one point, no sums, no theorem.

    Reference: Algorithms 1 and 2, seen from outside.

    >>> from typing import NamedTuple
    >>> class NoState(NamedTuple):
    ...     pass
    >>> class Descent(Conversion):
    ...     def init(self, x, *, tau=None):
    ...         return NoState()
    ...     def update(self, s, state, x=None, *, r=None, value=None):
    ...         return -0.1 * s, state
    >>> Descent().certificate(NoState())
    'there is no certificate of Descent'
    """

    @property
    def needs(self) -> frozenset[str]:
        """What must be given besides the sample: "tau" to `init`; "x", "r", "value" and "again" to `update`.

        ``again`` is the gradient of the last round's sample at the point of this round, and in round 1 the mean of
        `batch` samples. Only a conversion that needs it is given it, so only there is it an argument.
        """
        return frozenset()

    @property
    def horizon(self) -> int | None:
        """The number T of rounds that the conversion is made for; None if it may be any."""
        return None

    @property
    def batch(self) -> int:
        """How many samples at the first point make the first ``again``."""
        return 1

    @abstractmethod
    def init(self, x: Vector, *, tau: Any = None) -> State:
        """The state before round 1 at the starting point x; ``tau`` is a round, or an array (..., 1) of rounds."""

    @abstractmethod
    def update(
        self, s: Vector, state: State, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, State]:
        """The displacement from the point where ``s`` was sampled to the next such point, and the new state."""

    def tau(self, u: float, rounds: int) -> int:
        """The round of the output of a run of ``rounds`` rounds, from ``u`` uniform on [0, 1)."""
        return uniform_round(u, rounds)

    @property
    def has_output(self) -> bool:
        """Whether `output` is another point than that of the sample; by default where a round is drawn for it."""
        return "tau" in self.needs

    def output(self, state: State, x: Vector) -> Vector:
        """The point that the theorem is about if tau is the round that is over; ``x`` is where it took its sample."""
        return x

    def sums(self, state: State) -> dict[str, Array]:
        """What was summed over the rounds: "regret", "clipped" and others, (..., 1), and "rounds", (1,)."""
        return {}

    def weights(self, state: State) -> Array | None:
        """The weights of the experts in the next round, (..., K); None if there are none."""
        return None

    def factor(self, state: State) -> Array | float | None:
        """The factor of the learning rate in the next round, (..., 1) or a number; None if there is no such rate."""
        return None

    @property
    def claims(self) -> Any:
        """What is claimed of samples, `o2nc.conversions.evidence.Claims`; None if nothing is."""
        return None

    def theorem(self, regret: float, rounds: int | None = None, **details: Any) -> Answer:
        """The theorem with this regret after ``rounds`` rounds, all unless given."""
        return self.hypothesis()

    def hypothesis(self, rounds: int | None = None) -> str:
        """Why no theorem is about such a conversion, or about this number of rounds; empty if one is."""
        return f"there is no certificate of {type(self).__name__}"

    def certificate(self, state: State) -> Answer:
        """The theorem with the regret that was measured, in one run or in replications."""
        return self.hypothesis() or f"{type(self).__name__} makes no certificate of a run"

    def a_priori(self, x: Vector) -> Answer:
        """The theorem with the regret bound that the oracle states for vectors like x."""
        return self.hypothesis() or f"{type(self).__name__} makes no a-priori certificate"

    def tight(self, state: State, samples: Samples) -> Answer:
        """The tight certificate from the sums of a run and what was seen of its samples."""
        return f"there is no tight certificate of {type(self).__name__}"

    def objection(self, state: State, samples: Samples | None = None) -> str:
        """Which hypothesis of the theorem the run contradicts, in words; nothing if none."""
        return ""


def check_is_conversion(conversion: Any) -> None:
    """Raise unless ``conversion`` is one."""
    if not isinstance(conversion, Conversion):
        hint = " A call of it makes one." if isinstance(conversion, type) else ""
        raise TypeError(f"`conversion` must be an `o2nc.conversions.Conversion`; got {conversion!r}.{hint}")
    if not isinstance(conversion.needs, frozenset) or conversion.needs - set(NEEDS):
        name, names = type(conversion).__name__, ", ".join(NEEDS)
        raise TypeError(f"`{name}.needs` must be a frozenset of names among {names}; got {conversion.needs!r}.")


def check_can_have(conversion: Conversion, offered: frozenset[str], where: str) -> None:
    """Raise unless all that the conversion needs is among what is ``offered``."""
    if missing := sorted(conversion.needs - offered):
        raise ValueError(
            f"{type(conversion).__name__} needs {NEEDS[missing[0]]} (`{missing[0]}`), which {where} cannot give."
        )


def check_knows_output(conversion: Conversion) -> None:
    """Raise if a conversion draws the round of its output and has no number of rounds to draw it from."""
    if "tau" in conversion.needs and conversion.horizon is None:
        name = type(conversion).__name__
        raise ValueError(f"`conversion` must know the number T of its rounds to draw its output; {name} does not.")


def check_given(conversion: Conversion, **given: Any) -> None:
    """Raise unless `update` was given all that the conversion needs."""
    for name, value in given.items():
        if value is None and name in conversion.needs:
            raise ValueError(f"`update` of {type(conversion).__name__} needs {NEEDS[name]}, `{name}`; got None.")


def uniform_round(u: float, T: int) -> int:
    """A round uniform on 1, ..., T, from ``u`` uniform on [0, 1).

    >>> [uniform_round(u, 4) for u in (0.0, 0.3, 0.999)]
    [1, 2, 4]
    """
    check_uniform(u)
    return 1 + int(u * T)


def check_uniform(u: Any) -> None:
    """Raise unless ``u`` is a number in [0, 1).

    >>> check_uniform([0.5])
    Traceback (most recent call last):
        ...
    TypeError: `u` must be a number in [0, 1), one for each call; got a list.
    """
    if isinstance(u, bool) or not isinstance(u, (int, float)):
        raise TypeError(f"`u` must be a number in [0, 1), one for each call; got a {type(u).__name__}.")
    if not 0 <= u < 1:
        raise ValueError(f"`u` must lie in [0, 1); got {u}.")


def as_scalar(value: Any, zero: Array) -> Array:
    """A number or an array as a scalar in the shape of ``zero``; raise if it has another shape."""
    found = _xp.like(value, zero)
    if found.ndim and tuple(found.shape) not in ((1,), tuple(zero.shape[-found.ndim :])):
        raise ValueError(f"A number a replication must have shape {tuple(zero.shape)}; got {tuple(found.shape)}.")
    return found + zero
