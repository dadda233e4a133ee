"""What an optimizer says of itself: a dict that prints as a table."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from .books import Books
from .sweep import Sweep

PRACTICAL = "practical: the learning rate is your own, and the learner states no bound, so no theorem applies"
COLUMNS = ("group", "expert", "weight", "regret", "entropy", "effective step")


class Report(dict[str, Any]):
    """A nested dict of numbers, words and lists.

    Reference: none.

    >>> group = {"name": "0", "weights": {"adam": 1.0}, "regret": {"adam": 0.0}, "entropy": 0.0, "effective_step": 0.01}
    >>> report = Report(step=3, groups=[group], certificate=None, reason="practical")
    >>> print(report)
    group  expert  weight  regret  entropy  effective step
    0      adam    1.000   0.00    0.000    1.00e-02
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
        rest = [(key, "none" if value is None else _text(value)) for key, value in self.items() if key != "groups"]
        return "\n".join([*(_aligned([COLUMNS, *rows]) if groups else []), *_aligned(rest)])


@torch.no_grad()
def practical(books: Books, groups: Sequence[dict[str, Any]]) -> Report:
    r"""The report of `Hedged`.

    For each group: the weights of the experts, the means over its tensors, and with ``weights="tensor"`` also the least
    and the most; their mean entropy; the regret against each expert, the sum over the steps of the loss of the mixture
    minus that of the expert; and the root mean square of $lr\sum_kw_kd_k$ in the last step, over all entries that this
    process holds: a report asks nothing of others, so that one process may write it alone.

    Reference: none.
    """
    found = []
    squares = _squares(books, groups)
    learners = {row: (learner, learner.rows[k]) for rows, learner in books.learners for k, row in enumerate(rows)}
    for g, group in enumerate(groups):
        rows = [row for row, other in enumerate(books.group_of) if other == g]
        if not rows:
            continue
        learner, own = learners[rows[0]][0], [learners[row][1] for row in rows]
        w, size = learner.weights()[own], max(sum(books.local[row].numel() for row in rows), 1)

        def named(values: torch.Tensor, names: Sequence[str] = group["experts"]) -> dict[str, float]:
            return dict(zip(names, values.tolist(), strict=True))

        found.append(
            {
                "name": group.get("name", str(g)),
                "weights": named(w.mean(0)),
                **({"least": named(w.amin(0)), "most": named(w.amax(0))} if group["weights"] == "tensor" else {}),
                "entropy": float(torch.special.entr(w).sum(-1).mean()),
                "regret": named(learner.regret[own].mean(0)),
                "effective_step": (sum(squares[row] for row in rows) / size) ** 0.5,
            }
        )
    t = int(books.t.max()) if len(books.t) else 0
    return Report(step=t, groups=found, certificate=None, reason=PRACTICAL)


def _squares(books: Books, groups: Sequence[dict[str, Any]]) -> list[float]:
    """|lr sum_k w_k d_k|^2 of the last step, by row: a step of length 1 from 0, without gradients or decay."""
    rows = tuple(row for row, lr in enumerate(books.played.tolist()) if lr > 0)
    found = [0.0] * len(books.params)
    if rows:
        alone = [{**group, "lr": 1.0, "weight_decay": 0.0} for group in groups]
        for row, d in zip(rows, Sweep(books, alone, [], rows, foreach=True, compile=False).mixture(), strict=True):
            found[row] = float(books.played[row] * torch.linalg.vector_norm(d, dtype=torch.float64)) ** 2
    return found


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _flat(f"{path}/{key}" if path else str(key), item)
    else:
        yield path, value


def _rows(group: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    last = (f"{group['entropy']:.3f}", f"{group['effective_step']:.2e}")
    for expert, weight in group["weights"].items():
        yield (group["name"], expert, f"{weight:.3f}", f"{group['regret'][expert]:.2f}", *last)


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in rows]
