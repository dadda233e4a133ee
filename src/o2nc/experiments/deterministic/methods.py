"""The columns: ours with and without a certificate, online scaled gradient methods, gradient descent and L-BFGS."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from ...certificates import tight_segment
from ...constants import Smooth
from ...conversions import SGD, OnlineScaled, OnlineScaledHeavyBall, SegmentConversion
from ...guarantees import stated
from ...oracles import AdaGrad, Oracle
from ...sets import Box
from ..objectives.classifier import Classifier
from .calls import Calls
from .normalised import Normalised

STEPS = tuple((2.0**k,) for k in range(9))  # of 1 / beta, the largest step
ALPHAS = (0.1, 1.0, 10.0, 100.0)  # of 1 / beta, the rate of AdaGrad: the grid of the authors of OSGM
GAMMAS = (1.0, 3.0, 5.0, 10.0, 100.0)  # the rate of the momentum: theirs too
LEARNING, BOTH = tuple((alpha,) for alpha in ALPHAS), tuple(product(ALPHAS, GAMMAS))
MEMORY = 10  # pairs that L-BFGS keeps, scipy's default


@dataclass(frozen=True)
class DeterministicMethod:
    """A column of the table, and the rates of which the best is shown.

    Args:
        name: its key in tables and files.
        label: what it is, in words.
        run: makes all calls with a rate, and returns what is to be reported besides.
        rates: the grid; one empty rate if there is nothing to choose.

    Reference: not in the paper.

    >>> {name: len(method.rates) for name, method in METHODS.items() if method.rates != ((),)}
    {'practical': 9, 'normalised': 9, 'gd-best': 9, 'osgm-h': 4, 'osgm-r': 4, 'osgm-best': 20}
    """

    name: str
    label: str
    run: Callable[..., dict[str, Any] | None]
    rates: tuple[tuple[float, ...], ...] = ((),)


def ours(f: Classifier, T: int, factor: float, oracle: Oracle) -> SegmentConversion:
    r"""Algorithm 1 with the sample at the end of the step, and steps of up to ``factor`` / beta.

    With exact gradients a = 1, so that the tracker is the gradient, $x_{t+1}=x_t-\eta U_t\nabla f(x_t)$. The certified
    factor is 1/64. For another one $64\,factor\,M$ and $\beta/(64\,factor)$ are claimed for M and beta: this changes
    $\eta$ and neither G nor G0.
    """
    claim = 64 * factor
    return SegmentConversion(oracle, Smooth(M=claim * f.M, beta=f.beta / claim, sigma=0.0, T=T), r=1.0)


def _certified(calls: Calls) -> dict[str, Any]:
    conversion = ours(calls.f, calls.most, 1 / 64, AdaGrad(Box()))
    state = calls.follow(conversion)
    n, squares = len(calls.norms) - 1, [norm**2 for norm in calls.norms]  # the state is before the last gradient
    if n == 0:
        return {}
    Q, N, W = ([float(total[0])] for total in (state.Q, state.N, state.W))
    tight = tight_segment(
        conversion.constants, Q, N, W, first=squares[0], V_T=0.0, rounds=n, measured=float(np.mean(squares[:n]))
    )
    before = stated(ours(calls.f, n, 1 / 64, AdaGrad(Box())), calls.f.start(np.zeros(1)))  # rates do not depend on T
    assert before is not None  # AdaGrad on the box states a bound
    return {"rounds": n, "average": tight.measured, "tight": tight.bound, "a_priori": before.bound}


def _practical(calls: Calls, factor: float) -> None:
    calls.follow(ours(calls.f, calls.most, factor, AdaGrad(Box())))


def _normalised(calls: Calls, factor: float) -> None:
    calls.follow(ours(calls.f, calls.most, factor, Normalised(AdaGrad(Box()))))


def _gd(calls: Calls, factor: float = 1.0) -> None:
    calls.follow(SGD(factor / calls.f.beta))


def _osgm(kind: Any, calls: Calls, alpha: float, *gamma: float, **more: Any) -> dict[str, Any]:
    beta = calls.f.beta
    state = calls.follow(kind(alpha / beta, *gamma, P1=1 / beta, **more), valued=True)
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


METHODS = MappingProxyType(
    {
        method.name: method
        for method in (
            DeterministicMethod("certified", "ours, prescribed step 1/(64 beta)", _certified),
            DeterministicMethod("practical", "ours, step factor/beta, practical", _practical, STEPS),
            DeterministicMethod("normalised", "the same, the loss over |m|^2, practical", _normalised, STEPS),
            DeterministicMethod("gd", "gradient descent, step 1/beta", _gd),
            DeterministicMethod("gd-best", "gradient descent, step factor/beta", _gd, STEPS),
            DeterministicMethod("osgm-h", "OSGM-H", partial(_osgm, OnlineScaled), LEARNING),
            DeterministicMethod("osgm-r", "OSGM-R, which is told the minimum", _osgm_r, LEARNING),
            DeterministicMethod("osgm-best", "OSGM-Best", partial(_osgm, OnlineScaledHeavyBall), BOTH),
            DeterministicMethod("l-bfgs", f"L-BFGS of scipy, memory {MEMORY}", _l_bfgs),
        )
    }
)
