"""The columns: ours with and without a certificate, online scaled gradient methods, gradient descent and L-BFGS."""

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ... import _xp
from ...certificates import tight_segment
from ...constants import Smooth
from ...conversions import SegmentConversion
from ...losses import LinearLoss, Loss
from ...operators import Operator
from ...oracles import AdaGrad, Oracle
from ...registry import Registry
from ...rivals import SGD, OnlineScaled, OnlineScaledHeavyBall
from ...sets import Box
from ...vectors import Vector, inner
from ..objectives.classifier import Classifier
from .calls import Calls

NONE = ((),)  # nothing to choose
STEPS = tuple((2.0**k,) for k in range(9))  # of 1 / beta, the largest step
ALPHAS = (0.1, 1.0, 10.0, 100.0)  # of 1 / beta, the rate of AdaGrad: the grid of the authors of OSGM
GAMMAS = (1.0, 3.0, 5.0, 10.0, 100.0)  # the rate of the momentum: theirs too
LEARNING, BOTH = tuple((alpha,) for alpha in ALPHAS), tuple(product(ALPHAS, GAMMAS))
MEMORY = 10  # pairs that L-BFGS keeps, scipy's default


@dataclass(frozen=True, eq=False)
class Normalised:
    r"""An oracle that learns from $-\langle s_t,Um_t\rangle/\|m_t\|^2$, so that late rounds count like early ones.

    With exact gradients and the sample at the end of the step this is the hypergradient of OSGM-H in U, without its
    values and null steps. Theorem 1 is about the loss without the division: there is no certificate.

    Args:
        oracle: the learner.

    Reference: Gao, Chu, Ye and Udell, Gradient methods with online scaling (2025), for the division.

    >>> from o2nc.oracles import OGD
    >>> from o2nc.sets import Box
    >>> oracle, m = Normalised(OGD(Box(), eta=0.1)), np.asarray([1e-3])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=-2 * m, m=m, scale=1.0))
    >>> state.u
    array([0.8])
    """

    oracle: Oracle

    def init(self, x: Vector) -> Any:
        """That of the learner."""
        return self.oracle.init(x)

    def play(self, state: Any, m: Vector) -> Operator:
        """That of the learner."""
        return self.oracle.play(state, m)

    def learn(self, state: Any, loss: Loss) -> Any:
        """From the loss over |m|^2; from 0 if m is 0."""
        return self.oracle.learn(state, LinearLoss(loss.s * _xp.inverse(inner(loss.m, loss.m)), loss.m, 1.0))


def ours(f: Classifier, T: int, factor: float, oracle: Oracle) -> SegmentConversion:
    r"""Algorithm 1 with the sample at the end of the step, and steps of up to ``factor`` / beta.

    With exact gradients a = 1, so that the tracker is the gradient, $x_{t+1}=x_t-\eta U_t\nabla f(x_t)$. The certified
    factor is 1/64. For another one $64\,factor\,M$ and $\beta/(64\,factor)$ are claimed for M and beta: this changes
    $\eta$ and neither G nor G0.
    """
    claim = 64 * factor
    return SegmentConversion(oracle, Smooth.paper(M=claim * f.M, beta=f.beta / claim, sigma=0.0, T=T), r=1.0)


def _certified(calls: Calls) -> dict[str, Any]:
    conversion = ours(calls.f, calls.most, 1 / 64, AdaGrad(Box()))
    state = calls.follow(conversion)
    n, squares = len(calls.norms) - 1, [norm**2 for norm in calls.norms]  # the state is before the last gradient
    if n == 0:
        return {}
    sums, average = conversion.sums(state), float(np.mean(squares[:n]))
    Q, N, W = ([float(sums[name][0])] for name in ("Q", "N", "W"))
    tight = tight_segment(conversion.constants, Q, N, W, first=squares[0], V_T=0.0, rounds=n, measured=average)
    before: Any = ours(calls.f, n, 1 / 64, AdaGrad(Box())).a_priori(np.zeros(calls.f.d))  # rates do not depend on T
    return {"rounds": n, "average": average, "tight": tight.bound, "a_priori": before.bound}


def _practical(calls: Calls, factor: float) -> None:
    calls.follow(ours(calls.f, calls.most, factor, AdaGrad(Box())))


def _normalised(calls: Calls, factor: float) -> None:
    calls.follow(ours(calls.f, calls.most, factor, Normalised(AdaGrad(Box()))))


def _gd(calls: Calls, factor: float = 1.0) -> None:
    calls.follow(SGD(factor / calls.f.beta))


def _osgm(kind: Any, calls: Calls, alpha: float, *gamma: float, **more: Any) -> dict[str, Any]:
    beta = calls.f.beta
    state = calls.follow(kind(alpha / beta, *gamma, P1=1 / beta, **more))
    return {"null_steps": int(state.nulls[0])}


def _osgm_r(calls: Calls, alpha: float) -> dict[str, Any]:
    return _osgm(OnlineScaled, calls, alpha, f_star=calls.f.f_star)


def _l_bfgs(calls: Calls) -> dict[str, Any]:
    """Until the sup-norm is so small that the norm is; every call of the line search counts."""
    from scipy.optimize import minimize

    d, most = calls.f.d, calls.most
    options = {"maxcor": MEMORY, "gtol": calls.tol / np.sqrt(d), "ftol": 0.0, "maxfun": most, "maxiter": most}
    found = minimize(calls, np.zeros(d), jac=True, method="L-BFGS-B", options=options)
    return {"scipy": int(found.nfev)}


# `make` makes all calls with a rate of the grid ``rates``, and returns what is to be reported besides.
METHODS = Registry("method")
METHODS.add("certified", _certified, "ours, prescribed step 1/(64 beta)", rates=NONE)
METHODS.add("practical", _practical, "ours, step factor/beta, practical", rates=STEPS)
METHODS.add("normalised", _normalised, "the same, the loss over |m|^2, practical", rates=STEPS)
METHODS.add("gd", _gd, "gradient descent, step 1/beta", rates=NONE)
METHODS.add("gd-best", _gd, "gradient descent, step factor/beta", rates=STEPS)
METHODS.add("osgm-h", partial(_osgm, OnlineScaled), "OSGM-H", rates=LEARNING)
METHODS.add("osgm-r", _osgm_r, "OSGM-R, which is told the minimum", rates=LEARNING)
METHODS.add("osgm-best", partial(_osgm, OnlineScaledHeavyBall), "OSGM-Best", rates=BOTH)
METHODS.add("l-bfgs", _l_bfgs, f"L-BFGS of scipy, memory {MEMORY}", rates=NONE)
