"""What can be played, by name: an oracle over a set, a loss, a conversion and its step, all from the registries."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from ...checks import check_horizon, check_number
from ...constants import Nonsmooth, PaperSmooth, Smooth
from ...conversions import Conversion, PredictionConversion, SmoothConversion
from ...conversions.base import registry as conversions
from ...learners.base import NEEDED
from ...operators import Diagonal, Identity
from ...oracles import Constant, Oracle
from ...oracles import registry as oracles
from ...registry import Registry
from ..compare.oracles import learners, operator_sets
from ..runner.names import chosen
from .landscapes import Landscape, landscape
from .noise import Noise

OFFERED = frozenset({"tau", "x", "r"})  # what a run gives to a conversion
STEPS = ("eta", "lr")  # the names of the step of a conversion without constants

tunings = Registry("constants")  # ``make`` takes the landscape, sigma and T
tunings.add(
    "sharp",
    lambda f, sigma, T: Smooth(gap=float(f.value(f.start)[0]), beta=f.beta, sigma=sigma, T=T),
    "the sharp theorem, from the first gap",
)
tunings.add("paper", lambda f, sigma, T: Smooth.paper(f.M, f.beta, sigma, T), "Theorem 1 as printed, from the range M")


@dataclass(frozen=True)
class Settings:
    """What two methods share: the landscape, the noise and the rounds.

    Args:
        landscape: a key of `o2nc.lab.playground.landscapes.registry`.
        noise: the noise of the samples.
        T: how many rounds.
        seed: of the noise and of the coins of the methods.

    Reference: none.

    >>> Settings("f4", T=0)
    Traceback (most recent call last):
        ...
    ValueError: `T` must be at least 1; got 0.
    """

    landscape: str = "f1"
    noise: Noise = field(default_factory=Noise)
    T: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        landscape(self.landscape)
        check_horizon(self.T)

    @property
    def f(self) -> Landscape:
        """The landscape."""
        return landscape(self.landscape)


@dataclass(frozen=True)
class Method:
    """A conversion by name, with its step, its loss, its oracle and the set of the oracle.

    Args:
        conversion: a key of `playable`.
        constants: "sharp" or "paper", for Algorithm 1.
        step: the factor of the step of the theorem; of a conversion without constants, the step itself.
        loss: "linear", "descent" or "prediction".
        kappa: the factor of the descent loss.
        oracle: a key of `players`.
        set: a key of `o2nc.lab.compare.oracles.operator_sets`, for the oracles that learn over one.
        rate: the rate of the oracle; if not given its own, or the tuned one for T rounds.

    Reference: Algorithms 1 and 2.

    >>> Method("smooth", oracle="ogd", set="box").made(Settings()).oracle
    OGD(set=Box(low=0.0, high=1.0), eta=None)
    >>> Method("sgd", step=0.01).made(Settings())
    SGD(eta=0.01)
    """

    conversion: str = "smooth"
    constants: str = "sharp"
    step: float = 1.0
    loss: str = "linear"
    kappa: float = 1.0
    oracle: str = "adahedge"
    set: str = "hull"
    rate: float | None = None

    def made(self, settings: Settings) -> Conversion:
        """The conversion for these settings; raise with a sentence if they do not go together."""
        check_number("step", self.step, positive=True)
        example, given = playable()[self.conversion].make(self._oracle(settings)), dict[str, Any]()
        names = settable(example)
        if "constants" in names:
            given["constants"] = self._constants(example.constants, settings)
        elif step := [name for name in STEPS if name in names]:
            given[step[0]] = self.step
        elif self.step != 1:
            raise ValueError(f"`step` must be 1 for {self.conversion}, which chooses its own; got {self.step:g}.")
        return losses[self.loss].make(dataclasses.replace(example, **given), self.kappa)

    def _oracle(self, settings: Settings) -> Oracle:
        """The oracle; the experts of a hull are I and the projector P onto the coordinate without noise."""
        entry, f = players()[self.oracle], settings.f
        takes, rate = entry.facts.get("rate"), self.rate
        if rate is not None and not takes:
            raise ValueError(f"`rate` must be empty for the oracle {self.oracle}, which has its own; got {rate:g}.")
        if rate is None and takes == NEEDED:
            factor, power = entry.facts.get("tuned", (2, 0.5))
            rate = factor * settings.T**-power
        experts = (Identity(), Diagonal(settings.noise.quiet))
        longest = f.L + settings.noise.sigma  # of a sample, almost surely if the noise is of signs
        return entry.make(operator_sets()[self.set].make(experts, f.start), rate, longest**2)

    def _constants(self, known: Any, settings: Settings) -> Any:
        """The constants of the landscape, of the kind that the conversion takes."""
        f, sigma, T = settings.f, settings.noise.sigma, settings.T
        if isinstance(known, Nonsmooth):
            tuned = Nonsmooth(L=f.L, M=f.M, sigma=sigma, lam=known.lam, T=T)
            return tuned if self.step == 1 else dataclasses.replace(tuned, eta=self.step * float(tuned.eta))
        if f.beta is None:
            raise ValueError(
                f"The landscape {settings.landscape} has kinks, and {self.conversion} needs a smooth one: "
                "choose the conversion nonsmooth, which is Algorithm 2, or one without constants."
            )
        if isinstance(known, PaperSmooth):  # made for these constants alone, with a first phase of its own
            found: Any = tunings["paper"].make(f, sigma, known.T)
        else:
            found = tunings[self.constants].make(f, sigma, T)
        if self.step == 1:
            return found
        if isinstance(found, PaperSmooth):
            raise ValueError(
                f"`step` must be 1 with the constants of the paper, which have no choice; got {self.step:g}."
            )
        return dataclasses.replace(found, a=float(found.a), c=float(found.c) / self.step)


def settable(conversion: Conversion) -> set[str]:
    """The names of what a conversion is made from."""
    return {field.name for field in dataclasses.fields(conversion) if field.init}  # type: ignore[arg-type]


def has_own_step(conversion: str) -> bool:
    """Whether ``step`` of a `Method` with this conversion is the step itself: no theorem derives one.

    Reference: none.

    >>> has_own_step("sgd"), has_own_step("smooth")
    (True, False)
    """
    return bool(settable(playable()[conversion].make(Constant())) & set(STEPS))


def _linear(conversion: Any, kappa: float) -> Conversion:
    return dataclasses.replace(conversion, kappa=0.0) if "kappa" in settable(conversion) else conversion


def _descent(conversion: Any, kappa: float) -> Conversion:
    if "kappa" not in settable(conversion):
        raise ValueError(f"The descent loss needs a conversion with a kappa; {type(conversion).__name__} has none.")
    return dataclasses.replace(conversion, kappa=kappa)


def _predicted(conversion: Any, kappa: float) -> Conversion:
    if type(conversion) is not SmoothConversion:
        raise ValueError(f"The prediction loss needs the conversion smooth; got a {type(conversion).__name__}.")
    return PredictionConversion(conversion.oracle, conversion.constants)


# ``make(conversion, kappa)`` is the conversion with that loss
losses = Registry("loss")
losses.add("linear", _linear, "-<s, U m>, as in the paper")
losses.add("descent", _descent, "with kappa times the curvature term: it sees the noise")
losses.add("prediction", _predicted, "|U m - s|^2 / 2: predict the sample")


def players() -> Registry:
    """The oracles that can be played: those that learn over a set, and the constant one.

    Reference: Algorithm 1 with any oracle.

    >>> "constant" in players() and "adahedge" in players()
    True
    """
    known = {*learners(), "constant"}
    return chosen(oracles, lambda entry: entry.name in known)


def playable() -> Registry:
    """The conversions that can be played: those that get all they need here, with a step or an oracle.

    `PredictionConversion` is not among them: it is the conversion smooth with the prediction loss.

    Reference: Algorithms 1 and 2.

    >>> list(playable())[:4]
    ['adam', 'doubling', 'heavy-ball', 'nonsmooth']
    """

    def has_all(entry: Any) -> bool:
        example = entry.make(Constant())
        known = settable(example) & {"constants", "oracle", *STEPS}
        is_free = example.horizon is None or "constants" in known  # to run for as many rounds as are set
        return example.needs <= OFFERED and bool(known) and is_free and not isinstance(example, PredictionConversion)

    return chosen(conversions, has_all)
