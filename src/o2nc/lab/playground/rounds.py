"""A run on a landscape, round by round: what the page draws."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._minimize import minimize
from ..._result import Result
from ...constants import Nonsmooth
from ...conversions import Conversion
from ...operators import act
from ...stationarity import measure, mix, point
from .landscapes import Floats, Landscape
from .methods import Method, Settings

SQUARES, LOCAL = "average squared gradient", "average local stationarity"


@dataclass(frozen=True, eq=False)
class Rounds:
    """What is seen of a run; the first axis of each array is the round, from 1 to T.

    Reference: Algorithms 1 and 2.

    >>> rounds = run(Settings(T=50), Method())
    >>> rounds.x.shape, rounds.U.shape, rounds.weights.shape
    ((50, 2), (50, 2, 2), (50, 2))
    """

    x: Floats  # where the sample was taken, (T, 2)
    U: Floats | None  # the matrix of the operator that was played, (T, 2, 2); None without an oracle
    weights: Floats | None  # of the experts, (T, K); None if there are none
    regret: Floats | None  # so far, (T,); None without an oracle
    measured: Floats  # what the theorem bounds, averaged over the rounds so far, (T,)
    name: str  # of what was measured
    result: Result  # with the certificates


def run(settings: Settings, method: Method) -> Rounds:
    """Run a method on a landscape; methods with the same settings see the same noise.

    Args:
        settings: the landscape, the noise and the rounds.
        method: what is run.

    Reference: Algorithms 1 and 2.

    >>> rounds = run(Settings("f4", T=100), Method(loss="prediction"))
    >>> bool(rounds.measured[-1] < rounds.result.certificate.bound)
    True
    """
    f, conversion = settings.f, method.made(settings)
    states = [conversion.init(f.start)]
    with warnings.catch_warnings():  # the reasons of the result say the same
        warnings.simplefilter("ignore", UserWarning)
        result = minimize(
            lambda x, rng: f.gradient(x) + settings.noise(rng),
            f.start,
            conversion,
            rounds=settings.T,
            seed=settings.seed,
            callback=lambda t, x, state: states.append(state),
            record=True,
            show_progress=False,
        )
    x: Any = result.trajectory
    before, after = states[:-1], states[1:]
    name, measured = _measured(f, conversion, x, after)
    return Rounds(
        x=x,
        U=_stacked([matrix(conversion, state) for state in before]),
        weights=_stacked([conversion.weights(state) for state in before]),
        regret=None if result.regret is None else np.asarray([conversion.sums(s)["regret"][0] for s in after]),
        measured=measured,
        name=name,
        result=result,
    )


def matrix(conversion: Any, state: Any) -> Floats | None:
    """The matrix of the operator U that is played in the round that begins with ``state``; None without an oracle.

    Reference: Algorithm 1, line 3.

    >>> conversion = Method(oracle="constant").made(Settings())
    >>> matrix(conversion, conversion.init(np.zeros(2)))
    array([[1., 0.],
           [0., 1.]])
    """
    oracle = getattr(conversion, "oracle", None)
    if oracle is None:
        return None
    now = getattr(state, "run", state)
    direction = conversion.direction(now.m) if hasattr(conversion, "direction") else now.m
    U = oracle.play(now.oracle, direction)
    return np.stack([act(U, e) for e in np.eye(2)], axis=-1)


def ellipse(U: Floats, centre: Floats, radius: float, n: int = 48) -> Floats:
    r"""The image $\{c+\rho Uv : \|v\|=1\}$ of the unit circle, as n points of shape (2, n).

    Reference: none.

    >>> ellipse(np.diag([1.0, 0.5]), np.zeros(2), radius=2.0, n=3).round(6)
    array([[ 2., -2.,  2.],
           [ 0.,  0., -0.]])
    """
    angles = np.linspace(0.0, 2 * np.pi, n)
    return np.asarray(centre)[:, None] + radius * U @ np.stack([np.cos(angles), np.sin(angles)])


def _stacked(rows: list[Any]) -> Floats | None:
    return None if rows[0] is None else np.stack(rows)


def _measured(f: Landscape, conversion: Conversion, x: Floats, states: list[Any]) -> tuple[str, Floats]:
    """The left side of the theorem, averaged over the rounds so far as the round of the output is drawn."""
    g, T = f.gradient(x), len(x)
    c = getattr(conversion, "constants", None)
    if not isinstance(c, Nonsmooth):
        return SQUARES, np.cumsum((g * g).sum(axis=-1)) / np.arange(1, T + 1)
    witness, local = point(x[0], g[0]), np.empty(T)
    for t in range(T):
        witness = mix(witness, c.a / states[t].c, point(x[t], g[t]))  # the weights of y_bar
        local[t] = measure(witness, c.lam)[0]
    chance = np.diff([c.tau_cdf(t) for t in range(T + 1)])
    return LOCAL, np.cumsum(chance * local) / np.cumsum(chance)


def radius(f: Landscape) -> float:
    """That of the circle whose image is drawn: a tenth of the window.

    Reference: none.

    >>> from o2nc.lab.playground import landscape
    >>> radius(landscape("f4"))
    0.8
    """
    left, right, bottom, top = f.window
    return min(right - left, top - bottom) / 10
