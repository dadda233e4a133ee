"""Which theorem is about a run of a conversion, and its certificate from measured or from stated regret."""

import math
from statistics import fmean
from typing import Any

from . import _xp
from .certificates import Certificate, mean_interval, theorem1, theorem1_segment, theorem1_sharp, theorem2
from .conversions import NonsmoothConversion, SegmentConversion, SmoothConversion
from .vectors import Vector, inner

CLIPPED_LIMIT = 0.5  # the share of projected rounds above which the constants are called wrong

ROUNDING = 1e-4  # of squared lengths, in float32 and for many parameters

Proved = SmoothConversion | SegmentConversion | NonsmoothConversion


def theorem(conversion: Proved, regret: float, **details: Any) -> Certificate:
    """The theorem that is about ``conversion``, with this regret.

    Reference: Theorems 1 and 2.

    >>> from o2nc import Smooth, SmoothConversion
    >>> from o2nc.oracles import Constant
    >>> theorem(SmoothConversion(Constant(), Smooth(M=1.0, beta=1.0, sigma=0.0, T=97)), 0.0).bound
    1.0
    """
    if isinstance(conversion, NonsmoothConversion):
        return theorem2(conversion.constants, regret, **details)
    constants, kappa = conversion.constants, conversion.kappa
    if isinstance(conversion, SegmentConversion):
        return theorem1_segment(constants, regret, r=conversion.r, kappa=kappa, **details)
    if kappa > 1:  # up to there the printed constants hold
        return theorem1_sharp(constants, regret, kappa=kappa, **details)
    return theorem1(constants, regret, **details)


def is_contraction(conversion: Proved, dx: Vector, before: Any, after: Any) -> bool:
    """Whether the step that an update committed is no longer than a contraction makes it, in every replication."""
    if isinstance(conversion, SmoothConversion):
        step, direction = inner(dx, dx), inner(before.m, before.m)
    elif isinstance(conversion, SegmentConversion):
        step, direction = inner(after.delta, after.delta), inner(after.m, after.m)
    else:
        step = inner(after.delta, after.delta)
        direction = step * 0 + 1.0  # z is no longer than 1
    longest = (1 + ROUNDING) * conversion.constants.eta**2 * direction + _xp.smallest_normal(step)
    return bool(_xp.namespace(step).all(step <= longest))


def measured(conversion: Proved, regrets: list[float]) -> Certificate:
    """The certificate from the regret of one run, or of several replications."""
    if len(regrets) == 1:
        note = "the regret of one run stands for its expectation"
        return theorem(conversion, regrets[0], label="plug-in", replications=1, note=note)
    low, high = (theorem(conversion, bound).bound for bound in mean_interval(regrets))
    mean = fmean(regrets)
    return theorem(conversion, mean, label="a-posteriori", replications=len(regrets), interval=(low, high))


def stated(conversion: Proved, x: Vector) -> Certificate | None:
    """The certificate from the regret bound that the oracle states for vectors like x; None if it states none."""
    if isinstance(conversion, NonsmoothConversion):
        energy = conversion.constants.energy()
    else:
        energy = conversion.constants.energy(conversion.kappa)
    bound = getattr(conversion.oracle, "regret_bound", lambda x, energy: math.inf)(x, energy)
    return None if bound == math.inf else theorem(conversion, bound, label="a-priori")
