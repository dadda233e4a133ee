"""The front door for people with a function that samples gradients.

The underscore keeps the module from hiding the function `o2nc.minimize`.
"""

import inspect
import platform
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from . import _xp
from ._again import Again, copied
from ._independence import Independence
from ._result import Result
from .certificates import Certificate
from .checks import brief, check_horizon, check_seed
from .constants import Nonsmooth, SmoothConstants, VarianceReduced
from .conversions import Conversion, NonsmoothConversion, SmoothConversion
from .conversions.base import Answer, Samples, check_can_have, check_is_conversion
from .conversions.compensated import add
from .oracles.base import Oracle
from .progress import progress
from .vectors import Blocks, Vector, apply, check_like, check_vector, inner, leaf, where, zero_scalar, zeros_like

Gradient = Callable[[Vector, np.random.Generator], Vector]
Value = Callable[[Vector, np.random.Generator], Any]


class NonfiniteGradientError(ValueError):
    """A sample was not finite. ``round``, ``x`` and ``state`` are those before it, all finite.

    Reference: none; the theorems assume finite samples.

    >>> issubclass(NonfiniteGradientError, ValueError)
    True
    """

    def __init__(self, round: int, x: Vector, state: Any):
        super().__init__(
            f"`gradient` must return finite numbers with finite squares; it did not in round {round}. "
            "The point and the state before that round are in `x` and `state` of this error."
        )
        self.round, self.x, self.state = round, x, state


def minimize(
    gradient: Gradient,
    x1: Vector,
    conversion: Conversion | None = None,
    *,
    oracle: Oracle | None = None,
    constants: SmoothConstants | Nonsmooth | None = None,
    kappa: float = 0.0,
    rounds: int | None = None,
    value: Value | None = None,
    seed: int = 0,
    callback: Callable[[int, Vector, Any], None] | None = None,
    record: bool = False,
    show_progress: bool | None = None,
) -> Result:
    r"""Minimise f from samples of its gradient, by any conversion.

    In each round a sample $s_t$ is drawn at the current point, with $E[s_t]=\nabla f(x_t)$ and
    $E\|s_t-\nabla f(x_t)\|^2\le\sigma^2$, and the conversion moves on.

    Args:
        gradient: ``gradient(x, rng)`` draws a fresh sample at x, in the array library and shape of x, with randomness
            from the NumPy generator ``rng`` only. A conversion that needs ``again`` has the last sample taken again at
            the new point, by a generator in the same state: two calls a round.
        x1: the starting point: an array of NumPy, torch or JAX of shape (d,), a batch (n, d) of n replications, or
            `Blocks`. Replications must be independent: in ``gradient`` each row draws noise of its own.
        conversion: one of `o2nc.conversions` or `o2nc.rivals`, or your own. For short, ``oracle`` and ``constants`` in
            its place mean Algorithm 1 (`Smooth`, `Smooth.paper`) or Algorithm 2 (`Nonsmooth`).
        oracle: the online learner.
        constants: what is known of f.
        kappa: for smooth f, 0 reveals the paper's linear loss to the oracle, 1 or more the descent loss, which sees the
            noise.
        rounds: how many, for a conversion that is not made for a number of rounds of its own.
        value: ``value(x, rng)`` is f(x), for conversions that need it; a number, or an array (..., 1).
        seed: of the samples and of the algorithm's own coins.
        callback: called as ``callback(t, x, state)`` after every round, with copies: what it writes changes nothing.
        record: keep the trajectory (as many times the memory as there are rounds).
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
    >>> constants = o2nc.Smooth(gap=4.0, beta=1.0, sigma=0.1, T=200)
    >>> result = o2nc.minimize(gradient, np.asarray([2.0, 0.0]), oracle=oracle, constants=constants)
    >>> bool(abs(result.last[0]) < 0.1)
    True
    >>> result = o2nc.minimize(gradient, np.asarray([2.0, 0.0]), o2nc.rivals.SGD(eta=0.1), rounds=100)
    >>> result.reason
    'there is no certificate of SGD'
    """
    check_start(x1)
    x1 = copied(x1)
    if not isinstance(record, bool):
        raise TypeError(f"`record` must be True or False; got {brief(record)}.")
    check_gradient(gradient)
    chosen = _chosen(conversion, oracle, constants, kappa)
    if value is not None:
        check_gradient(value, "value")
    if callback is not None and not callable(callback):
        raise TypeError(f"`callback` must be a function of t, x and state; got {brief(callback)}.")
    offered = frozenset({"tau", "x", "r", "again"} | ({"value"} if value else set()))
    check_can_have(chosen, offered, "`minimize` without `value`")
    T = _rounds(chosen, rounds)
    check_seed(seed)
    rng, coins = (np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, k]))) for k in (0, 1))
    scalar = (1,) if isinstance(x1, Blocks) else (*x1.shape[:-1], 1)
    taus = np.vectorize(lambda u: chosen.tau(u, T), otypes=[np.int64])(coins.random(scalar))
    tau, of_output = _integers(taus, x1), set(taus.ravel().tolist())
    state = chosen.init(copied(x1), tau=tau)

    needs_r, needs_value, needs_again = (need in chosen.needs for need in ("r", "value", "again"))

    def one_update(s: Vector, state: Any, x: Vector, r: Any, value: Any, again: Any) -> tuple[Vector, Any]:
        return chosen.update(s, state, x, r=r, value=value, **({"again": again} if needs_again else {}))

    update, samples_of = _xp.compiled(one_update, leaf(x1)), Again(gradient, rng)
    x, drawn, energy, lost = x1, zeros_like(x1), zero_scalar(x1), zero_scalar(x1)
    independence = Independence(x1, chosen.claims)
    trajectory: list[Vector] = []
    for t in progress(range(1, T + 1), show_progress):
        again = None
        if needs_again:
            again = samples_of.again(x) if t > 1 else samples_of.mean(x, chosen.batch)
            check_sample(again, x, t)
        s = samples_of.fresh(x)
        check_sample(s, x, t)
        square = inner(s, s)
        if not _xp.all_finite(square if again is None else square + inner(again, again)):
            if not all(map(_xp.all_finite, x.arrays if isinstance(x, Blocks) else (x,))):
                raise ValueError(f"The point must stay finite; before round {t} it did not: the steps are too long.")
            raise NonfiniteGradientError(t, x, state)
        if t == 1:
            if needs_again:
                samples_of.check_same(s, x)
            first, spread = _xp.floats(square), _spread(s, x1)
        energy, lost = add(energy, lost, square)
        if record:
            trajectory.append(x)
        r = _xp.from_numpy(coins.random(scalar), leaf(x1)) if needs_r else None
        f = _value(value, x, rng) if needs_value else None
        dx, state = update(s, state, x, r, f, again)
        check_like("dx", dx, x)
        independence.add(t, s, x, dx)
        if t in of_output:
            drawn = where(tau == t, chosen.output(state, x), drawn)
        x = x + dx
        if callback is not None:
            callback(t, copied(x), copied(state))

    samples = Samples(first, spread, _xp.floats(energy), independence.objection())
    answers = {"certificate": chosen.certificate(state), "a_priori": chosen.a_priori(x1)}
    answers["tight"] = chosen.tight(state, samples)
    answers["certificate"] = compared(answers["certificate"], answers["tight"])
    if why := chosen.objection(state, samples):
        answers = dict.fromkeys(answers, why)
        warnings.warn(f"There is no certificate: {why}.", stacklevel=2)
    reasons = {name: answer for name, answer in answers.items() if isinstance(answer, str)}
    return Result(
        x=drawn,
        last=x,
        regret=chosen.sums(state).get("regret"),
        **{name: None if isinstance(answer, str) else answer for name, answer in answers.items()},
        reasons=reasons,
        trajectory=apply(lambda *points: _xp.namespace(*points).stack(points), *trajectory) if record else None,
        state=state,
        conversion=chosen,
        rounds=T,
        seed=seed,
        versions=_versions(x1),
    )


def compared(certificate: Answer, tight: Answer) -> Answer:
    """The certificate, with a note if the tight one, which does not use the gap, is clearly above it."""
    if not isinstance(certificate, Certificate) or not isinstance(tight, Certificate):
        return certificate
    if certificate.interval is None or tight.interval is None or tight.interval[0] <= certificate.interval[1]:
        return certificate
    note = "the tight bound is clearly above this one, though it does not use the gap: is the gap, or beta, too small?"
    return replace(certificate, note=f"{certificate.note}; {note}" if certificate.note else note)


def _chosen(conversion: Any, oracle: Any, constants: Any, kappa: float) -> Conversion:
    """The conversion that was given, or the one that ``oracle`` and ``constants`` stand for."""
    if conversion is not None:
        if isinstance(conversion, Oracle) and not isinstance(conversion, Conversion):
            raise TypeError(
                "The third argument of `minimize` is a conversion; got an oracle: write `oracle=` and `constants=`."
            )
        if oracle is not None or constants is not None or kappa != 0:
            raise TypeError("`minimize` takes a `conversion`, or `oracle`, `constants` and `kappa`; got both.")
        check_is_conversion(conversion)
        return conversion
    if isinstance(constants, SmoothConstants):
        return SmoothConversion(oracle, constants, kappa)
    if not isinstance(constants, Nonsmooth):
        got = type(constants).__name__
        hint = " StormConversion(oracle, constants) is one." if isinstance(constants, VarianceReduced) else ""
        raise TypeError(f"`constants` must be Smooth(...) or Nonsmooth(...), or give a `conversion`; got {got}.{hint}")
    if kappa != 0:
        raise ValueError(f"`kappa` must be 0 for Nonsmooth constants: Algorithm 2 has the linear loss; got {kappa}.")
    return NonsmoothConversion(oracle, constants)


def _rounds(conversion: Conversion, rounds: Any) -> int:
    T = conversion.horizon
    if rounds is None and T is None:
        raise ValueError(f"`rounds` must be given for {type(conversion).__name__}, which may run for any number.")
    if rounds is not None:
        check_horizon(rounds, "rounds")
    if T is not None and rounds not in (None, T):
        raise ValueError(f"`rounds` must be T = {T}, that of the conversion, or not be given; got {rounds}.")
    return T if rounds is None else rounds  # type: ignore[return-value]


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


def check_sample(s: Vector, x: Vector, t: int) -> None:
    """Raise unless ``s`` is a vector like ``x``."""
    if type(s) is type(x) and not isinstance(x, Blocks) and s.shape == x.shape and s.dtype == x.dtype:
        return  # nearly always, and this is called in every round
    if isinstance(s, Blocks) != isinstance(x, Blocks):
        raise TypeError(f"`gradient` must return a vector like `x`; got {type(s).__name__} in round {t}.")
    found, wanted = (v.arrays if isinstance(v, Blocks) else (v,) for v in (s, x))
    if not isinstance(found, tuple) or len(found) != len(wanted):
        got = len(found) if isinstance(found, tuple) else f"a {type(found).__name__}"
        raise ValueError(f"`gradient` must return {len(wanted)} Blocks, in a tuple, as `x`; got {got} in round {t}.")
    for a, b in zip(found, wanted, strict=True):
        if not _xp.is_array(a):
            raise TypeError(f"`gradient` must return an array like `x`; got {type(a).__name__} in round {t}.")
        _xp.namespace(a, b)
        if a.shape != b.shape or a.dtype != b.dtype:
            raise ValueError(
                f"`gradient` must return shape {tuple(b.shape)} and dtype {b.dtype} as `x`; "
                f"got {tuple(a.shape)} and {a.dtype} in round {t}."
            )


def _spread(s: Vector, x1: Vector) -> list[float]:
    """Squared distances of the first samples from their mean, times n / (n - 1), if replications share x_1."""
    if isinstance(s, Blocks) or s.ndim < 2 or s.shape[0] < 2:
        return []
    samples, starts = (_xp.to_numpy(v).reshape(-1, v.shape[-1]).astype(float) for v in (s, x1))
    if (starts != starts[0]).any():
        return []
    n, away = len(samples), samples - samples[0]
    squares = ((away - away.mean(axis=0)) ** 2).sum(axis=1) * n / (n - 1)
    rounding = (100 * _xp.machine_eps(s)) ** 2 * float((samples**2).sum(axis=1).mean())
    return [max(float(square) - rounding, 0.0) for square in squares]


def check_start(x1: Vector) -> None:
    """Raise unless ``x1`` is a finite vector with coordinates and replications."""
    check_vector("x1", x1)
    for a in x1.arrays if isinstance(x1, Blocks) else (x1,):
        if getattr(a, "requires_grad", False) or getattr(a, "is_sparse", False):  # of torch
            raise ValueError(
                "`x1` must be dense and must not require a gradient; give `x1.detach()`, or `.to_dense()`."
            )
        if 0 in a.shape and not isinstance(x1, Blocks):
            raise ValueError(f"`x1` must have at least one coordinate and one replication; got shape {tuple(a.shape)}.")
        if not _xp.all_finite(a):
            raise ValueError("`x1` must be finite; it is not.")


def _value(value: Any, x: Vector, rng: np.random.Generator) -> Any:
    """The value of f at x, for the conversion that needs it; raise unless there is a finite number for each run."""
    f, shape = value(copied(x), rng), tuple(zero_scalar(x).shape)
    f = _xp.copy(f) if _xp.is_array(f) else f
    given = np.asarray(_xp.to_numpy(f) if _xp.is_array(f) else f)
    if given.dtype.kind not in "fiu" or given.shape not in ((), (1,), shape) or not np.isfinite(given).all():
        raise ValueError(f"`value` must return a finite number, or an array of shape {shape}; got {brief(f)}.")
    return f


def _integers(values: Any, x: Vector) -> Any:
    t = _xp.first_round(leaf(x))
    return t * 0 + _xp.integers(values.tolist(), t)


def _versions(x: Vector) -> dict[str, str]:
    from . import __version__  # which is there once the package is

    return {"o2nc": __version__, "python": platform.python_version(), "numpy": np.__version__, **_xp.version(leaf(x))}
