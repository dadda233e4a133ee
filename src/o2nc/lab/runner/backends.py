"""The array libraries of a run: how to make arrays, in which mode to compute, and how to loop over rounds."""

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _xp
from ..._xp import Array

BACKENDS = ("numpy", "torch", "jax")
DTYPES = ("float64", "float32")

Round = Callable[..., tuple[Any, dict[str, Array]]]  # (carry, the noise and draws of a round) -> (carry, records)


def check(backend: str, dtype: str) -> None:
    """Raise unless ``backend`` and ``dtype`` are known and the library is installed.

    >>> check("cupy", "float64")
    Traceback (most recent call last):
        ...
    ValueError: `backend` must be one of numpy, torch, jax; got 'cupy'.
    """
    if backend not in BACKENDS:
        raise ValueError(f"`backend` must be one of {', '.join(BACKENDS)}; got {backend!r}.")
    if dtype not in DTYPES:
        raise ValueError(f"`dtype` must be one of {', '.join(DTYPES)}; got {dtype!r}.")
    if importlib.util.find_spec(backend) is None:
        raise ModuleNotFoundError(f"`backend` {backend!r} needs the package {backend}: pip install 'o2nc[{backend}]'.")


@contextlib.contextmanager
def mode(backend: str, dtype: str) -> Iterator[Array]:
    """The mode in which ``backend`` computes in ``dtype`` without gradients, and an array to take both from.

    >>> with mode("numpy", "float32") as like:
    ...     like.dtype
    dtype('float32')
    """
    check(backend, dtype)
    if backend == "torch":
        import torch

        with torch.no_grad():
            yield torch.zeros(1, dtype=getattr(torch, dtype))
    elif backend == "jax":
        import jax
        import jax.experimental

        place: Any = jax if hasattr(jax, "enable_x64") else jax.experimental  # where old versions have it
        with place.enable_x64(dtype == "float64"):
            yield jax.numpy.zeros(1, dtype=dtype)
    else:
        yield np.zeros(1, dtype=dtype)


def loop(round: Round, like: Array) -> Round:
    """A function (carry, noise and draws of a block) -> (carry, the records of its rounds, stacked on the first axis).

    On JAX it is one compiled ``lax.scan``, elsewhere a loop.

    >>> play = loop(lambda c, s: (c + s, {"square": s * s}), np.zeros(1))
    >>> carry, found = play(np.zeros((1, 1)), 2 * np.ones((3, 1, 1)))
    >>> float(carry[0, 0]), found["square"].shape
    (6.0, (3, 1, 1))
    """
    if type(like).__module__.startswith(("jax", "jaxlib")):
        import jax

        return jax.jit(lambda carry, *drawn: jax.lax.scan(lambda c, now: round(c, *now), carry, drawn))

    def plain(carry: Any, *drawn: Array) -> tuple[Any, dict[str, Array]]:
        records = []
        for now in zip(*drawn, strict=True):
            carry, record = round(carry, *now)
            records.append(record)
        xp = _xp.namespace(like)
        return carry, {name: xp.stack([record[name] for record in records]) for name in records[0]}

    return plain


def numbers(v: Array) -> NDArray[np.float64]:
    """An array (..., 1) of any library as NumPy float64 numbers (...).

    >>> numbers(np.ones((3, 2, 1), dtype=np.float32)).shape
    (3, 2)
    """
    return np.asarray(_xp.to_numpy(v), dtype=np.float64)[..., 0]
