"""The front door for people with a function that samples gradients.

The underscore keeps the module from hiding the function `o2nc.minimize`.
"""

import inspect
import platform
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _xp
from .certificates import Certificate, tight
from .checks import brief
from .constants import Nonsmooth, Smooth
from .conversions import NonsmoothConversion, SmoothConversion
from .guarantees import CLIPPED_LIMIT, is_contraction, measured, stated
from .oracles.base import Oracle
from .progress import progress
from .vectors import Blocks, Vector, apply, check_vector, inner, leaf, where, zero_scalar, zeros_like

Gradient = Callable[[Vector, np.random.Generator], Vector]


class NonfiniteGradientError(ValueError):
    """A sample was not finite. ``round``, ``x`` and ``state`` are those before it, all finite.

    Reference: none; the theorems assume finite samples.

    >>> issubclass(NonfiniteGradientError, ValueError)
    True
    """

    def __init__(self, round: int, x: Vector, state: Any):
        super().__init__(
            f"`gradient` must return finite numbers; it did not in round {round}. "
            "The point and the state before that round are in `x` and `state` of this error."
        )
        self.round, self.x, self.state = round, x, state


@dataclass(frozen=True, eq=False)
class Result:
    """What `minimize` found, and what is guaranteed of it.

    Reference: Theorems 1 and 2.

    >>> import numpy as np
    >>> import o2nc
    >>> constants = o2nc.Smooth(M=2.0, beta=1.0, sigma=0.0, T=10)
    >>> result = o2nc.minimize(
    ...     lambda x, rng: np.sin(x), np.asarray([3.0]), oracle=o2nc.oracles.Constant(), constants=constants
    ... )
    >>> print(result.certificate)
    Theorem 1: average squared gradient (plug-in)
      noise         0
      regret        0
      range         19.4
      bound         19.4
      replications  1
      the regret of one run stands for its expectation
    """

    x: Vector  # an iterate drawn uniformly (Algorithm 1), or y_bar_tau (Algorithm 2): what the theorems are about
    last: Vector  # the point after the last round
    regret: Any  # sum of L_t(U_t) - L_t(I), one number a replication
    certificate: Certificate | None  # the theorem with the measured regret; None if the constants were estimated
    a_priori: Certificate | None  # the theorem with the regret bound that the oracle states, if it states one
    tight: Certificate | None  # the tight certificate from the sums of the run and its first sample (Algorithm 1)
    clipped: float  # the share of rounds in which the tracker's projection was active: large means wrong constants
    trajectory: list[Vector] | None  # the points where samples were taken, if recorded
    state: Any  # the state of the conversion after the last round
    constants: Smooth | Nonsmooth
    seed: int
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Why there is no certificate; empty if there is one."""
        return self.constants.practical

    def __str__(self) -> str:
        parts = [self.reason or None, self.certificate, self.tight, self.a_priori]
        return "\n\n".join(str(part) for part in parts if part is not None)


def minimize(
    gradient: Gradient,
    x1: Vector,
    *,
    oracle: Oracle,
    constants: Smooth | Nonsmooth,
    kappa: float = 0.0,
    seed: int = 0,
    callback: Callable[[int, Vector, Any], None] | None = None,
    record: bool = False,
    show_progress: bool | None = None,
) -> Result:
    r"""Minimise f from samples of its gradient, by Algorithm 1 (`Smooth`) or Algorithm 2 (`Nonsmooth`).

    For T rounds a sample $s_t$ is drawn at the current point, with $E[s_t]=\nabla f(x_t)$ and
    $E\|s_t-\nabla f(x_t)\|^2\le\sigma^2$, and the conversion moves on.

    Args:
        gradient: ``gradient(x, rng)`` draws a fresh sample at x, in the array library and shape of x, with randomness
            from the NumPy generator ``rng`` only.
        x1: the starting point: an array of NumPy, torch or JAX of shape (d,), a batch (n, d) of n replications, or
            `Blocks`.
        oracle: the online learner.
        constants: what is known of f; they choose the algorithm.
        kappa: for smooth f, 0 reveals the paper's linear loss to the oracle, 1 or more the descent loss, which sees the
            noise.
        seed: of the samples and of the algorithm's own coins.
        callback: called as ``callback(t, x, state)`` after every round.
        record: keep the trajectory (T times the memory).
        show_progress: a bar on standard error; by default only on a terminal.

    Returns:
        A `Result`.

    Reference: Algorithms 1 and 2.

    >>> import numpy as np
    >>> import o2nc
    >>> from o2nc.operators import Identity, Projector
    >>> noisy = np.asarray([False, True])
    >>> def gradient(x, rng):
    ...     return np.sin(x) + 0.1 * noisy * rng.choice([-1.0, 1.0], size=x.shape)
    >>> oracle = o2nc.oracles.Hedge([Identity(), Projector.from_mask(~noisy)])
    >>> constants = o2nc.Smooth(M=4.0, beta=1.0, sigma=0.1, T=2000)
    >>> result = o2nc.minimize(gradient, np.asarray([2.0, 0.0]), oracle=oracle, constants=constants)
    >>> bool(abs(result.last[0]) < 0.1)
    True
    """
    check_vector("x1", x1)
    check_gradient(gradient)
    if not isinstance(seed, int) or seed < 0:
        raise ValueError(f"`seed` must be a nonnegative whole number; got {seed!r}.")
    rng, coins = (np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, k]))) for k in (0, 1))
    batch = () if isinstance(x1, Blocks) else tuple(x1.shape[:-1])
    if isinstance(constants, Smooth):
        conversion: Any = SmoothConversion(oracle, constants, kappa)
        state = conversion.init(x1)
        draw_r: Callable[[], Any] = lambda: None
        chosen = _rounds(coins.integers(1, constants.T, endpoint=True, size=(*batch, 1)), x1)
    elif isinstance(constants, Nonsmooth):
        if kappa != 0:
            raise ValueError(
                f"`kappa` must be 0 for Nonsmooth constants: Algorithm 2 has the linear loss; got {kappa}."
            )
        conversion = NonsmoothConversion(oracle, constants)
        chosen = _rounds(np.vectorize(constants.tau, otypes=[np.int64])(coins.random((*batch, 1))), x1)
        state = conversion.init(x1, tau=chosen)
        draw_r = lambda: _xp.like(coins.random((*batch, 1)).tolist(), leaf(x1)) + zero_scalar(x1)
    else:
        raise TypeError(f"`constants` must be Smooth(...) or Nonsmooth(...); got {type(constants).__name__}.")

    update = _xp.compiled(lambda s, state, x, r: conversion.update(s, state, x, r=r), leaf(x1))
    x, drawn = x1, zeros_like(x1)
    trajectory: list[Vector] | None = [] if record else None
    for t in progress(range(1, constants.T + 1), show_progress):
        s = gradient(apply(_xp.copy, x), rng)  # a copy: whoever works in place changes nothing of ours
        check_sample(s, x, t, state)
        if t == 1:
            first = _floats(inner(s, s))  # E|s_1|^2 >= |grad f(x_1)|^2
        if trajectory is not None:
            trajectory.append(x)
        drawn = where(chosen == t, x, drawn)
        dx, after = update(s, state, x, draw_r())
        if not is_contraction(conversion, dx, state, after):
            raise ValueError(f"`oracle` must play operators of norm at most 1; in round {t} it played a longer step.")
        x, state = x + dx, after
        if callback is not None:
            callback(t, x, state)

    share = sum(_floats(state.clipped)) / len(_floats(state.clipped)) / constants.T
    if share > CLIPPED_LIMIT:
        warnings.warn(
            f"The projection of the tracker was active in {share:.0%} of the rounds: the constants are too small for "
            "these samples, and the certificates do not hold.",
            stacklevel=2,
        )
    return Result(
        x=drawn if isinstance(constants, Smooth) else state.output,
        last=x,
        regret=state.regret,
        certificate=None if constants.practical else measured(conversion, _floats(state.regret)),
        a_priori=None if constants.practical else stated(conversion, x1),
        tight=(
            tight(
                constants,
                Q=_floats(state.Q),
                N=_floats(state.N),
                W=_floats(state.W),
                first=min(sum(first) / len(first), constants.G0**2),
            )
            if isinstance(constants, Smooth) and not constants.practical
            else None
        ),
        clipped=share,
        trajectory=trajectory,
        state=state,
        constants=constants,
        seed=seed,
        versions={"python": platform.python_version(), "numpy": np.__version__, **_xp.version(leaf(x1))},
    )


def check_gradient(gradient: Any, name: str = "gradient") -> None:
    """Raise unless ``gradient`` can be called as gradient(x, rng); what has no signature is left to the call."""
    if not callable(gradient):
        raise TypeError(f"`{name}` must be a function of x and rng; got {brief(gradient)}.")
    try:
        signature = inspect.signature(gradient)
    except (TypeError, ValueError):
        return
    try:
        signature.bind("x", "rng")
    except TypeError as error:
        raise TypeError(
            f"`{name}` must take the point and a generator, {name}(x, rng); got one that takes {signature}."
        ) from error


def check_sample(s: Vector, x: Vector, t: int, state: Any) -> None:
    arrays = list(zip(*(v.arrays if isinstance(v, Blocks) else (v,) for v in (s, x)), strict=False))
    if isinstance(s, Blocks) != isinstance(x, Blocks):
        raise TypeError(f"`gradient` must return a vector like `x`; got {type(s).__name__} in round {t}.")
    for a, b in arrays:
        if not _xp.is_array(a):
            raise TypeError(f"`gradient` must return an array like `x`; got {type(a).__name__} in round {t}.")
        _xp.namespace(a, b)
        if a.shape != b.shape or a.dtype != b.dtype:
            raise ValueError(
                f"`gradient` must return shape {tuple(b.shape)} and dtype {b.dtype} as `x`; "
                f"got {tuple(a.shape)} and {a.dtype} in round {t}."
            )
    if not all(_xp.all_finite(a) for a, _ in arrays):
        raise NonfiniteGradientError(t, x, state)


def _rounds(values: Any, x: Vector) -> Any:
    t = _xp.first_round(leaf(x))
    return t * 0 + _xp.integers(values.tolist(), t)


def _floats(v: Any) -> list[float]:
    return [float(value) for value in _xp.to_numpy(v).ravel()]
