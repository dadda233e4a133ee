"""Algorithm 1: smooth nonconvex optimization by static regret."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from .. import _xp
from ..certificates import Certificate, clipped_step, one_run, theorem1, theorem_sharp, theorem_sharp_clipped, tight
from ..certificates.declared import SQUARES, Descent, energy_objection
from ..checks import check_number
from ..constants import PaperSmooth, Smooth, SmoothConstants
from ..constants.rates import is_too_small
from ..losses import DescentLoss, LinearLoss, Loss
from ..noise import HeavyTailed
from ..operators import act
from ..oracles.base import Oracle
from ..vectors import Scalar, Vector, check_like, project_ball
from .base import Answer, Samples, registry
from .evidence import Claims
from .tracked import Tracked, TrackedConversion, checked, first_round, one_round

UNCLIPPED = "this certificate is about samples that are not clipped"


@dataclass(frozen=True, eq=False)
class SmoothConversion(TrackedConversion):
    r"""Algorithm 1: the oracle's operator turns the tracker into the step.

    $$x_{t+1}=x_t-\eta U_tm_t,\qquad m_{t+1}=\Pi_{\|m\|\le G_0}((1-a)m_t+as_t),\qquad
      L_t(U)=-\tfrac1G\langle s_t,Um_t\rangle.$$

    Args:
        oracle: the online learner.
        constants: `Smooth`, which derives a and eta by the sharp theorem, or `Smooth.paper`, as in the paper. Without
            the range M there is no projection, and G = 1.
        kappa: 0 for the paper's linear loss; up to c/a for the descent loss, which sees the noise.

    Its theorem is the sharp one; with the constants of the paper and kappa <= 1 it is Theorem 1 as printed there.

    Reference: Algorithm 1, Theorem 1, and the sharp theorem in the theory pages.

    >>> import numpy as np
    >>> from o2nc import Smooth
    >>> from o2nc.oracles import Constant
    >>> conversion = SmoothConversion(Constant(), Smooth.paper(M=2.0, beta=1.0, sigma=0.0, T=10))
    >>> x = np.asarray([3.0])
    >>> state = conversion.init(x)
    >>> dx, state = conversion.update(np.sin(x), state)  # m_1 = 0: the first round only fills the tracker
    >>> dx, state = conversion.update(np.sin(x), state)
    >>> print(f"{dx[0]:.6f}")
    -0.002205
    """

    oracle: Oracle
    constants: SmoothConstants
    kappa: float = 0.0
    at_x: ClassVar[bool] = True  # samples at x_t and one rate a for all rounds, as the certificate of one run has them

    def __post_init__(self) -> None:
        super().__post_init__()
        check_smooth(self.constants)
        if self.constants.noise is not None and not self.at_x:
            raise ValueError(
                f"`noise` of the constants must be None for {type(self).__name__}: the certificate of one run is about "
                f"samples at x_t and one rate a; got {self.constants.noise}."
            )
        check_number("kappa", self.kappa)
        if is_too_small(most := self.constants.c / self.constants.a, self.kappa):
            raise ValueError(f"`kappa` must be at most c/a = {most:.6g}; got {self.kappa}.")

    def init(self, x: Vector, *, tau: Any = None) -> Any:
        """m_1 = 0."""
        return first_round(self.oracle, x, self.claims, self.mark)

    def update(
        self, s: Vector, state: Any, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, Any]:
        """One round; ``s`` is a fresh sample of the gradient at x_t. Nothing else is used."""
        if isinstance(noise := self.constants.noise, HeavyTailed):
            check_like("s", s, state.m)
            s = project_ball(s, noise.R)[0]
        return self.step(s, state, float(self.constants.a), self.constants.eta)

    def step(self, s: Vector, now: Tracked, a: Scalar, eta: Scalar) -> tuple[Vector, Tracked]:
        """A round of Algorithm 1 with these rates."""
        check_like("s", s, now.m)
        now = self.marked(now)
        Um = act(self.oracle.play(now.oracle, now.m), now.m)  # line 3
        loss, dx = self.loss(s, now.m, eta), Um * -eta  # lines 5, 6
        watch = partial(self.watched, now, s, None)
        return dx, one_round(self.oracle, now, loss, Um, a, self.constants.G0, watch)  # line 7

    def loss(self, s: Vector, m: Vector, eta: Scalar) -> Loss:
        """What the oracle is shown: the paper's linear loss for kappa = 0, else the descent loss."""
        if self.kappa == 0:
            return LinearLoss(s, m, 1 / self.constants.G)
        return DescentLoss(s, m, 1 / self.constants.G, self.kappa * self.constants.beta * eta / 2)

    def tracked(self, state: Any) -> Tracked:
        """All of it."""
        now: Tracked = checked(self, state, Tracked)
        return now

    def proved(self, regret: float, rounds: int, **details: Any) -> Certificate:
        """The sharp theorem, or Theorem 1 for the paper's constants, which it prints up to kappa = 1."""
        if isinstance(self.constants, PaperSmooth) and self.kappa <= 1:
            return theorem1(self.constants, regret, **details)
        return self.sharp(regret, **details)

    def sharp(self, regret: float, **details: Any) -> Certificate:
        """The sharp theorem with this regret."""
        c = self.constants
        known: dict[str, Any] = {"gap": c.D, "beta": c.beta, "T": c.T, "a": c.a, "c": c.c}
        known |= {"trivial": c.trivial, **details}
        if isinstance(c.noise, HeavyTailed):
            return theorem_sharp_clipped(**known, noise=c.noise, regret=c.G * regret)
        return theorem_sharp(**known, sigma=c.sigma, regret=c.G * regret)

    def hypothesis(self, rounds: int | None = None) -> str:
        """For clipped samples also a step that is short enough."""
        c = self.constants
        if self.clips and is_too_small(c.c, least := clipped_step(c.beta, c.a)[0]):
            return f"with clipped samples c must be at least {least:.6g}, and it is {c.c:.6g}; see `Smooth.one_run`"
        return super().hypothesis(rounds)

    def certificate(self, state: Any) -> Answer:
        """That of one run, with high probability, if its noise is declared; else the theorem with the measured regret.

        It is about any number of rounds up to now: its factors are tuned for the T of the constants.
        """
        c, sums = self.constants, {name: _xp.floats(values) for name, values in self.sums(state).items()}
        if c.noise is None or len(sums["Q"]) > 1:
            return super().certificate(state)
        rounds = int(sums["rounds"][0])
        if why := c.practical or ("" if rounds else "no round was made") or self.objection(state):
            return why
        found = self.one_run(T=rounds, **{name: sums[name][0] for name in "QNW"})
        if found.bound < 0:
            return f"the bound on a square is negative, {found.bound:.3g}: the declared noise, beta or gap is too small"
        return found

    def one_run(self, **sums: Any) -> Certificate:
        """The certificate of one run, from its sums Q, N and W after T rounds."""
        c = self.constants
        known: dict[str, Any] = {"a": float(c.a), "eta": c.eta, "beta": c.beta, "first": 2 * c.beta * c.D}
        sums.setdefault("trivial", c.trivial)
        return one_run(**known, **sums, noise=c.noise, horizon=c.T)  # type: ignore[arg-type]  # asked for if it is known

    @property
    def clips(self) -> bool:
        """Whether samples are clipped, so that their mean is not the gradient."""
        return isinstance(self.constants.noise, HeavyTailed)

    def a_priori(self, x: Vector) -> Answer:
        """The theorem with the bound that the oracle states, which is about samples that are not clipped."""
        return UNCLIPPED if self.clips else super().a_priori(x)

    def tight(self, state: Any, samples: Samples) -> Answer:
        """The tight certificate, or why there is none."""
        rounds = int(_xp.floats(self.sums(state)["rounds"])[0])
        if why := self.hypothesis(rounds) or self.objection(state, samples):
            return why
        if self.clips:
            return UNCLIPPED
        found = self._estimated(state, samples)
        if found.bound < 0:
            return f"the tight bound on a square is negative, {found.bound:.3g}: by chance, or a constant is too small"
        return self.noted(found, state, samples)

    def _estimated(self, state: Any, samples: Samples) -> Certificate:
        sums = {name: _xp.floats(values) for name, values in self.sums(state).items() if name in ("Q", "N", "W")}
        return self.proved_tight(**sums, first=samples.first)  # E|grad f(x_1)|^2 <= E|s_1|^2

    def proved_tight(self, **sums: Any) -> Certificate:
        """The tight certificate of Algorithm 1."""
        return tight(self.constants, **sums)

    def claimed(self) -> Claims:
        """The variance, and the smoothness of f; clipped samples are biased."""
        c, bias = self.constants, 0.0 if self.constants.noise is None else self.constants.noise.bias
        sigmas = [] if c.noise is None else [c.noise.sigma]
        sigma = min(sigmas if self.clips else [c.sigma, *sigmas])
        return Claims(sigma, eta=float(c.eta), beta=c.beta, apart=2 * bias)

    def descent(self, state: Any) -> Descent:
        """The smoothness of f along the steps, against D."""
        c, eta = self.constants, self.constants.eta
        return self.descended(self.tracked(state), c.G, self.kappa * c.beta * eta / 2, eta, c.beta, c.D)

    @property
    def projects(self) -> bool:
        """Whether the range is known."""
        return self.constants.G0 is not None

    def objection(self, state: Any, samples: Samples | None = None) -> str:
        """Also what the certificate of one run, or the squares of the samples, contradict."""
        return super().objection(state, samples) or self.negative(state) or self._too_much_energy(state, samples)

    def negative(self, state: Any) -> str:
        """That the bound of one run on a square is negative, which has a small probability."""
        c, sums = self.constants, {name: _xp.floats(values) for name, values in self.sums(state).items()}
        rounds = int(sums["rounds"][0])
        if c.noise is None or c.practical or len(sums["Q"]) > 1 or rounds == 0:
            return ""
        found = self.one_run(T=rounds, **{name: sums[name][0] for name in "QNW"}, delta=SQUARES)
        if found.bound >= 0:
            return ""
        return f"the bound on a square is negative, {found.bound:.3g}: the declared noise, beta or gap is too small"

    def _too_much_energy(self, state: Any, samples: Samples | None) -> str:
        """Squares of samples that are larger than the bound that was known before the run allows."""
        now, c = self.tracked(state), self.constants
        if samples is None or self.clips or self.hypothesis(int(_xp.floats(now.t)[0]) - 1):
            return ""
        known = self.a_priori(now.m)
        if not isinstance(known, Certificate) or known.bound == math.inf:
            return ""
        return energy_objection(samples.energy, c.T, c.sigma, max(known.bound, 0.0))

    def energy(self) -> float:
        """With the curvature of the loss."""
        return self.constants.energy(self.kappa)


def check_smooth(constants: Any) -> None:
    """Raise unless ``constants`` are those of a smooth objective."""
    if not isinstance(constants, SmoothConstants):
        raise TypeError(
            f"`constants` must be Smooth(gap=..., beta=..., sigma=..., T=...) or Smooth.paper(M, beta, sigma, T); "
            f"got {constants!r}."
        )


EXAMPLE = Smooth(gap=1.0, M=2.0, beta=1.0, sigma=0.5, T=100)
registry.add("smooth", lambda oracle: SmoothConversion(oracle, EXAMPLE, 0.5), "Algorithm 1", predictable=True)
