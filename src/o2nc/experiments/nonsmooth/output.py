"""Which average of its points a method returns, and of which round."""

from typing import NamedTuple

import numpy as np

from ...constants import Nonsmooth
from ..runner.records import Floats


class Output(NamedTuple):
    r"""A running average $\bar y_t$ and the law of the round $\tau$ whose average is the output.

    $$\bar y_t=(1-\theta_t)\bar y_{t-1}+\theta_ty_t,\qquad\theta_1=1.$$

    Reference: Algorithm 2, lines 10 and 12.

    >>> Output(np.asarray([1.0, 0.5]), np.asarray([0.25, 0.75])).tau(np.asarray([0.2, 0.3]))
    array([1, 2])
    """

    share: Floats  # theta_t, (T,): the share of the newest point
    law: Floats  # Pr(tau = t), (T,)

    def tau(self, u: Floats) -> np.ndarray:
        """Rounds with this law from numbers uniform on [0, 1), by inversion."""
        return np.minimum(1 + np.searchsorted(np.cumsum(self.law), u, side="right"), len(self.law))


def paper_output(c: Nonsmooth) -> Output:
    """That of Algorithm 2: discounted by b, and tau with probabilities c_t / T, the last c_T / (a T).

    Reference: Algorithm 2, lines 10 and 12.

    >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=4, a=0.5, eta=0.1, rho=0.1)
    >>> paper_output(c).law
    array([0.125  , 0.1875 , 0.21875, 0.46875])
    """
    share, c_t = _discounted(c.a, c.T)
    law = c_t / c.T
    law[-1] /= c.a
    return Output(share, law)


def discounted_output(a: float, T: int) -> Output:
    """Discounted by 1 - a, tau uniform.

    Reference: Zhang and Cutkosky, Random scaling and momentum for non-smooth non-convex optimization (2024).

    >>> discounted_output(0.5, 2).share
    array([1.        , 0.66666667])
    """
    return Output(_discounted(a, T)[0], np.full(T, 1 / T))


def epoch_output(epoch: int, T: int) -> Output:
    """The mean of an epoch, drawn uniformly among the whole ones.

    Reference: Cutkosky, Mehta and Orabona, Optimal stochastic non-smooth non-convex optimization (2023).

    >>> epoch_output(2, 5)
    Output(share=array([1. , 0.5, 1. , 0.5, 1. ]), law=array([0. , 0.5, 0. , 0.5, 0. ]))
    """
    t = np.arange(1, T + 1)
    return Output(1 / ((t - 1) % epoch + 1), ((t % epoch == 0) / (T // epoch)).astype(np.float64))


def _discounted(a: float, T: int) -> tuple[Floats, Floats]:
    c_t = -np.expm1(np.arange(1, T + 1) * np.log1p(-a))  # 1 - b^t
    return a / c_t, c_t
