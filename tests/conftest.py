"""What tests share: every array library in turn, and processes that work together."""

import importlib.metadata
import os
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Eager JAX compiles every primitive once a shape and process: thousands of small programs, none of which runs for long.
# Each is compiled quickly, and once for all processes and for the next run.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import array_api_strict
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import settings

try:
    importlib.metadata.version("torch")  # the folder of tests with its name is none
except importlib.metadata.PackageNotFoundError:  # there is no CPU build for this Python: the core is tested without it
    torch = None
else:
    import torch

    torch.set_num_threads(1)


# The same cases in every run and on every machine, so that no suite fails at random; fuzzers can be asked for others.
settings.register_profile("suite", derandomize=True, database=None, deadline=None)
settings.load_profile("suite")
try:  # newer versions also draw numbers that they find in the modules that happen to be loaded
    from hypothesis.internal.conjecture import providers
except ImportError:
    pass
else:
    if hasattr(providers, "_get_local_constants"):
        providers._get_local_constants = providers.Constants


def _read_only(values, dtype):
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


class Backend:
    """An array library as a test sees it: how to make arrays, read them, and run an update."""

    def __init__(self, name, make, transform=lambda function: function):
        self.name, self._make, self.transform = name, make, transform

    def array(self, values, dtype="float64"):
        return self._make(np.asarray(values), dtype)

    def __repr__(self):
        return self.name


def numpy_of(v):
    """A NumPy copy of an array of any library."""
    return v.detach().numpy().copy() if hasattr(v, "detach") else np.array(v)


BACKENDS = [
    Backend("numpy", lambda v, dtype: np.array(v, dtype=dtype)),
    Backend("read-only", _read_only),
    Backend("strict", lambda v, dtype: array_api_strict.asarray(v, dtype=getattr(array_api_strict, dtype))),
    *([Backend("torch", lambda v, dtype: torch.asarray(np.array(v), dtype=getattr(torch, dtype)))] if torch else []),
    Backend("jax", lambda v, dtype: jnp.asarray(v, dtype=dtype)),
    Backend("jax-jit", lambda v, dtype: jnp.asarray(v, dtype=dtype), jax.jit),
]


def with_marks(backends):
    """Array libraries as parameters of tests; JAX compiles each operation if it is not told to compile all at once."""
    return [pytest.param(b, id=b.name, marks=pytest.mark.slow if b.name == "jax" else ()) for b in backends]


@pytest.fixture(params=with_marks(BACKENDS))
def xp(request):
    """Every array library in turn."""
    return request.param


@pytest.fixture
def accelerate_anew():
    """Accelerate without the settings of other tests, which it keeps for the life of a process."""
    from accelerate.state import AcceleratorState, GradientState

    def forget():
        AcceleratorState._reset_state(reset_partial_state=True)
        GradientState._reset_state()

    forget()
    yield
    forget()


@pytest.fixture(scope="session")
def ranks(tmp_path_factory):
    """Two processes that work together, for as long as tests last: starting them takes seconds."""
    from ranks import Ranks

    ranks = Ranks(2, tmp_path_factory.mktemp("ranks"))
    yield ranks
    ranks.close()
