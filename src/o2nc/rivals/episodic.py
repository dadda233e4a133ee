"""An episodic reduction: every epoch minimises a convex neighbour of the objective with an online learner."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from ..checks import check_number
from ..conversions.average import Average, no_average
from ..conversions.base import check_given, registry
from ..vectors import Vector, check_like, check_vector, leaf, where
from .displacement import DisplacementLearner, check_is_learner
from .epochs import EpochConversion, restarted
from .shifting import BallOGD


class EpisodicState(NamedTuple):
    """What is remembered between one sample and the next."""

    learner: Any  # the learner's state, from which v_j is played
    average: Average  # of the points of the epoch so far, and that of round tau; its t is the round


@dataclass(frozen=True)
class EpisodicConversion(EpochConversion):
    r"""The episodic reduction: $f_k(y)=f(y)+\beta\|y-x_k\|^2$ is convex, and an online learner minimises it.

    $$y_j=x_k+v_j,\qquad E[s_j]=\nabla f(y_j),\qquad\text{loss }\langle s_j+2\beta v_j,v\rangle,\qquad
      x_{k+1}=\frac1n\sum_{j\le n}y_j.$$

    f is $\beta$-smooth, so $f_k$ is convex, even $\beta$-strongly. With $R_k$ the regret of the learner in epoch k
    against $v=0$, Jensen's inequality and convexity give $E[f(x_{k+1})+\beta\|x_{k+1}-x_k\|^2]\le E[f(x_k)+R_k/n]$.
    Against the v that leads to the minimiser $y_k^*$ of $f_k$ they give $E\|x_{k+1}-y_k^*\|^2\le\frac2\beta E[R_k]/n$,
    and $\nabla f(y_k^*)=-2\beta(y_k^*-x_k)$. So after K epochs, with all R_k at most R and M the range of f, the mean
    over k of $E\|\nabla f(y_k^*)\|^2$ is at most $8\beta(\frac MK+\frac{3R}n)$ (derived here, from
    $\|y^*-x_k\|^2\le2\|y^*-x_{k+1}\|^2+2\|x_{k+1}-x_k\|^2$). The learner knows nothing of f, but it begins
    afresh in every epoch. Algorithm 1 does without epochs.

    Since the points that are moved are those of the samples, `update` returns $y_{j+1}-y_j$, and from the last of an
    epoch the way to the first of the next. After T rounds `output` is $x_{k+1}$ of the epoch that ends in round tau.

    Args:
        learner: the online learner of the v, which must be able to reach what improves f.
        epoch: the number n of samples of an epoch.
        T: horizon, the number of rounds.
        beta: the smoothness of f.

    Reference: the episodic reductions that the paper cites, Paquette et al. (2018), Wang et al. (2019) and Agarwal et
    al. (2019), in the form that they have in common.

    >>> import numpy as np
    >>> conversion = EpisodicConversion(BallOGD(D=1.0, eta=0.2), epoch=10, T=100, beta=1.0)
    >>> y = np.asarray([2.0])
    >>> state = conversion.init(y, tau=100)
    >>> for _ in range(100):
    ...     dy, state = conversion.update(np.sin(y), state, y)
    ...     y = y + dy
    >>> bool(abs(conversion.output(state, y)[0]) < 0.2)
    True
    """

    learner: DisplacementLearner
    epoch: int
    T: int
    beta: float

    def __post_init__(self) -> None:
        check_is_learner(self.learner)
        super().__post_init__()
        check_number("EpisodicConversion(beta=...)", self.beta, positive=True)

    def init(self, x: Vector, *, tau: Any = None) -> EpisodicState:
        """Nothing averaged; the end of the last epoch if ``tau`` is not given."""
        check_vector("x", x)
        return EpisodicState(self.learner.init(x), average=no_average(x, tau, self.last))

    def update(
        self, s: Vector, state: EpisodicState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, EpisodicState]:
        """Learn from the sample ``s`` at y_j = ``x`` and go to y_{j+1}, or to the average and on from there."""
        check_given(self, x=x)
        check_like("s", s, state.average.mean)
        t, play = state.average.t, self.learner.play
        before, ends = _xp.like((t - 1) % self.epoch, leaf(s)), t % self.epoch == 0
        v = play(state.learner)
        learner = restarted(ends, self.learner.init(s), self.learner.learn(state.learner, s + 2 * self.beta * v))
        average = state.average.add(x, 1 / (before + 1))
        centre = where(ends, average.mean - x, -v)  # from here to x_{k+1} if this was the last, else to x_k
        return centre + play(learner), EpisodicState(learner, average)


registry.add("episodic", lambda _: EpisodicConversion(BallOGD(1.0, 0.2), epoch=2, T=100, beta=1.0), "convex episodes")
