"""The books of `Hedged`: what it remembers of every parameter, and where it lies."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from .._xp import in_parts
from .arguments import check_device, width
from .buckets import buckets
from .experts import Adam, Expert, Function, Mask, Polar, Whole
from .learner import Learner
from .plan import FACTORS, Part, Plan
from .shards import local, shard

Tensor = torch.Tensor
Entry = dict[str, Tensor]
PLANS = 3  # that are kept besides a new one
SCALARS = ("t", "q", "f", "played")  # steps, the average of s^2, u = f m^ and the lr when it was moved last


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
        check_device(self.params)
        self.group_of = [g for g, group in enumerate(groups) for _ in group["params"]]
        self.local = [local(p) for p in self.params]  # what this process holds of them
        self.in_parts = [in_parts(p) for p in self.params]  # to be asked for each parameter in each step
        self.sizes = [p.numel() for p in self.params]
        self.experts = [
            tuple(resolve(expert, p, group) for expert in chosen)
            for group, chosen in zip(groups, experts, strict=True)
            for p in group["params"]
        ]
        n = len(self.params)
        self.t, self.q, self.f, self.played = (torch.zeros(n, dtype=torch.float64) for _ in SCALARS)
        self.learners = self._learners(groups, experts)
        self._plans: dict[Any, Plan] = {}
        self.marks: dict[int, tuple[Any, ...]] = {}  # of the rows that have state
        self.tensors: dict[str, list[Any]] = defaultdict(lambda: [None] * n)  # of the state, by key and row
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
            found.append((rows, Learner(len(experts[self.group_of[rows[0]]]), group, own)))
        return found

    def start(self, rows: Sequence[int]) -> None:
        """Make the state of parameters that have none."""
        for row in rows:
            p = self.params[row]
            if self.state.get(p):
                continue
            entry = self.entry(row)
            for expert in self.experts[row]:
                if isinstance(expert, Function):
                    expert.whole(torch.zeros(p.shape, dtype=width(p), device=p.device))  # raises before anything moves
            self.state[p] = entry
            self._enter(row)

    def entry(self, row: int) -> Entry:
        """What is kept of a parameter besides numbers, before its first step."""
        p, held = self.params[row], self.local[row]
        entry: Entry = {"m": torch.zeros(held.shape, dtype=width(p), device=p.device)}
        for expert in self.experts[row]:
            for key in expert.keeps:
                entry[key] = local(expert.factors(p)) if isinstance(expert, Mask) else torch.zeros_like(entry["m"])
        if p.dtype != width(p):
            entry["x"] = held.to(width(p), copy=True, memory_format=torch.contiguous_format)
        return {key: shard(tensor, p) for key, tensor in entry.items()}

    def _enter(self, row: int) -> None:
        """Take the numbers of a parameter over, and let its state hold views of the books.

        If the model was moved or cast, the state follows; a parameter that has become narrow gets its point.
        """
        p, numbers = self.params[row], self.numbers(row)
        entry = self.state[p]
        if p.dtype == width(p):
            entry.pop("x", None)
        elif "x" not in entry:
            entry["x"] = self.entry(row)["x"]
        for key, tensor in entry.items():
            if key not in numbers:
                entry[key] = tensor.to(p.device, width(p)).contiguous()
                self.tensors[key][row] = local(entry[key])
        for key, own in numbers.items():
            if key in entry:
                own.copy_(entry[key])
            entry[key] = own
        self.marks[row] = self.mark(row)

    def mark(self, row: int) -> tuple[Any, ...]:
        """What must stay the same of a parameter and its state, or the books are opened anew."""
        p = self.params[row]
        return (p.dtype, p.device, p.is_contiguous(), *map(id, self.state.get(p, {}).values()))

    def are_current(self) -> bool:
        """Whether nobody has replaced a tensor of the state, removed it, or cast or moved a parameter."""
        return all(self.mark(row) == mark for row, mark in self.marks.items())

    def numbers(self, row: int) -> Entry:
        """The numbers of a parameter and of its learner, as views of the books."""
        rows, learner = next(pair for pair in self.learners if row in pair[0])
        return {**{key: getattr(self, key)[row] for key in SCALARS}, **learner.numbers(rows.index(row))}

    def plan(self, rows: tuple[int, ...], size: int, piece: int) -> Plan:
        """A plan with `buckets` of the given sizes."""
        if (rows, size, piece) not in self._plans:
            self._plans = dict(list(self._plans.items())[-PLANS:])  # older ones are of the past
            self._plans[rows, size, piece] = self._plan(rows, size, piece)
        return self._plans[rows, size, piece]

    def _plan(self, rows: tuple[int, ...], size: int, piece: int) -> Plan:
        alike: dict[Any, list[int]] = {}
        for row in rows:
            alike.setdefault((self.group_of[row], self.experts[row], width(self.params[row])), []).append(row)
        parts = [
            Part(bucket, experts, group)
            for (group, experts, _), mine in alike.items()
            for bucket in buckets(mine, self.local, size, piece)
        ]
        places = [
            (row, column) for part in parts for column in range(2 + 2 * len(part.experts)) for row in part.bucket.rows
        ]
        n, K = len(self.params), max(len(experts) for experts in self.experts)
        choice, factor, adam = (torch.zeros(n, K, dtype=torch.long) for _ in range(3))
        for row in rows:
            distinct = list(dict.fromkeys(self.experts[row]))
            for k, expert in enumerate(self.experts[row]):
                choice[row, k], factor[row, k] = distinct.index(expert), FACTORS.index(expert.factor)
                adam[row, k] = expert == Adam()
        return Plan(
            parts=parts,
            places=torch.tensor(places).unbind(-1),
            choice=choice,
            factor=factor,
            adam=adam.argmax(-1).where(adam.any(-1), -1),
            whole=[(row, expert) for row in rows for expert in self.experts[row] if isinstance(expert, Whole)],
            narrow=[row for row in rows if self.params[row].dtype != width(self.params[row])],
        )

    def weights(self) -> Tensor:
        """The weights of the experts, by row; 0 where a group has fewer."""
        found = torch.zeros(len(self.params), max(learner.K for _, learner in self.learners), dtype=torch.float64)
        for rows, learner in self.learners:
            found[rows, : learner.K] = learner.weights()[learner.rows]
        return found


def resolve(expert: Expert, p: Tensor, group: dict[str, Any]) -> Expert:
    """What an expert is for a parameter: `Polar` needs a matrix with entries, and is `Adam` elsewhere."""
    if isinstance(expert, Polar) and (p.ndim < 2 or p.numel() == 0 or not group["matrices"]):
        return Adam()
    return expert
