"""What `Hedged` keeps of every parameter, and where it lies."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..conversions import LearnedScale
from ..directions import Adam, Direction, Mask, Momentum, OnMatrices
from ..directions.matrices import is_table
from ..learners import ShortMemoryHedge
from ..states import State, leaves
from ..vectors import Blocks
from .buckets import FACTORS, Bucket, Layout, cut, places
from .checkpoint import Entry, Form, form_of, gather, scatter
from .kernels import Kernel, kernel_of
from .parameter_groups import check_device, width
from .shadow import Shadow
from .shards import is_sharded, laid_out, local, shard

Tensor = torch.Tensor
LAYOUTS = 3  # that are kept besides a new one
SCALARS = ("t", "played", "size")  # steps, and the rate and the root mean square of u when it was moved last
Experts = dict[str, tuple[Direction | Shadow, bool]]  # of a group, and whether the kernels have their options


class Weights:
    """A learner over K experts, once for each of some rows; it sees numbers only.

    Its state lies in the state of the parameters, as views of one array a field: a row that many share is in each.

    Args:
        K: the number of experts.
        group: its "rho", the discount, and "c", the factor of the rate, may change at any time.
        rows: for every parameter, its row.

    Reference: `o2nc.learners.ShortMemoryHedge`.

    >>> weights = Weights(2, {"rho": 0.9, "c": 3.0}, [0, 0])
    >>> weights.learn(torch.tensor([[-1.0, 0.0]], dtype=torch.float64))
    >>> weights.now().round(decimals=2)
    tensor([[0.9200, 0.0800]], dtype=torch.float64)
    >>> weights.regret.round(decimals=2)
    tensor([[ 0.5000, -0.5000]], dtype=torch.float64)
    """

    def __init__(self, K: int, group: dict[str, Any], rows: Sequence[int]):
        self.K, self.group, self.rows = K, group, torch.tensor(rows)
        zeros = torch.zeros(max(rows) + 1, K, dtype=torch.float64)
        self.regret, self.ahead, self.error = (zeros.clone() for _ in range(3))
        state: Any = self.learner.init(torch.zeros_like(self.regret))
        self.state = type(state)(*(field.clone() for field in state))

    @property
    def learner(self) -> ShortMemoryHedge:
        """The learner of the core."""
        return ShortMemoryHedge(rho=self.group["rho"], c=self.group["c"])

    def now(self) -> Tensor:
        """w, of shape (rows, K)."""
        w: Any = self.learner.weights(self.state)
        return w

    def judge(self, losses: Tensor) -> None:
        """Learn from what the experts are charged on each parameter, of shape (parameters, K)."""
        self.learn(torch.zeros_like(self.regret).index_add_(0, self.rows, losses))

    def learn(self, losses: Tensor) -> None:
        """Learn from losses of shape (rows, K)."""
        ahead = (self.now() * losses).sum(-1, keepdim=True) - losses
        self.regret += ahead
        self.error.copy_(torch.hypot(self.error, (ahead - self.ahead) * math.sqrt(0.5)))
        self.ahead.copy_(ahead)
        for field, value in zip(self.state, self.learner.learn(self.state, losses), strict=True):
            field.copy_(value)

    def views(self) -> list[Entry]:
        """What is remembered in each row."""
        fields = {**self.state._asdict(), "regret": self.regret, "ahead": self.ahead, "error": self.error}
        rows = zip(*(field.unbind() for field in fields.values()), strict=True)
        return [dict(zip(fields, row, strict=True)) for row in rows]


class Table:
    """All parameters by number (their row), their groups, kernels, learners and state.

    ``Optimizer.state`` stays the only store: the numbers of the parameters and what learners remember are kept as one
    array each, on the CPU in float64, and the state of every parameter holds views of them.

    Args:
        groups: the optimizer's.
        experts: of each group.
        state: the optimizer's.

    Reference: none; ``torch.distributed.checkpoint`` keeps what is keyed by parameter, and nothing else.
    """

    def __init__(self, groups: Sequence[dict[str, Any]], experts: Sequence[Experts], state: Any):
        self.groups, self.state = groups, state
        self.params: list[Tensor] = [p for group in groups for p in group["params"]]
        check_device(self.params)
        self.group_of = [g for g, group in enumerate(groups) for _ in group["params"]]
        self.groups_of = torch.tensor(self.group_of)
        rows = iter(range(len(self.params)))
        self.members = [[next(rows) for _ in group["params"]] for group in groups]  # of each group
        self.local = [local(p) for p in self.params]  # what this process holds of them
        self.is_sharded = [is_sharded(p) for p in self.params]  # to be asked for each parameter in each step
        self.sizes = [p.numel() for p in self.params]
        self.experts = [
            {name: taken(direction, p, groups[g]) for name, (direction, _) in experts[g].items()}
            for g, p in zip(self.group_of, self.params, strict=True)
        ]
        self.kernels = [self._kernels(row, experts[g]) for row, g in enumerate(self.group_of)]
        n = len(self.params)
        self.t, self.played, self.size = (torch.zeros(n, dtype=torch.float64) for _ in SCALARS)
        self.learners = self._learners(experts)
        self.is_learned = torch.tensor([group["scale"] == "learned" for group in groups])[self.groups_of]
        scale: Any = LearnedScale().init(torch.zeros(1, dtype=torch.float64))
        self.scale: Any = type(scale)(*(number.clone() for number in scale))
        self.learner_of: dict[int, tuple[Weights, int]] = {}  # and the row there
        self.numbers = self._numbers()
        self._layouts: dict[Any, Layout] = {}
        self._forms: dict[tuple[int, str], Form] = {}
        self.marks: dict[int, tuple[Any, ...]] = {}  # of the rows that have state
        self.tensors: dict[str, list[Any]] = defaultdict(lambda: [None] * n)  # of the state, by key and row
        for row, p in enumerate(self.params):
            if state.get(p):
                self._enter(row)

    def _kernels(self, row: int, experts: Experts) -> tuple[Kernel, ...]:
        """The kernel of each expert; those that have the same direction for a parameter have the same kernel."""
        mine, found = self.experts[row], dict[str, Kernel]()
        for name, direction in mine.items():
            first = next(other for other in mine if mine[other] == direction)
            found[name] = found.get(first) or kernel_of(name, direction, experts[name][1])
        return tuple(found.values())

    def traces(self, row: int) -> list[str]:
        """The keys of the traces of a parameter: one a kernel, none if a single one is played at a fixed scale."""
        kernels = dict.fromkeys(self.kernels[row])
        is_judged = len(kernels) > 1 or self.groups[self.group_of[row]]["scale"] == "learned"
        return [f"e.{j}" for j in range(len(kernels))] if is_judged else []

    def factor(self) -> Tensor:
        """The factor of the learning rate in the next step, by row."""
        learned: Any = LearnedScale().factor(self.scale)
        return torch.where(self.is_learned, learned, 1.0)

    def learn_scale(self, q: Tensor) -> None:
        """Learn from what the traces of the mixture are worth, by row."""
        after = LearnedScale().learn(self.scale, (q * self.is_learned).sum().reshape(1))
        for number, value in zip(self.scale, after, strict=True):
            number.copy_(value)

    def _learners(self, experts: Sequence[Experts]) -> list[tuple[list[int], Weights]]:
        """For each learner the rows of its parameters; those that share a row of the learner are judged together."""
        members: dict[Any, list[int]] = {}
        for row, g in enumerate(self.group_of):
            shared = self.groups[g]["weights"] == "shared"
            members.setdefault(tuple(experts[g]) if shared else g, []).append(row)
        found = []
        for rows in members.values():
            group, K = self.groups[self.group_of[rows[0]]], len(self.kernels[rows[0]])
            own = list(range(len(rows))) if group["weights"] == "tensor" else [0] * len(rows)
            found.append((rows, Weights(K, group, own)))
        return found

    def _numbers(self) -> list[Entry]:
        """The numbers of each parameter and of its learner, as views of the table."""
        scalars = zip(*(getattr(self, key).unbind() for key in SCALARS), strict=True)
        scale = {f"scale.{name}": number[0] for name, number in self.scale._asdict().items()}
        found: list[Entry] = [dict(zip(SCALARS, row, strict=True)) | scale for row in scalars]
        for rows, learner in self.learners:
            views = learner.views()
            for row, own in zip(rows, learner.rows.tolist(), strict=True):
                found[row].update(views[own])
                self.learner_of[row] = learner, own
        return found

    def start(self, rows: Sequence[int]) -> None:
        """Make the state of parameters that have none."""
        for row in rows:
            if not self.state.get(self.params[row]):
                self.state[self.params[row]] = self.entry(row)
                self._enter(row)

    def entry(self, row: int) -> Entry:
        """What is kept of a parameter besides numbers, before its first step."""
        p, held = self.params[row], self.local[row]

        def zeros() -> Tensor:
            return shard(torch.zeros(held.shape, dtype=width(p), device=p.device), p)

        entry: Entry = {"m": zeros(), **{key: zeros() for key in self.traces(row)}}
        for name, (direction, kernel) in self.differing(row).items():
            if kernel.is_stored:
                entry |= self._initial(row, name)
            elif kernel.key:
                entry[kernel.key] = masked(direction, p, zeros()) if type(direction) is Mask else zeros()
        if p.dtype != width(p):
            entry["x"] = shard(held.to(width(p), copy=True, memory_format=torch.contiguous_format), p)
        return entry

    def differing(self, row: int) -> dict[str, tuple[Direction | Shadow, Kernel]]:
        """The directions of a parameter, each with its kernel, by the first expert that has it."""
        found: dict[Kernel, tuple[str, Direction | Shadow]] = {}
        for (name, direction), kernel in zip(self.experts[row].items(), self.kernels[row], strict=True):
            found.setdefault(kernel, (name, direction))
        return {name: (direction, kernel) for kernel, (name, direction) in found.items()}

    def _initial(self, row: int, name: str) -> Entry:
        """The first state of a direction that is computed tensor by tensor: on the shard if it is elementwise."""
        p, direction = self.params[row], self.experts[row][name]
        if isinstance(direction, Shadow):
            return direction.entry(p.shape, width(p), p.device)
        shape = p.shape if direction.whole else self.local[row].shape
        x = Blocks((torch.zeros(shape, dtype=width(p), device=p.device),))
        state = direction.init(x)
        if not isinstance(direction, OnMatrices):
            direction.direction(state, x)  # a function that does not fit raises before anything moves
        self._forms[row, name] = form_of(state, name)
        (entry,) = scatter(state, 1, name)
        vectors = {key for key, leaf in leaves(state, name, Blocks) if isinstance(leaf, Blocks) and not direction.whole}
        return {key: shard(a.clone(), p) if key in vectors else a.clone() for key, a in entry.items()}

    def memory(self, row: int, name: str) -> State:
        """The state of a direction that is computed tensor by tensor; of a shadow by key, empty before it has any."""
        p, direction = self.params[row], self.experts[row][name]
        if isinstance(direction, Shadow):
            keys = direction.dtypes(p.shape, width(p), p.device) if self.t[row] > 1 else ()
            return {key: self.tensors[key][row] for key in keys}
        if (row, name) not in self._forms:
            self._initial(row, name)
        return gather(self._forms[row, name], [{key: held[row] for key, held in self.tensors.items()}])

    def _enter(self, row: int) -> None:
        """Take the numbers of a parameter over, and let its state hold views of the table.

        If the model was moved or cast, the state follows; a parameter that has become narrow gets its point.
        """
        p, numbers = self.params[row], self.numbers[row]
        entry, shadows = self.state[p], [each for each in self.experts[row].values() if isinstance(each, Shadow)]
        own = {key: dtype for each in shadows for key, dtype in each.dtypes(p.shape, width(p), p.device).items()}
        if p.dtype == width(p):
            entry.pop("x", None)
        elif "x" not in entry:
            entry["x"] = self.entry(row)["x"]
        for key, tensor in entry.items():
            if key not in numbers:
                dtype = width(p) if tensor.is_floating_point() else tensor.dtype
                entry[key] = tensor.to(p.device, own.get(key, dtype)).contiguous()
                self.tensors[key][row] = local(entry[key])
        for key, number in numbers.items():
            if key in entry:
                number.copy_(entry[key])
            entry[key] = number
        self.marks[row] = self.mark(row)

    def _arrays(self) -> list[Tensor]:
        learned = [[*learner.state, learner.regret, learner.ahead, learner.error] for _, learner in self.learners]
        return [getattr(self, key) for key in SCALARS] + [*self.scale] + [a for each in learned for a in each]

    def snapshot(self) -> list[Tensor]:
        """Copies of all numbers."""
        return [a.clone() for a in self._arrays()]

    def restore(self, numbers: list[Tensor]) -> None:
        """Bring the numbers of a snapshot back."""
        for a, before in zip(self._arrays(), numbers, strict=True):
            a.copy_(before)

    def mark(self, row: int) -> tuple[Any, ...]:
        """What must stay the same of a parameter and its state, or a new table is made."""
        p = self.params[row]
        return (p.dtype, p.device, p.is_contiguous(), *map(id, self.state.get(p, {}).values()))

    def is_current(self, groups: Any, state: Any) -> bool:
        """Whether nobody has replaced a tensor of the state, removed it, or cast or moved a parameter."""
        same = groups is self.groups and state is self.state
        return same and all(self.mark(row) == mark for row, mark in self.marks.items())

    def layout(self, rows: tuple[int, ...], size: int, piece: int) -> Layout:
        """The layout of these rows in buckets of the given sizes."""
        if (rows, size, piece) not in self._layouts:
            self._layouts = dict(list(self._layouts.items())[-LAYOUTS:])  # older ones are of the past
            self._layouts[rows, size, piece] = self._layout(rows, size, piece)
        return self._layouts[rows, size, piece]

    def _layout(self, rows: tuple[int, ...], size: int, piece: int) -> Layout:
        alike: dict[Any, list[int]] = {}
        for row in rows:
            alike.setdefault((self.group_of[row], self.kernels[row], width(self.params[row])), []).append(row)
        buckets, n, K = [], len(self.params), max(map(len, self.kernels))
        choice, factor = (torch.zeros(n, K, dtype=torch.long) for _ in range(2))
        differing = torch.ones(n, dtype=torch.long)
        for (group, kernels, _), mine in alike.items():
            traces = self.traces(mine[0])
            buckets += [Bucket(entries, kernels, group, traces) for entries in cut(mine, self.local, size, piece)]
            distinct = list(dict.fromkeys(kernels))
            choice[mine, : len(kernels)] = torch.tensor([distinct.index(kernel) for kernel in kernels])
            factor[mine, : len(distinct)] = torch.tensor([FACTORS.index(kernel.factor) for kernel in distinct])
            differing[mine] = len(distinct)
        judged = places(buckets, lambda each: 1 + len(each.traces))
        measured = places(buckets, lambda each: 1 + len(each.kernels) * (len(each.kernels) + 1) // 2)
        return Layout(buckets, choice, factor, differing, judged, measured)

    def weights(self) -> Tensor:
        """The weights of the experts, by row; 0 where a group has fewer."""
        found = torch.zeros(len(self.params), max(learner.K for _, learner in self.learners), dtype=torch.float64)
        for rows, learner in self.learners:
            found[rows, : learner.K] = learner.now()[learner.rows]
        return found


def taken(direction: Direction | Shadow, p: Tensor, group: dict[str, Any]) -> Direction | Shadow:
    """What a direction is for a parameter: one of matrices has a fallback elsewhere, and needs none on a matrix."""
    told = group["matrices"]
    is_matrix = p.ndim >= 2 and p.numel() > 0 and (not is_table(p.shape) if told is None else told)
    if isinstance(direction, Shadow) and direction.matrices and not is_matrix:
        return Adam(b2=group["betas"][1], eps=group["eps"])
    if not isinstance(direction, OnMatrices):
        return direction
    if not is_matrix:
        return direction.fallback
    stacks = {"stacks": group["stacks"]} if "stacks" in group else {}
    return replace(direction, fallback=Momentum(), matrices=None, split=group.get("split", 1), **stacks)


def masked(direction: Any, p: Tensor, like: Tensor) -> Tensor:
    """The factors of a mask for a parameter, in the shards and the dtype of ``like``."""
    given = direction.mask
    factors = given.get(p) if isinstance(given, Mapping) else given(p) if callable(given) else given
    if isinstance(factors, Tensor):
        factors = factors.detach().to(p.device)
    found = torch.ones_like(like) if factors is None else Mask(factors).factors(like)
    return laid_out(found, like).clone(memory_format=torch.contiguous_format)
