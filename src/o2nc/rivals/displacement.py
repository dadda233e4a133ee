"""The contract of a learner that chooses the displacement itself, as the conversions before Algorithm 2 want it."""

from typing import Any, Protocol, runtime_checkable

from ..constants import Nonsmooth
from ..vectors import Vector

State = Any  # a NamedTuple of vectors and scalars


@runtime_checkable
class DisplacementLearner(Protocol):
    """An online learner of displacements: it plays before it may see the sample, then learns from a linear loss.

    The losses are $\\langle s_t,\\Delta\\rangle$, shifted or discounted as the conversion says. An oracle of this
    library plays operators instead, and its losses are neither.

    Reference: the online learning algorithm of Cutkosky, Mehta and Orabona (2023), Algorithm 1.

    >>> from o2nc.rivals import BallOGD
    >>> isinstance(BallOGD(D=0.1, eta=0.01), DisplacementLearner)
    True
    """

    def init(self, x: Vector) -> State:
        """The state before round 1, for displacements like x."""
        ...

    def play(self, state: State) -> Vector:
        """The displacement of the coming round."""
        ...

    def learn(self, state: State, s: Vector) -> State:
        """The state after the sample of this round."""
        ...


def check_is_learner(learner: Any) -> None:
    """Raise unless ``learner`` has the methods of a `DisplacementLearner`."""
    if isinstance(learner, type) or not isinstance(learner, DisplacementLearner):
        raise TypeError(f"`learner` must have the methods `init`, `play` and `learn`; got {learner!r}.")


def discount_and_radius(constants: Nonsmooth, noise: float, spread: float = 1.0) -> tuple[float, float]:
    r"""The minimiser (b, D) of $\frac M{DT}+\nu B\sqrt a+\frac{12r\lambda D^2}{a^2}$, a = 1 - b, nu = ``noise``.

    These are the leading terms of the bounds on the measure of both exponentiated conversions: what the objective can
    fall, the noise and the discounted regret, and the spread of the points that are averaged, where r = ``spread``.

    >>> b, D = discount_and_radius(Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000), 2.0)
    >>> print(f"{b:.4f} {D:.5f}")
    0.9521 0.00457
    """
    M, lam, T = constants.M, spread * constants.lam, constants.T
    a = (2 / (noise * constants.B)) ** (6 / 7) * (24 * lam * M**2 / T**2) ** (2 / 7)
    if a >= 1:
        needed = (24 * lam) ** 0.5 * M * (2 / (noise * constants.B)) ** 1.5
        raise ValueError(f"`T` must be larger than {needed:.1f} for a tuned discount between 0 and 1; got {T}.")
    return 1 - a, (M * a**2 / (24 * lam * T)) ** (1 / 3)
