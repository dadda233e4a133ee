"""What an optimizer says of itself: a dict that prints as a table."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from ..conversions.practical import PRACTICAL
from .state import Table
from .weights import Floats

COLUMNS = ("group", "expert", "weight", "regret", "error", "entropy", "scale", "rate", "effective step")
COUNTS = ("skipped", "capped")  # that are printed only if there is something to count


class Report(dict[str, Any]):
    """A nested dict of numbers, words and lists.

    Reference: none.

    >>> group = {"name": "0", "directions": {"adam": "adam"}, "weights": {"adam": 1.0}, "regret": {"adam": 0.0}}
    >>> group |= {"error": {"adam": 0.0}, "entropy": 0.0, "scale": 2.0, "rate": 0.02, "effective_step": 0.01}
    >>> report = Report(step=3, groups=[group], certificate=None, reason="practical")
    >>> print(report)
    group  expert  weight  regret  error  entropy  scale  rate      effective step
    0      adam    1.000   0       0      0.000    2      2.00e-02  1.00e-02
    step         3
    certificate  none
    reason       practical
    >>> report.flat()["groups/0/weights/adam"]
    1.0
    """

    def flat(self) -> dict[str, Any]:
        """All of it under keys with "/" between their parts."""
        return dict(_flat("", self))

    def __str__(self) -> str:
        groups = self.get("groups", [])
        rows = [row for group in groups for row in _rows(group)]
        shown = {key: value for key, value in self.items() if key != "groups" and (key not in COUNTS or value)}
        rest = [(key, "none" if value is None else _text(value)) for key, value in shown.items()]
        return "\n".join([*(_aligned([COLUMNS, *rows]) if groups else []), *_aligned(rest)])


def practical(table: Table, skipped: int) -> Report:
    r"""The report of `Hedged`.

    For each group: the directions that its tensors really got from each expert, as "adam" from "muon" where they are no
    matrices; the weights of the experts, the means over its tensors, and with ``weights="tensor"`` also the least
    and the most; their mean entropy; the regret against each expert, the sum over the steps of the loss of the mixture
    minus that of the expert, with its standard error by the noise of the gradients; the expert that would have won, if
    the regret against it is the largest by two standard errors; the factor that the scale has learned, and the rate of
    the next step, ``lr`` times it, which is 0 at the end of a schedule; and the root mean square of what the last step
    has moved, without decay, over all entries that this process holds: a report asks nothing of others, so that one
    process may write it alone. Of all groups together: the steps that were left out, and those in which weight decay
    has kept the scale smaller.

    Reference: none.
    """
    found, factor = [], table.factor()
    for g, (group, rows) in enumerate(zip(table.groups, table.members, strict=True)):
        if not rows:
            continue
        learner, own = table.learner_of[rows[0]][0], [table.learner_of[row][1] for row in rows]
        regret, error = learner.regret[own].mean(0), np.sqrt((learner.error[own] ** 2).mean(0))
        w, size = learner.now()[own], max(sum(table.local[row].numel() for row in rows), 1)

        def named(values: Floats, names: Sequence[str] = group["experts"]) -> dict[str, float]:
            return dict(zip(names, values.tolist(), strict=True))

        found.append(
            {
                "name": group.get("name", str(g)),
                "directions": {
                    name: ", ".join(dict.fromkeys(table.experts[row][name].name for row in rows))
                    for name in group["experts"]
                },
                "weights": named(w.mean(0)),
                **({"least": named(w.min(0)), "most": named(w.max(0))} if group["weights"] == "tensor" else {}),
                "entropy": float(-(w * np.log(np.where(w > 0, w, 1))).sum(-1).mean()),
                "regret": named(regret),
                "error": named(error),
                "winner": winner(named(regret), named(error)),
                "scale": float(factor[rows[0]]),
                "rate": float(group["lr"]) * float(factor[rows[0]]),
                "effective_step": (sum(squared(table, row) for row in rows) / size) ** 0.5,
            }
        )
    t = int(table.t.max()) if len(table.t) else 0
    counts = {"skipped": skipped, "capped": table.scale.capped}
    return Report(step=t, groups=found, **counts, certificate=None, reason=PRACTICAL)


def winner(regret: dict[str, float], error: dict[str, float]) -> str | None:
    """The expert that would have done best; None if it cannot be told, by two standard errors.

    >>> winner({"muon": 1.0, "soap": 3.0}, {"muon": 0.6, "soap": 0.6}), winner({"muon": 1.0}, {"muon": 0.0})
    ('soap', 'muon')
    >>> winner({"muon": 1.0, "soap": 3.0}, {"muon": 1.0, "soap": 1.0})
    """
    best = max(regret, key=lambda name: regret[name])
    others = [name for name in regret if name != best]
    is_clear = all(regret[best] - regret[k] > 2 * math.hypot(error[best], error[k]) for k in others)
    return best if is_clear else None


def squared(table: Table, row: int) -> float:
    """|rate u|^2 of the last step of a parameter, over the entries that this process holds."""
    return float(table.played[row] * table.size[row]) ** 2 * table.local[row].numel()


def violated(groups: Sequence[dict[str, Any]], fresh_samples: bool, T: int | None, t: int) -> str:
    """The first hypothesis of a theorem about T rounds that round t does not meet, in words; nothing if it meets all.

    Reference: Theorems 1 and 2; the label "practical" in the theory pages.

    >>> violated([{"lr": 0.5, "params": [], "weight_decay": 0, "maximize": False}], True, 100, 1)
    '`lr` must be 1 in every step; it was [0.5] in round 1'
    """
    rates = {float(group["lr"]) for group in groups}
    narrow = {str(p.dtype) for group in groups for p in group["params"] if torch.finfo(p.dtype).bits < 32}
    sentences = {
        "`fresh_samples=True` was not declared": not fresh_samples,
        f"`lr` must be 1 in every step; it was {sorted(rates)} in round {t}": rates != {1.0},
        "a scheduler sets `lr`": any("initial_lr" in group for group in groups),
        "there must be no weight decay": any(group["weight_decay"] != 0 for group in groups),
        "some groups are maximised and some are not": len({bool(group["maximize"]) for group in groups}) > 1,
        f"samples were taken at points rounded to {sorted(narrow)}": bool(narrow),
        f"the theorem is about T = {T} rounds; this was round {t}": T is not None and t > T,
    }
    return next((why for why, is_violated in sentences.items() if is_violated), "")


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _flat(f"{path}/{key}" if path else str(key), item)
    else:
        yield path, value


def _rows(group: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    last = (f"{group['scale']:.3g}", f"{group['rate']:.2e}", f"{group['effective_step']:.2e}")
    directions = group["directions"]
    if len(directions) > 1 and len(set(directions.values())) == 1:  # nothing to choose here
        yield (group["name"], next(iter(directions.values())), "1.000", "", "", "", *last)
        return
    for expert, weight in group["weights"].items():
        regret, error = (f"{group[key][expert]:.3g}" for key in ("regret", "error"))
        yield (group["name"], expert, f"{weight:.3f}", regret, error, f"{group['entropy']:.3f}", *last)


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in rows]
