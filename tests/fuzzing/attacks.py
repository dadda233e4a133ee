"""What the fuzzers share: how many cases there are, gradients of every kind, and what an error must be."""

import os

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

FACTOR = int(os.environ.get("O2NC_FUZZ", "1"))  # how many times as many cases as in the suite
SIZES = {  # of gradients; in float32 squares overflow from 1.8e19 on
    "normal": 1.0,
    "zero": 0.0,
    "tiny": 1e-30,
    "subnormal": 1e-42,
    "large": 1e6,
    "very large": 1e15,
    "square almost overflows": 3e18,
    "square overflows": 1e20,
    "huge": 1e30,
    "almost infinite": 1e38,
}
BAD = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
FINE = ("normal", "zero", "tiny", "subnormal", "large")  # no step may refuse these, in no dtype
USUAL = ("normal",) * 6 + FINE  # most gradients are such
KINDS = st.sampled_from((*USUAL, *SIZES, *BAD, "missing", "missing"))


def cases(count, steps=20):
    """The settings of a test: the same cases in every run of the suite, and many others if more are asked for."""
    return settings(
        max_examples=count * FACTOR,
        stateful_step_count=steps if FACTOR == 1 else 2 * steps,
        deadline=None,
        derandomize=FACTOR == 1,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


def gradient(kind, shape, rng):
    """An array in float64; one that is bad is so in a single entry. None if it is missing."""
    if kind == "missing":
        return None
    a = np.array(rng.standard_normal(shape) * SIZES.get(kind, 1.0))
    if kind in BAD and a.size:
        a.flat[rng.integers(a.size)] = BAD[kind]
    return a


def sentence(error):
    """Fail unless an error is what a user can read."""
    assert isinstance(error, (ValueError, TypeError)), repr(error)
    message = str(error)
    assert message.endswith("."), message
    assert len(message.split()) > 3, message
    assert " object at 0x" not in message, message


def refusal(call):
    """The error that a call must raise."""
    try:
        call()
    except (ValueError, TypeError) as error:
        sentence(error)
        return error
    raise AssertionError("It must be refused, and was not.")
