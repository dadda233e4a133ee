"""The most memory that a step takes besides what it keeps."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from torch.profiler import profile

from .methods import FOREACH, METHODS, Method
from .shapes import Shape
from .timing import WARM, parameters, repeat

SHOWN = (FOREACH, "Hedged momentum+adam", "Hedged momentum+adam compiled", "Hedged muon+adam", "Hedged muon+soap")


def peak(changes: Iterable[int]) -> int:
    """The most bytes at a time, from what was taken and given back, in order.

    >>> peak([4, 4, -4, 2, -6]), peak([])
    (8, 0)
    """
    return max(accumulate(changes, initial=0))


def temporaries(method: Method, shapes: Sequence[Shape]) -> float:
    """The peak of a step over the bytes of the parameters, in float32; torch's memory alone, not that of NumPy."""
    opt = method.make(parameters(shapes))
    repeat({"": opt.step}, WARM)
    with profile(profile_memory=True) as found:
        opt.step()
    events = [event for event in found.profiler.kineto_results.events() if event.name() == "[memory]"]
    changes = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    return peak(changes) / (4 * sum(map(math.prod, shapes)))


def measured(shapes: Sequence[Shape], methods: Mapping[str, Method] = METHODS) -> dict[str, float]:
    """The temporaries of some methods."""
    return {name: temporaries(methods[name], shapes) for name in SHOWN}
