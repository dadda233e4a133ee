"""The methods of a run: the paper's two, three controls of its gain, two that learn, and those with sharp steps."""

import math
from types import MappingProxyType

from ... import _xp
from ..._xp import Array
from ...constants import Smooth
from ...conversions import PredictionConversion, SmoothConversion
from ...noise import Bounded
from ...operators import Identity, Mixture
from ...oracles import AdaHedge, Constant, Hedge, LeastSquares, OnlineNewtonStep, Oracle
from ...rivals import SGD
from ...sets import Hull, WideBox
from ..objectives.smooth import Objective
from ..runner.paired import HORIZON, Method

PRIOR = 0.5  # the weight of P before anything is learned
LAM = 0.01  # the weight of the centre of least squares over I and P, in units of sigma^2
BLIND_LAM = 0.1  # that of the Newton steps of a coordinate, in units of sigma^2 / d


def loss_range(f: Objective, kappa: float = 0.0) -> float:
    r"""An almost sure bound on how far the losses of two experts with $\|U_1-U_2\|_{op}\le1$ are apart in a round.

    $$C=\frac{SG_0}G+\frac{\kappa\beta\eta G_0^2}{2G};$$

    the paper's C for the linear loss, $\kappa=0$.

    Reference: Numerical Experiments, the hyperparameters.

    >>> from o2nc.lab.objectives import objective
    >>> print(f"{loss_range(objective('f4')):.3f} {loss_range(objective('f4'), kappa=16):.3f}")
    367.386 442.666
    """
    c = f.constants(HORIZON)
    return f.S * c.G0 / c.G + kappa * c.beta * c.eta / 2 * c.G0**2 / c.G


def hedge_rate(f: Objective) -> float:
    r"""The rate of Hedge, $\gamma=\sqrt{2\log2/(TC^2)}$ with the C of `loss_range`.

    Reference: Numerical Experiments, the hyperparameters.

    >>> from o2nc.lab.objectives import objective
    >>> print(f"{hedge_rate(objective('f4')):.5e}")
    2.26616e-05
    """
    return math.sqrt(2 * math.log(2) / HORIZON) / loss_range(f)


def _hedge(f: Objective, like: Array) -> Oracle:
    return Hedge([Identity(), f.projector(like)], gamma=hedge_rate(f))


def _frozen(f: Objective, like: Array) -> Oracle:
    return Constant(Mixture(_xp.like([1 - PRIOR, PRIOR], like), (Identity(), f.projector(like))))


def _adahedge(f: Objective, like: Array) -> Oracle:
    return AdaHedge([Identity(), f.projector(like)])


def _least_squares(f: Objective, like: Array) -> Oracle:
    return LeastSquares(Hull((Identity(), f.projector(like))), lam=LAM * f.sigma**2)


def _newton(f: Objective, like: Array) -> Oracle:
    return OnlineNewtonStep(WideBox(0.0, 10.0), lam=BLIND_LAM * f.sigma**2 / f.d)


def predicting(oracle: Oracle, f: Objective, rounds: int) -> SmoothConversion:
    """The prediction loss with the paper's constants."""
    return PredictionConversion(oracle, f.constants(HORIZON))


def sharp(oracle: Oracle, f: Objective, rounds: int) -> SmoothConversion:
    """The prediction loss with the sharp constants for the rounds of the run."""
    return PredictionConversion(oracle, f.sharp(rounds))


def stated(oracle: Oracle, f: Objective, rounds: int) -> SmoothConversion:
    """The prediction loss with the constants for which online least squares has an a-priori theorem."""
    constants = Smooth.least_squares(gap=f.first_gap, beta=f.beta, sigma=f.sigma, T=rounds)
    return PredictionConversion(oracle, constants)


def one_run(oracle: Oracle, f: Objective, rounds: int) -> SmoothConversion:
    """The constants for which the certificate of one run is small; of the noise its largest norm is known."""
    constants = Smooth.one_run(gap=f.first_gap, beta=f.beta, noise=Bounded(f.noise_sup), T=rounds)
    return PredictionConversion(oracle, constants)


_ALL = (
    Method("sgd", "SGD", None),
    Method("hedge", "Black-box + Hedge", _hedge),
    Method("frozen", "frozen prior (I + P)/2", _frozen, weight=PRIOR),
    Method("identity", "tracker with I", lambda f, like: Constant(), weight=0.0),
    Method("projector", "tracker with P", lambda f, like: Constant(f.projector(like)), weight=1.0),
    Method("learned", "AdaHedge over I and P, prediction loss", _adahedge, convert=predicting),
    Method("blind", "diagonal Newton steps, without P", _newton, convert=predicting),
    Method("sharp_identity", "sharp step, tracker with I", lambda f, like: Constant(), weight=0.0, convert=sharp),
    Method("sharp", "sharp step, least squares over I and P", _least_squares, convert=sharp),
    Method("sharp_blind", "sharp step, diagonal Newton steps, without P", _newton, convert=sharp),
    Method("sharp_stated", "a-priori step, least squares over I and P", _least_squares, convert=stated),
    Method("one_run", "one-run step, tracker with I", lambda f, like: Constant(), weight=0.0, convert=one_run),
)
METHODS = MappingProxyType({method.name: method for method in _ALL})
# those with constants for the rounds of the run
SHARP = tuple(method.name for method in _ALL if method.convert in (sharp, stated, one_run))

SGD_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the step of SGD's own theorem, the best of which is chosen afterwards


def sgd_step(f: Objective, rounds: int) -> float:
    r"""The step of SGD's textbook bound $\frac{2D}{\eta T}+\beta\eta\sigma^2$, at most $1/\beta$.

    $$\eta=\min\Bigl\{\frac1\beta,\sqrt{\frac{2D}{\beta\sigma^2T}}\Bigr\}.$$

    Reference: Ghadimi and Lan (2013).

    >>> from o2nc.lab.objectives import objective
    >>> print(f"{sgd_step(objective('f4'), 3000):.4e}")
    1.0010e-03
    """
    return min(1.0, math.sqrt(2 * f.beta * f.first_gap / rounds) / f.sigma) / f.beta


def _sgd(factor: float) -> Method:
    name, label = f"sgd_{factor:g}", f"SGD, {factor:g} times the step of its bound"
    return Method(name, label, None, baseline=lambda f, rounds: SGD(factor * sgd_step(f, rounds)))


SGD_GRID = MappingProxyType({method.name: method for method in map(_sgd, SGD_FACTORS)})
LABELS = MappingProxyType({method.name: method.label for method in _ALL} | {"sgd_best": "SGD, best of five steps"})
