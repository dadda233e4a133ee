"""Gradient transformations for JAX. Inside this package, ``import optax`` is Optax itself."""

try:
    import jax as _jax  # noqa: F401
    import optax as _optax  # noqa: F401
except ModuleNotFoundError as error:
    missing = {"jax": "JAX", "optax": "Optax"}.get(error.name or "")
    if missing is None:
        raise
    raise ModuleNotFoundError(
        f"`o2nc.optax` needs {missing}, which is not installed; `pip install 'o2nc[jax]'` brings it.", name=error.name
    ) from error

from .cap import capped
from .converted import ConvertState, convert
from .hedged import hedge
from .outcome import certificate, eval_params
from .reports import Report, report
from .transformed import Transformed

__all__ = [
    "ConvertState",
    "Report",
    "Transformed",
    "capped",
    "certificate",
    "convert",
    "eval_params",
    "hedge",
    "report",
]
