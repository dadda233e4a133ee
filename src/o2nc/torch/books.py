"""The books of `Hedged`: what it remembers of every parameter, and where it lies."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from .buckets import SIZE, Bucket, buckets
from .experts import Adam, Expert, Polar
from .learner import Learner

Tensor = torch.Tensor
Entry = dict[str, Tensor]
SCALARS = ("t", "q", "e", "played")  # steps, the averages of s^2 and |s|, and the lr with which it was moved last


def width(p: Tensor) -> torch.dtype:
    """The dtype of the state of a parameter: float64 for float64, else float32."""
    return torch.float64 if p.dtype == torch.float64 else torch.float32


class Plan(NamedTuple):
    """How the parameters that have gradients are swept over."""

    buckets: list[tuple[Bucket, tuple[Expert, ...]]]  # parameters of the same group and experts each, and these
    places: tuple[Tensor, ...]  # the row and the expert of what is found for each expert on each bucket, in this order


class Books:
    """All parameters by number (their row), their groups, learners and state.

    ``Optimizer.state`` stays the only store: the numbers of the parameters and the arrays of the learners are kept as
    one array each, on the CPU in float64, and the state of every parameter holds views of them.

    Args:
        groups: the optimizer's.
        experts: of each group.
        state: the optimizer's.

    Reference: none; ``torch.distributed.checkpoint`` keeps what is keyed by parameter, and nothing else.
    """

    def __init__(self, groups: Sequence[dict[str, Any]], experts: Sequence[tuple[Expert, ...]], state: Any):
        self.state = state
        self.params: list[Tensor] = [p for group in groups for p in group["params"]]
        self.group_of = [g for g, group in enumerate(groups) for _ in group["params"]]
        self.sizes = [p.numel() for p in self.params]
        self.experts = [
            tuple(resolve(expert, p, group) for expert in chosen)
            for group, chosen in zip(groups, experts, strict=True)
            for p in group["params"]
        ]
        n = len(self.params)
        self.t, self.q, self.e, self.played = (torch.zeros(n, dtype=torch.float64) for _ in SCALARS)
        self.learners = self._learners(groups, experts)
        self._plans: dict[Any, Plan] = {}
        for row, p in enumerate(self.params):
            if state.get(p):
                self._enter(row)

    def _learners(
        self, groups: Sequence[dict[str, Any]], experts: Sequence[tuple[Expert, ...]]
    ) -> list[tuple[list[int], Learner]]:
        """For each learner the rows of its parameters; those that share a row of the learner are judged together."""
        members: dict[Any, list[int]] = {}
        for row, g in enumerate(self.group_of):
            shared = groups[g]["weights"] == "shared"
            members.setdefault(tuple(expert.name for expert in experts[g]) if shared else g, []).append(row)
        found = []
        for rows in members.values():
            group = groups[self.group_of[rows[0]]]
            own = list(range(len(rows))) if group["weights"] == "tensor" else [0] * len(rows)
            found.append((rows, Learner(len(experts[self.group_of[rows[0]]]), group["rho"], group["c"], own)))
        return found

    def start(self, rows: Sequence[int]) -> None:
        """Make the state of parameters that have none."""
        for row in rows:
            p = self.params[row]
            if self.state.get(p):
                continue
            entry: Entry = {"m": torch.zeros(p.shape, dtype=width(p), device=p.device)}
            for expert in self.experts[row]:
                for key in expert.keeps:
                    if key == "mask":
                        entry[key] = expert.factors(p)  # type: ignore[union-attr]
                    else:
                        entry[key] = torch.zeros_like(entry["m"])
            if p.dtype != width(p):
                entry["x"] = p.detach().to(width(p))
            self.state[p] = entry
            self._enter(row)

    def _enter(self, row: int) -> None:
        """Take the numbers of a parameter over, and let its state hold views of the books."""
        entry = self.state[self.params[row]]
        for key in SCALARS:
            own = getattr(self, key)[row]
            if key in entry:
                own.copy_(entry[key])
            entry[key] = own
        for rows, learner in self.learners:
            if row in rows:
                learner.enter(entry, rows.index(row))

    def plan(self, rows: tuple[int, ...], size: int = SIZE) -> Plan:
        """Large parameters are cut into pieces of ``size`` entries, small ones are packed."""
        if (rows, size) not in self._plans:
            alike: dict[Any, list[int]] = {}
            for row in rows:
                alike.setdefault((self.group_of[row], self.experts[row], width(self.params[row])), []).append(row)
            pairs = [(bucket, key[1]) for key, mine in alike.items() for bucket in buckets(mine, self.params, size)]
            places = [(row, k) for bucket, experts in pairs for k in range(len(experts)) for row in bucket.rows]
            self._plans = {(rows, size): Plan(pairs, torch.tensor(places).unbind(-1))}  # the last only
        return self._plans[rows, size]

    def tensors(self, key: str) -> list[Any]:
        """The tensors under a key of the state, by row; None where there is none."""
        return [self.state[p].get(key) if p in self.state else None for p in self.params]

    def weights(self) -> list[list[float]]:
        """The weights of the experts, by row."""
        found: list[list[float]] = [[] for _ in self.params]
        for rows, learner in self.learners:
            weights = learner.weights()[learner.rows].tolist()
            for row, w in zip(rows, weights, strict=True):
                found[row] = w
        return found


def resolve(expert: Expert, p: Tensor, group: dict[str, Any]) -> Expert:
    """What an expert is for a parameter: `Polar` needs a matrix, and is `Adam` elsewhere."""
    if isinstance(expert, Polar) and (p.ndim < 2 or not group["matrices"]):
        return Adam()
    return expert
