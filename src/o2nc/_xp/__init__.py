"""The only room that knows array libraries.

Everything else is written against the Python array API standard. A scalar is an array of shape ``(..., 1)``: every
reduction here keeps its axis, so one run and a batch of replications are the same code.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import array_api_compat

from .._array import Array as Array

_KNOWN: dict[type, Any] = {}  # the look-up of the compat layer costs as much as a small array operation


def namespace(*arrays: Array) -> Any:
    """The array API namespace that all ``arrays`` share."""
    kind = type(arrays[0])
    known = _KNOWN.get(kind)
    if known is not None:
        for a in arrays:
            if type(a) is not kind:
                break
        else:
            return known
    try:
        xp = array_api_compat.array_namespace(*arrays)
        if is_array(arrays[0]):  # and not a Python number, which goes with every library
            _KNOWN[kind] = xp
        return xp
    except TypeError as error:
        kinds = sorted({f"{type(a).__module__.split('.')[0]}.{type(a).__name__}" for a in arrays})
        raise ValueError(f"All arrays must come from one array library; got {', '.join(kinds)}.") from error


def inner(u: Array, v: Array) -> Array:
    """<u, v> over the last axis, which is kept."""
    return namespace(u).linalg.vecdot(u, v, axis=-1)[..., None]


def gathered(v: Any) -> Any:
    """``v`` itself; of a DTensor, which lies in parts on several processes or is a sum over them, all of it."""
    return v.full_tensor() if is_sharded(v) else v


def is_sharded(v: Array) -> bool:
    """Whether ``v`` is a DTensor of torch, in parts; torch may be built without them."""
    return hasattr(v, "full_tensor")


def unsharded(v: Array) -> Array:
    """``v`` itself, or zeros in its whole shape if this process holds a part of it: for what asks for a shape only."""
    if not is_sharded(v):
        return v
    zeros: Array = v.to_local().new_zeros(tuple(v.shape))  # type: ignore[attr-defined]  # a DTensor has it
    return zeros


def scalar_shape(v: Array) -> tuple[int, ...]:
    """The shape of a scalar beside ``v``: its axes, all of length 1; none for a DTensor, which would be gathered."""
    return () if is_sharded(v) else (1,) * v.ndim


def hypot(u: Array, v: Array) -> Array:
    """sqrt(u^2 + v^2), entry by entry, also where squares overflow or underflow."""
    xp = namespace(u)
    if array_api_compat.is_numpy_array(u):  # in one call, since it is often few numbers
        found: Array = xp.hypot(u, v)
        return found
    low, high = xp.minimum(xp.abs(u), xp.abs(v)), xp.maximum(xp.abs(u), xp.abs(v))
    return high * xp.sqrt(1 + (low * inverse(high)) ** 2)


def at_least(v: Array, low: float) -> Array:
    """max(v, low), entry by entry."""
    if array_api_compat.is_numpy_array(v):
        return namespace(v).maximum(v, low)  # a Python number keeps the dtype, and costs less than an array
    return namespace(v).maximum(v, like(low, v))


def sign(v: Array) -> Array:
    """1, -1 or 0, entry by entry; that of the compat layer writes into its result, which a DTensor refuses."""
    return indicator(v > 0, v) - indicator(v < 0, v)


def smallest(v: Array) -> Array:
    """The least entry on the last axis, which is kept."""
    return namespace(v).min(v, axis=-1, keepdims=True)


def largest(v: Array) -> Array:
    """The greatest entry on the last axis, which is kept."""
    return namespace(v).max(v, axis=-1, keepdims=True)


def inverse(v: Array) -> Array:
    """1 / v, and 0 for what is so small, or negative, that 1 / v may be infinite or has no meaning."""
    xp = namespace(v)
    if array_api_compat.is_numpy_array(v):  # in few calls, since it is often few numbers
        found: Array = xp.divide(1, v, out=xp.zeros_like(v), where=v >= _precision(xp, v.dtype)[1])
        return found
    normal = v >= smallest_normal(v)
    return xp.where(normal, 1 / xp.where(normal, v, xp.ones_like(v)), xp.zeros_like(v))


def softmax(v: Array) -> Array:
    """exp(v) / sum exp(v) over the last axis, shifted so that nothing overflows."""
    xp = namespace(v)
    e = xp.exp(v - xp.max(v, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def log_sum_exp(v: Array) -> Array:
    """log sum exp(v) over the last axis, which is kept, shifted so that nothing overflows."""
    xp = namespace(v)
    top = xp.max(v, axis=-1, keepdims=True)
    return top + xp.log(xp.sum(xp.exp(v - top), axis=-1, keepdims=True))


def like(values: Any, v: Array) -> Array:
    """``values`` (Python numbers, or an array of the same library) with dtype and device of ``v``."""
    if type(values) is type(v) and values.dtype == v.dtype and not is_sharded(v):
        return values
    xp = namespace(v)
    if type(values) is type(v) or is_array(values):
        namespace(values, v)
        values = values if values.dtype == v.dtype else xp.astype(values, v.dtype)
        return shard_like(values, v) if is_sharded(v) and values.shape == v.shape else values
    return xp.asarray(values, dtype=v.dtype, device=device(v))


def shard_like(values: Any, v: Any) -> Any:
    """An array that each process has whole, in the parts of the DTensor ``v``; one that is in parts, as it is."""
    if is_sharded(values):
        return values
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(values, v.device_mesh, v.placements, src_data_rank=None)


def zeros(shape: tuple[int, ...], v: Array) -> Array:
    """Zeros of ``shape`` with dtype and device of ``v``."""
    return namespace(v).zeros(shape, dtype=v.dtype, device=device(v))


def eye(d: int, v: Array) -> Array:
    """The identity matrix of size ``d`` with dtype and device of ``v``."""
    return namespace(v).eye(d, dtype=v.dtype, device=device(v))


def first_round(v: Array) -> Array:
    """The round counter t = 1, an integer array of shape (1,) on the device of ``v``."""
    return namespace(v).ones((1,), dtype=namespace(v).int32, device=device(v))


def indicator(condition: Array, v: Array) -> Array:
    """1 where ``condition`` holds and 0 elsewhere, in the dtype of ``v``."""
    return namespace(v).astype(condition, v.dtype)


def integers(values: Any, t: Array) -> Array:
    """Python integers as an array with dtype and device of ``t``."""
    return namespace(t).asarray(values, dtype=t.dtype, device=device(t))


def version(v: Array) -> dict[str, str]:
    """Name and version of the library of ``v``."""
    import importlib

    name = type(v).__module__.split(".")[0].replace("jaxlib", "jax")
    return {name: str(getattr(importlib.import_module(name), "__version__", "unknown"))}


def matvec(A: Array, v: Array) -> Array:
    """A v for ``A`` of shape (..., d, d) and ``v`` of shape (..., d)."""
    xp = namespace(A, v)
    if A.ndim == 2:  # one matrix for all replications: a single matrix product
        return xp.matmul(v, xp.permute_dims(A, (1, 0)))
    return xp.matmul(A, v[..., None])[..., 0]


def multiply_add(C: Array, A: Array, B: Array, c: float, a: float) -> Array:
    """c C + a A B, in one pass where the library has one."""
    xp = namespace(A)
    if array_api_compat.is_torch_array(A) and A.ndim == 2:
        return xp.addmm(C, A, B, beta=c, alpha=a)
    return c * C + a * xp.matmul(A, B)


def flatten_matrix(A: Array) -> Array:
    """(..., p, q) -> (..., p q)."""
    return namespace(A).reshape(gathered(A), (*A.shape[:-2], A.shape[-2] * A.shape[-1]))


def symmetric(A: Array) -> Array:
    """(A + A^T) / 2: `eigh` of a matrix that is not symmetric differs between libraries."""
    return 0.5 * (A + namespace(A).matrix_transpose(A))


def solve_vector(A: Array, v: Array) -> Array:
    """A^{-1} v for matrices (..., d, d) and vectors (..., d)."""
    return namespace(v).linalg.solve(A, v[..., None])[..., 0]


def eigh(A: Array) -> tuple[Array, Array]:
    """Those of the symmetric part of ``A``; torch's own may not converge in single precision, so it is in double."""
    xp = namespace(A)
    is_exact = not array_api_compat.is_torch_array(A) or A.device.type == "mps"  # which has no double precision
    w, V = xp.linalg.eigh(symmetric(A) if is_exact else xp.astype(symmetric(A), xp.float64))
    return xp.astype(w, A.dtype), xp.astype(V, A.dtype)


def spectral_map(function: Callable[[Array], Array], A: Array) -> Array:
    """V f(w) V^T of the symmetric part of ``A`` = V w V^T, for ``f`` on the eigenvalues of shape (..., d)."""
    xp = namespace(A)
    w, V = eigh(A)
    return xp.matmul(V * function(w)[..., None, :], xp.matrix_transpose(V))


def is_array(value: Any) -> bool:
    """Whether ``value`` is an array of a library that follows the standard."""
    return bool(array_api_compat.is_array_api_obj(value))


def is_traced(v: Array) -> bool:
    """Whether ``v`` has no value yet: under a JAX trace or torch.compile, or on torch's meta device."""
    if array_api_compat.is_jax_array(v):
        import jax

        return isinstance(v, jax.core.Tracer)
    if array_api_compat.is_torch_array(v):
        import torch

        return v.device.type == "meta" or torch.compiler.is_compiling()
    return False


def compiled(function: Callable, v: Array) -> Callable:
    """``function`` compiled where the library of ``v`` wants it (JAX), itself elsewhere."""
    if array_api_compat.is_jax_array(v):
        import jax

        return jax.jit(function)
    return function


def can_trace(v: Array) -> bool:
    """Whether the library of ``v`` transforms functions by tracing them (JAX)."""
    return bool(array_api_compat.is_jax_array(v))


def vectorized(function: Callable) -> Callable:
    """``function`` on the rows of its arguments, by JAX's vmap."""
    import jax

    return jax.vmap(function)


def repeat(function: Callable[[Any], Any], rounds: int, value: Any) -> Any:
    """``function`` applied ``rounds`` times to the tuple ``value``; one loop under a JAX trace, for a quick jit."""
    if array_api_compat.is_jax_array(value[0]) and is_traced(value[0]):
        import jax

        return jax.lax.fori_loop(0, rounds, lambda _, v: function(v), value)
    for _ in range(rounds):
        value = function(value)
    return value


def when(condition: Array, function: Callable[..., Any], *values: Any) -> Any:
    """``function`` of the tuples ``values`` if ``condition``, an array with one entry, holds; else ``values``.

    Both have the same structure. What is not needed is not computed, also under a JAX trace.
    """
    if array_api_compat.is_jax_array(condition):
        import jax

        return jax.lax.cond(condition.reshape(()), function, lambda *values: values, *values)
    return function(*values) if bool(condition) else values


def only(condition: Array, function: Callable[..., tuple[Array, ...]], *values: Array) -> tuple[Array, ...]:
    """``function`` of the arrays where ``condition``, with one entry, holds; else the arrays. Only NumPy skips work."""
    if array_api_compat.is_numpy_array(condition):
        return function(*values) if bool(condition) else values
    xp = namespace(condition)
    return tuple(xp.where(condition, new, old) for new, old in zip(function(*values), values, strict=True))


def to_numpy(v: Array) -> Any:
    """A NumPy copy of ``v`` on the CPU; of a bfloat16 tensor, which NumPy does not know, in float32."""
    import numpy as np

    if array_api_compat.is_torch_array(v):
        v = v.detach().cpu()
        v = (v.float() if str(v.dtype) == "torch.bfloat16" else v).numpy()
    return np.array(v)


def floats(v: Array) -> list[float]:
    """The entries of ``v`` as Python floats."""
    return [float(value) for value in to_numpy(v).ravel()]


def copy(v: Array) -> Array:
    """A copy of ``v``; itself if its library has no arrays that change (JAX)."""
    return v if array_api_compat.is_jax_array(v) else namespace(v).asarray(v, copy=True)


def from_numpy(values: Any, v: Array) -> Array:
    """The NumPy array ``values`` in library, dtype and device of ``v``, which may be traced; not to be written to."""
    if array_api_compat.is_jax_array(v):
        import jax

        values = values.astype(v.dtype)  # jnp.asarray with a device costs 20 times as much as device_put
        return jax.numpy.asarray(values) if is_traced(v) else jax.device_put(values, device(v))
    return namespace(v).asarray(values, dtype=v.dtype, device=device(v))


def device(v: Array) -> Any:
    """Where the numbers of ``v`` are, for what goes with them; if ``v`` is sharded, every device of its mesh."""
    found = array_api_compat.device(v)
    if not array_api_compat.is_jax_array(v):
        return found
    import jax

    if is_traced(v) or not getattr(v, "committed", True):
        return None  # JAX places it, and may move it together with v
    if isinstance(found, jax.sharding.NamedSharding):  # which fits the shape of v only
        return jax.sharding.NamedSharding(found.mesh, jax.sharding.PartitionSpec())  # type: ignore[no-untyped-call]
    return found


def machine_eps(v: Array) -> float:
    """The relative precision of the floating dtype of ``v``."""
    return _precision(namespace(v), v.dtype)[0]


def smallest_normal(v: Array) -> float:
    """The smallest positive number of full precision in the floating dtype of ``v``."""
    return _precision(namespace(v), v.dtype)[1]


@cache
def _precision(xp: Any, dtype: Any) -> tuple[float, float]:
    return float(xp.finfo(dtype).eps), float(xp.finfo(dtype).smallest_normal)


def is_floating(v: Array) -> bool:
    """Whether ``v`` has a real floating dtype."""
    return bool(namespace(v).isdtype(v.dtype, "real floating"))


def all_finite(v: Array) -> bool:
    """Whether every entry of ``v`` is finite."""
    found = namespace(v).isfinite(v)
    return bool(found.all() if array_api_compat.is_numpy_array(v) else namespace(v).all(found))


def number(value: Any) -> float:
    """A Python float of a number or of an array with one entry."""
    return float(value) if isinstance(value, (int, float)) else float(to_numpy(value).reshape(()))
