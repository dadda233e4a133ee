"""Wrong sets: one wrong input for each argument, and an error that names the argument, the rule and the value."""

import math

import numpy as np
import pytest

from o2nc import Blocks
from o2nc.operators import Identity
from o2nc.sets import Box, Hull, SpectralBall, Varying
from sentences import check

BLOCKS = Blocks((np.ones((2, 2)), np.ones(3)))
WRONG = {
    "hull of none": (lambda: Hull(()), ValueError, "`Hull(operators=...)`", "at least one", "got none"),
    "hull of an array": (lambda: Hull(np.eye(2)), TypeError, "`Hull(operators=...)`", "sequence of operators"),
    "hull of arrays": (lambda: Hull([np.eye(2)]), TypeError, "`Hull(operators=...)`", "got an array", "Dense"),
    "hull of text": (lambda: Hull(["I"]), TypeError, "`Hull(operators=...)`", "with U @ v; got 'I'"),
    "hull of a class": (lambda: Hull([Identity]), TypeError, "`Hull(operators=...)`", "got the class Identity"),
    "box above 1": (lambda: Box(0.0, 1.5), ValueError, "`Box(high=...)`", "[-1, 1]", "got 1.5"),
    "box below -1": (lambda: Box(-1.5, 1.0), ValueError, "`Box(low=...)`", "[-1, 1]", "got -1.5"),
    "box not a number": (lambda: Box(math.nan, 1.0), ValueError, "`Box(low=...)`", "got nan"),
    "box of arrays": (lambda: Box(np.zeros(2), 1.0), ValueError, "`Box(low=...)`", "number", "got array"),
    "box of none": (lambda: Box(0.0, None), ValueError, "`Box(high=...)`", "number", "got None"),
    "box upside down": (lambda: Box(0.5, 0.25), ValueError, "`Box(low=...)`", "not exceed `high`; got 0.5 > 0.25"),
    "varying without a rule": (lambda: Varying(Box()), TypeError, "`Varying(rule=...)`", "function", "got Box(low=0.0"),
    "varying by a class": (lambda: Varying(Box), TypeError, "`Varying(rule=...)`", "function", "Box"),
    "varying by a word": (
        lambda: Varying(lambda t: Box(), "yes"), TypeError, "`Varying(holds_identity=...)`", "got 'yes'",
    ),
    "spectral ball of blocks": (
        lambda: SpectralBall().start(BLOCKS), TypeError, "`SpectralBall`", "one array; got Blocks",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)
