"""Samples of the gradient at a few points, for people who do not know the constants of their objective."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _xp
from ._minimize import Gradient, check_gradient, check_sample
from .checks import check_number
from .estimates import Probes
from .vectors import Vector, apply, check_vector, inner

Value = Callable[[Vector, np.random.Generator], Any]


def probe(
    gradient: Gradient,
    x1: Vector,
    value: Value | None = None,
    *,
    points: int = 10,
    repeats: int = 4,
    turns: int = 6,
    h: float = 1e-3,
    seed: int = 0,
) -> Probes:
    r"""Look at an objective at ``x1`` and at random points around it whose distances double.

    At each point ``repeats`` samples give the squared gradient and the variance. Then short segments are walked, from
    the point x to $x+h(1+\|x_1\|)v$, each direction v that of the last change of the gradient (the power method), the
    first one random: the samples at both ends have the same randomness, so that noise that does not depend on x
    cancels. The first distance is $\|\nabla f(x_1)\|/\hat\beta$, a step of Newton's method.

    It draws ``points * repeats * (1 + turns)`` samples, 280 unless you say otherwise.

    Args:
        gradient: as in `o2nc.minimize`, with randomness from ``rng`` only.
        x1: the starting point; a batch is probed row by row, and its rows are counted as points.
        value: ``value(x, rng)`` is f(x), or a sample of it; a number, or an array with one number for each row.
        points: how many points, ``x1`` included.
        repeats: samples a point, at least 2.
        turns: segments a point.
        h: their length, relative to $1+\|x_1\|$.
        seed: of the directions and the samples.

    Reference: none; practical.

    >>> import numpy as np
    >>> import o2nc
    >>> seen = o2nc.probe(lambda x, rng: 4 * np.sin(x) + rng.choice([-0.3, 0.3], size=x.shape), np.ones(2))
    >>> print(f"{seen.samples} {seen.beta:.2f} {seen.sigma:.1f}")
    280 4.00 0.4
    >>> constants = o2nc.Smooth.estimate(seen, T=1000)
    """
    check_vector("x1", x1)
    check_gradient(gradient)
    if value is not None:
        check_gradient(value, "value")
    for name, count, least in (("points", points, 1), ("repeats", repeats, 2), ("turns", turns, 1), ("seed", seed, 0)):
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise ValueError(f"`{name}` must be a whole number, at least {least}; got {count!r}.")
    check_number("h", h, positive=True)
    directions = _generator(seed, 2)
    short = h * (1 + _root(inner(x1, x1)))
    found: dict[str, list[float]] = {"distances": [], "curvatures": [], "variances": [], "squares": [], "values": []}
    distance = short * 0
    for j in range(points):
        x = x1 + _unit(x1, directions) * distance if j else x1
        here = list(_samples(gradient, x, seed, j, repeats))
        if j == 0:
            _check_reproducible(here[0], next(_samples(gradient, x, seed, j, 1)))
        mean = _mean(here)
        variance = sum(inner(s - mean, s - mean) for s in here) / (repeats - 1)
        square = inner(mean, mean) - variance / repeats
        curvature, v = short * 0, _unit(x1, directions)
        for _ in range(turns):
            change = _mean(list(_samples(gradient, x + v * short, seed, j, repeats))) - mean
            length = _root(inner(change, change))
            curvature = _xp.namespace(length).maximum(curvature, length / short)
            v = change * _xp.inverse(length)
        _note(found, distances=distance, curvatures=curvature, variances=variance, squares=square)
        if value is not None:
            there, start = (_value(value(at, _generator(seed, 4, j)), short) for at in (x, x1))
            _note(found, values=there - start)
        far = _root(_xp.at_least(square, 0.0)) * _xp.inverse(curvature)
        distance = _xp.namespace(far).maximum(far, short) if j == 0 else 2 * distance
    return Probes(points * repeats * (1 + turns), **{name: tuple(numbers) for name, numbers in found.items()})


def _generator(*key: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key)))


def _samples(gradient: Gradient, x: Vector, seed: int, j: int, repeats: int) -> Iterator[Vector]:
    """Samples at x with the randomness of point j, the same wherever x is."""
    for i in range(repeats):
        s = gradient(apply(_xp.copy, x), _generator(seed, 3, j, i))
        check_sample(s, x, i + 1)
        yield s


def _mean(samples: list[Vector]) -> Vector:
    total = samples[0]
    for s in samples[1:]:
        total = total + s
    return total * (1 / len(samples))


def _unit(x: Vector, rng: np.random.Generator) -> Vector:
    """A random direction like x, one a row."""
    v = apply(lambda a: _xp.from_numpy(rng.normal(size=tuple(a.shape)), a), x)
    return v * _xp.inverse(_root(inner(v, v)))


def _root(square: Any) -> Any:
    return _xp.namespace(square).sqrt(square)


def _check_reproducible(one: Vector, two: Vector) -> None:
    difference = one - two
    if _xp.to_numpy(inner(difference, difference)).any():
        raise ValueError(
            "`gradient` must take its randomness from `rng` only; the same generator gave two different samples."
        )


def _number(value: Any) -> Any:
    return np.asarray(value if isinstance(value, (int, float)) else _xp.to_numpy(value), dtype=float)


def _value(value: Any, rows: Any) -> Any:
    """The values that were given; raise unless there is one a row, as in the scalar ``rows``."""
    if not isinstance(value, (int, float)) and not _xp.is_array(value) and not isinstance(value, np.generic):
        raise TypeError(f"`value` must return a number, or one a row; got {value!r}.")
    if (found := _number(value)).size != (count := _number(rows).size):
        raise ValueError(f"`value` must return one number for each row, {count}; got shape {found.shape}.")
    return found.reshape(-1)


def _note(found: dict[str, list[float]], **measured: Any) -> None:
    for name, numbers in measured.items():
        found[name] += [float(number) for number in _number(numbers).ravel()]
