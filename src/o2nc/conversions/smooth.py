"""Algorithm 1: smooth nonconvex optimization by static regret."""

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from .. import _xp
from ..certificates import Certificate, theorem1, theorem1_sharp, tight
from ..certificates.declared import noise_objection
from ..checks import check_number
from ..constants import KAPPA_LIMIT, Smooth
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
        constants: `Smooth`, which derives G, G0, a and eta.
        kappa: 0 for the paper's linear loss; up to below 6080/129 for the descent loss, which sees the noise and has
            the same theorem up to kappa = 1.

    Reference: Algorithm 1 and Theorem 1.

    >>> import numpy as np
    >>> from o2nc import Smooth
    >>> from o2nc.oracles import Constant
    >>> conversion = SmoothConversion(Constant(), Smooth(M=2.0, beta=1.0, sigma=0.0, T=10))
    >>> x = np.asarray([3.0])
    >>> state = conversion.init(x)
    >>> dx, state = conversion.update(np.sin(x), state)  # m_1 = 0: the first round only fills the tracker
    >>> dx, state = conversion.update(np.sin(x), state)
    >>> print(f"{dx[0]:.6f}")
    -0.002205
    """

    oracle: Oracle
    constants: Smooth
    kappa: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.constants, Smooth):
            raise TypeError(f"`constants` must be Smooth(M, beta, sigma, T); got {self.constants!r}.")
        check_number("kappa", self.kappa)
        if self.kappa >= KAPPA_LIMIT:
            raise ValueError(f"`kappa` must be below {KAPPA_LIMIT} = {float(KAPPA_LIMIT):.2f}; got {self.kappa}.")

    def init(self, x: Vector, *, tau: Any = None) -> Any:
        """m_1 = 0."""
        return first_round(self.oracle, x)

    def update(
        self, s: Vector, state: Any, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, Any]:
        """One round; ``s`` is a fresh sample of the gradient at x_t. Nothing else is used."""
        return self.step(s, state, self.constants.a, self.constants.eta)

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
        """Theorem 1, whose printed constants hold up to kappa = 1."""
        if self.kappa > 1:
            return theorem1_sharp(self.constants, regret, kappa=self.kappa, **details)
        return theorem1(self.constants, regret, **details)

    def tight(self, state: Any, samples: Samples) -> Answer:
        """The tight certificate, or why there is none."""
        if why := self.hypothesis(int(_xp.floats(self.sums(state)["rounds"])[0])):
            return why
        found = self._estimated(state, samples)
        if found.bound < 0:
            return f"the tight bound on a square is negative, {found.bound:.3g}: sigma is too small, or the run short"
        return found

    def _estimated(self, state: Any, samples: Samples) -> Certificate:
        sums = {name: _xp.floats(values) for name, values in self.sums(state).items() if name in ("Q", "N", "W")}
        first = min(fmean(samples.first), self.constants.G0**2)  # E|grad f(x_1)|^2 <= E|s_1|^2
        return self.proved_tight(**sums, first=first)

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


EXAMPLE = Smooth(M=2.0, beta=1.0, sigma=0.5, T=100)
registry.add("smooth", lambda oracle: SmoothConversion(oracle, EXAMPLE, 0.5), "Algorithm 1", predictable=True)
