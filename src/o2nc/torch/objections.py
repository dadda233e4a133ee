"""Why no theorem is about a training run."""

from typing import Any

import torch

from ..conversions import Conversion
from ..guarantees import Proved


def objection(conversion: Conversion, groups: list[dict[str, Any]], fresh_samples: bool, t: int) -> str:
    """The first hypothesis of the theorems that round ``t`` does not meet, in words; nothing if it meets all.

    Reference: Theorems 1 and 2; the label "practical" in the theory pages.

    >>> from o2nc import SGD
    >>> objection(SGD(eta=0.1), [], True, 1)
    'only Algorithms 1 and 2 are certified here, not SGD'
    """
    if not isinstance(conversion, Proved):
        return f"only Algorithms 1 and 2 are certified here, not {type(conversion).__name__}"
    if conversion.constants.practical:
        return conversion.constants.practical
    T, rates = conversion.constants.T, {float(group["lr"]) for group in groups}
    narrow = {str(p.dtype) for group in groups for p in group["params"] if torch.finfo(p.dtype).bits < 32}
    broken = {
        "`fresh_samples=True` was not declared": not fresh_samples,
        f"`lr` must be 1 in every step; it was {sorted(rates)} in round {t}": rates != {1.0},
        "a scheduler sets `lr`": any("initial_lr" in group for group in groups),
        "there must be no weight decay": any(group["weight_decay"] != 0 for group in groups),
        "some groups are maximised and some are not": len({bool(group["maximize"]) for group in groups}) > 1,
        f"samples were taken at points rounded to {sorted(narrow)}": bool(narrow),
        f"the theorem is about T = {T} rounds; this was round {t}": t > T,
    }
    return next((why for why, is_broken in broken.items() if is_broken), "")
