"""Algorithm 1: smooth nonconvex optimization by static regret."""

from dataclasses import dataclass
from typing import Any

from .. import _xp
from ..certificates import Certificate, theorem1, theorem_sharp, tight
from ..certificates.declared import noise_objection
from ..checks import check_number
from ..constants import PaperSmooth, Smooth, SmoothConstants
from ..losses import DescentLoss, LinearLoss, Loss
from ..operators import act
from ..oracles.base import Oracle
from ..vectors import Scalar, Vector, check_like
from .base import Answer, Samples, registry
from .tracked import Tracked, TrackedConversion, first_round, one_round


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

    def __post_init__(self) -> None:
        super().__post_init__()
        check_smooth(self.constants)
        check_number("kappa", self.kappa)
        if self.kappa > (most := self.constants.c / self.constants.a) * (1 + 1e-12):
            raise ValueError(f"`kappa` must be at most c/a = {most:.6g}; got {self.kappa}.")

    def init(self, x: Vector, *, tau: Any = None) -> Any:
        """m_1 = 0."""
        return first_round(self.oracle, x)

    def update(
        self, s: Vector, state: Any, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, Any]:
        """One round; ``s`` is a fresh sample of the gradient at x_t. Nothing else is used."""
        return self.step(s, state, float(self.constants.a), self.constants.eta)

    def step(self, s: Vector, now: Tracked, a: Scalar, eta: Scalar) -> tuple[Vector, Tracked]:
        """A round of Algorithm 1 with these rates."""
        check_like("s", s, now.m)
        Um = act(self.oracle.play(now.oracle, now.m), now.m)  # line 3
        loss = self.loss(s, now.m, eta)  # line 5
        return Um * -eta, one_round(self.oracle, now, loss, Um, a, self.constants.G0)  # lines 6, 7

    def loss(self, s: Vector, m: Vector, eta: Scalar) -> Loss:
        """What the oracle is shown: the paper's linear loss for kappa = 0, else the descent loss."""
        if self.kappa == 0:
            return LinearLoss(s, m, 1 / self.constants.G)
        return DescentLoss(s, m, 1 / self.constants.G, self.kappa * self.constants.beta * eta / 2)

    def tracked(self, state: Any) -> Tracked:
        """All of it."""
        return state

    def proved(self, regret: float, rounds: int, **details: Any) -> Certificate:
        """The sharp theorem, or Theorem 1 for the paper's constants, which it prints up to kappa = 1."""
        if isinstance(self.constants, PaperSmooth) and self.kappa <= 1:
            return theorem1(self.constants, regret, **details)
        return self.sharp(regret, **details)

    def sharp(self, regret: float, **details: Any) -> Certificate:
        """The sharp theorem with this regret."""
        c = self.constants
        known: dict[str, Any] = {"gap": c.D, "beta": c.beta, "sigma": c.sigma, "T": c.T, "a": c.a, "c": c.c}
        return theorem_sharp(**known, regret=c.G * regret, **{"trivial": c.trivial, **details})

    def tight(self, state: Any, samples: Samples) -> Answer:
        """The tight certificate, or why there is none."""
        rounds = int(_xp.floats(self.sums(state)["rounds"])[0])
        if why := self.hypothesis(rounds) or self.objection(state, samples):
            return why
        found = self._estimated(state, samples)
        if found.bound < 0:
            return f"the tight bound on a square is negative, {found.bound:.3g}: sigma is too small, or the run short"
        return self.noted(found, samples)

    def _estimated(self, state: Any, samples: Samples) -> Certificate:
        sums = {name: _xp.floats(values) for name, values in self.sums(state).items() if name in ("Q", "N", "W")}
        return self.proved_tight(**sums, first=samples.first)  # E|grad f(x_1)|^2 <= E|s_1|^2

    def proved_tight(self, **sums: Any) -> Certificate:
        """The tight certificate of Algorithm 1."""
        return tight(self.constants, **sums)

    def objection(self, state: Any, samples: Samples | None = None) -> str:
        """Also a sigma that is too small for the samples."""
        why = super().objection(state)
        if why or samples is None or self.constants.practical:
            return why
        upper = self._estimated(state, samples).interval
        return noise_objection(self.constants, samples.spread, samples.energy, upper)

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
