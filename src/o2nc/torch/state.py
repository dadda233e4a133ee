"""What `Hedged` keeps of every parameter, and where it lies."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..directions import Direction, Mask, OnMatrices
from ..states import State, leaves
from ..vectors import Blocks
from .batches import BATCHED
from .checkpoint import Entry, Form, form_of, gather, scatter
from .experts import Experts, masked, taken
from .kernels import FACTORS, Kernel, kernel_of
from .parameter_groups import check_device, check_fits, width
from .scale import SharedScale
from .shadow import Shadow
from .shards import is_sharded, local, shard
from .stacks import FEW, LARGE, PART, SIZE, SMALL, Layout, Stack, parts
from .weights import Floats, Weights

Tensor = torch.Tensor
LAYOUTS = 3  # that are kept besides a new one
SCALARS = ("t", "played", "size")  # steps, and the rate and the root mean square of u when it was moved last


class Table:
    """All parameters by number (their row), their groups, kernels, learners and state.

    ``Optimizer.state`` stays the only store: the numbers of the parameters and what learners remember are kept as one
    array each, on the CPU in float64, and so is the state of small tensors of one shape. The state of every parameter
    holds views of them.

    Args:
        groups: the optimizer's.
        experts: of each group.
        state: the optimizer's.
        is_stacked: whether tensors are stacked; if not, each is alone.
        is_lined: whether all is cut into lines, as compiled code wants it.

    Reference: none; ``torch.distributed.checkpoint`` keeps what is keyed by parameter, and nothing else.
    """

    def __init__(
        self,
        groups: Sequence[dict[str, Any]],
        experts: Sequence[Experts],
        state: Any,
        is_stacked: bool = True,
        is_lined: bool = False,
    ):
        self.groups, self.state = groups, state
        self.params: list[Tensor] = [p for group in groups for p in group["params"]]
        check_device(self.params)
        self.group_of = [g for g, group in enumerate(groups) for _ in group["params"]]
        self.groups_of = np.asarray(self.group_of)
        rows = iter(range(len(self.params)))
        self.members = [[next(rows) for _ in group["params"]] for group in groups]  # of each group
        self.local = [local(p) for p in self.params]  # what this process holds of them
        self.is_sharded = [is_sharded(p) for p in self.params]  # to be asked for each parameter in each step
        self.is_cut = any(self.is_sharded)
        self.sizes = [p.numel() for p in self.params]
        self.entries = np.maximum(np.asarray(self.sizes, float), 1)
        self.experts = [
            {name: taken(direction, p, groups[g]) for name, (direction, _) in experts[g].items()}
            for row, (g, p) in enumerate(zip(self.group_of, self.params, strict=True))
        ]
        self.kernels = [self._kernels(row, experts[g]) for row, g in enumerate(self.group_of)]
        self.apart = [row for row in range(len(self.params)) if self._is_apart(row)]
        n = len(self.params)
        self.t, self.played, self.size = (np.zeros(n) for _ in SCALARS)
        self.is_traced = np.asarray([group["sight"] is not None for group in groups])[self.groups_of]
        self.is_kept = np.ones((n, max(map(len, self.kernels))), dtype=bool)  # whether the traces of kernels are
        for row in np.flatnonzero(~self.is_traced).tolist():
            self.is_kept[row, : len(self.traces(row))] = [key is not None for key in self.traces(row)]
        self.all_kept = bool(self.is_kept.all())
        self.length = np.ones(self.is_kept.shape)  # the factors of the last arrays of kernels, where they are not
        self.learners = self._learners(experts)
        self.is_learned = np.asarray([group["scale"] == "learned" for group in groups])[self.groups_of]
        self.scale = SharedScale()
        self.learner_of: dict[int, tuple[Weights, int]] = {}  # and the row there
        self.numbers = self._numbers()
        self.is_stacked, self.pack = is_stacked, max(sum(a.numel() for a in self.local) // PART, SMALL)
        self.piece = None if is_lined else SIZE if is_stacked else max(*self.sizes, 1)
        self._options: tuple[Any, Floats] = (None, np.zeros(0))
        self.stacks: list[Stack] = []
        self._layouts: dict[tuple[int, ...], Layout] = {}
        self._forms: dict[tuple[int, str], Form] = {}
        self.marks: dict[int, tuple[Any, ...]] = {}  # of the rows that have state
        self.tensors: dict[str, list[Any]] = defaultdict(lambda: [None] * n)  # of the state, by key and row
        self._enter([row for row, p in enumerate(self.params) if state.get(p)])
        self.choice, self.factors, self.differ = self._choices()
        self.numbered = np.arange(n)[:, None]
        self.all_differ = bool((self.choice == np.arange(self.choice.shape[1])).all())
        self.chooses = self.choice[:, :, None] == np.arange(self.choice.shape[1])  # for each row, expert and kernel

    def _kernels(self, row: int, experts: Experts) -> tuple[Kernel, ...]:
        """The kernel of each expert; those that have the same direction for a parameter have the same kernel."""
        mine, found = self.experts[row], dict[str, Kernel]()
        for name, direction in mine.items():
            first = next(other for other in mine if mine[other] == direction)
            found[name] = found.get(first) or kernel_of(name, direction, experts[name][1])
        return tuple(found.values())

    def traces(self, row: int) -> list[str | None]:
        """The keys of the traces of a parameter: one a kernel, none if a single one is played at a fixed scale.

        Without sight a trace is the last direction: None for a kernel that can compute it again.
        """
        kernels, group = dict.fromkeys(self.kernels[row]), self.groups[self.group_of[row]]
        if len(kernels) == 1 and group["scale"] == "fixed":
            return []
        is_kept = [group["sight"] is not None or kernel.is_stored for kernel in kernels]
        return [f"e.{j}" if kept else None for j, kept in enumerate(is_kept)]

    def factor(self) -> Floats:
        """The factor of the learning rate in the next step, by row."""
        return np.where(self.is_learned, self.scale.factor(self.decay()), 1.0)

    def decay(self) -> float:
        """The largest share of a weight that decays in a step with a learned scale of 1."""
        _, _, lr, _, decay, _ = self.options()
        return float((self.is_learned * lr * decay).max())

    def learn(self, losses: Floats, w: Floats) -> None:
        """Let the learners learn from what the experts were charged, and the scale from what their mixture was."""
        if len(self.learners) == 1:
            self.learners[0][1].judge(losses, w)
        else:
            for rows, learner in self.learners:
                learner.judge(losses[rows, : learner.K], w[rows, : learner.K])
        if not self.is_learned.any():
            return
        worth = -((w * losses).sum(-1) @ self.is_learned)
        self.scale.learn(float(worth), self.decay())

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
        scalars = zip(*(torch.from_numpy(getattr(self, key)).unbind() for key in SCALARS), strict=True)
        scale = self.scale.views()
        found: list[Entry] = [dict(zip(SCALARS, row, strict=True)) | scale for row in scalars]
        for row in np.flatnonzero(~self.is_kept.all(1)).tolist():
            found[row]["length"] = torch.from_numpy(self.length[row, : len(self.traces(row))])
        for rows, learner in self.learners:
            views = learner.views()
            for row, own in zip(rows, learner.rows.tolist(), strict=True):
                found[row].update(views[own])
                self.learner_of[row] = learner, own
        return found

    def _choices(self) -> tuple[NDArray[np.int_], ...]:
        """For each row: which of its kernels an expert has; which of the `FACTORS` a kernel has; how many differ."""
        K = max(map(len, self.kernels))
        choice, factors, differ = [], [], []
        for kernels in self.kernels:
            distinct = list(dict.fromkeys(kernels))
            choice.append([*map(distinct.index, kernels), *[0] * (K - len(kernels))])
            factors.append([*(FACTORS.index(kernel.factor) for kernel in distinct), *[0] * (K - len(distinct))])
            differ.append(len(distinct))
        return np.asarray(choice), np.asarray(factors), np.asarray(differ)

    def fresh(self, rows: Sequence[int]) -> list[int]:
        """Which of these have no state yet."""
        return [] if len(self.marks) == len(self.params) else [row for row in rows if row not in self.marks]

    def start(self, fresh: Sequence[int]) -> None:
        """Make the state of parameters that have none."""
        for row in fresh:
            self.state[self.params[row]] = self.entry(row)
        if fresh:
            self._enter(fresh)

    def entry(self, row: int) -> Entry:
        """What is kept of a parameter besides numbers, before its first step."""
        p, held = self.params[row], local(self.params[row])  # as it is now: it may have been cast since

        def zeros() -> Tensor:
            return shard(torch.zeros(held.shape, dtype=width(p), device=p.device), p)

        entry: Entry = {"m": zeros(), **{key: zeros() for key in self.traces(row) if key}}
        for name, (direction, kernel) in self.differing(row).items():
            if kernel.is_stored:
                entry |= self._initial(row, name)
            elif kernel.key:
                entry[kernel.key] = masked(direction, p, zeros()) if type(direction) is Mask else zeros()
        if p.dtype != width(p):
            entry["x"] = shard(held.to(width(p), copy=True, memory_format=torch.contiguous_format), p)
        return entry

    def options(self) -> Floats:
        """Options of the groups that a step reads, by row: of shape (options, rows)."""
        names = ("lr", "eps", "weight_decay")
        now = [[*g["betas"], *(float(g[name]) for name in names), g["sight"] or 0.0] for g in self.groups]
        if now != self._options[0]:
            self._options = now, np.asarray(now)[self.groups_of].T.copy()
        return self._options[1]

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
            keys = direction.dtypes(p.shape, width(p), p.device) if self.t[row] > 0 else ()
            return {key: self.tensors[key][row] for key in keys}
        if (row, name) not in self._forms:
            self._initial(row, name)
        return gather(self._forms[row, name], [{key: held[row] for key, held in self.tensors.items()}])

    def is_batched(self, row: int, direction: Any) -> bool:
        """Whether the directions of all tensors of one shape are computed at once."""
        return type(direction) in BATCHED and not self.is_sharded[row]

    def _is_apart(self, row: int) -> bool:
        """Whether there are directions that must be found for this tensor alone."""
        both = self.differing(row).values()
        return any(kernel.is_stored and not self.is_batched(row, direction) for direction, kernel in both)

    def stacked(self, stack: Stack, name: str, where: slice) -> State:
        """The states of a direction for some rows of a stack, as views along a first axis."""
        row, key = stack.rows[0], (name, where.start, where.stop)
        if (row, name) not in self._forms:
            self._initial(row, name)
        if key not in stack.states:
            arrays = {key: array[where] for key, array in stack.arrays.items()}
            stack.states[key] = gather(self._forms[row, name], [arrays])
        return stack.states[key]

    def _enter(self, rows: Sequence[int]) -> None:
        """Take the state of parameters over: it lies in stacks then, and in the numbers of the table.

        If the model was moved or cast, the state follows; a parameter that has become narrow gets its point.
        """
        alike: dict[Any, list[int]] = {}
        for row in rows:
            check_fits(
                self.params[row], self.state[self.params[row]], self.numbers[row]
            )  # all of them, before any is changed
        for row in rows:
            p, entry = self.params[row], self._fitted(row)
            for key, number in self.numbers[row].items():
                if key in entry:
                    number.copy_(entry[key])
                entry[key] = number
            held = self.local[row]
            n = held.numel() if held.is_contiguous() else LARGE
            sort = (self.group_of[row], self.kernels[row], width(p), p.device, p.shape, held.shape, n)
            alike.setdefault(sort, []).append(row)
        for (group, *_, n), mine in alike.items():
            count = min(max(self.pack // max(n, 1), FEW), SIZE // max(n, 1)) if self.is_stacked and n < LARGE else 1
            self.stacks += [self._stack(mine[k : k + count], group) for k in range(0, len(mine), count)]
        self._layouts = {}
        for row in rows:
            self.marks[row] = self.mark(row)

    def _fitted(self, row: int) -> Entry:
        """The state of a parameter in the dtypes and on the device that it should have."""
        p = self.params[row]
        entry, shadows = self.state[p], [each for each in self.experts[row].values() if isinstance(each, Shadow)]
        own = {key: dtype for each in shadows for key, dtype in each.dtypes(p.shape, width(p), p.device).items()}
        if p.dtype == width(p):
            entry.pop("x", None)
        elif "x" not in entry:
            entry["x"] = self.entry(row)["x"]
        for key, tensor in entry.items():
            if key not in self.numbers[row]:
                dtype = width(p) if tensor.is_floating_point() else tensor.dtype
                entry[key] = tensor.to(p.device, own.get(key, dtype)).contiguous()
        return entry

    def _stack(self, rows: list[int], group: int) -> Stack:
        """A stack of these rows; what they have now becomes views of its arrays."""
        entries, arrays = [self.state[self.params[row]] for row in rows], {}
        for key in entries[0]:
            if key not in self.numbers[rows[0]]:
                parts = [local(entry[key]) for entry in entries]
                arrays[key] = torch.stack(parts) if len(parts) > 1 else parts[0][None]
                for row, entry, part in zip(rows, entries, arrays[key].unbind(), strict=True):
                    entry[key] = shard(part, self.params[row]) if is_sharded(entry[key]) else part
                    self.tensors[key][row] = part
        held = [self.local[row] for row in rows]
        directions = {name: direction for name, (direction, _) in self.differing(rows[0]).items()}
        return Stack(rows, held, self.kernels[rows[0]], group, self.traces(rows[0]), arrays, directions)

    def mark(self, row: int) -> tuple[Any, ...]:
        """What must stay the same of a parameter and its state, or a new table is made."""
        p = self.params[row]
        return (p.dtype, p.device, p.is_contiguous(), *map(id, self.state.get(p, {}).values()))

    def is_current(self, groups: Any, state: Any) -> bool:
        """Whether nobody has replaced a tensor of the state, removed it, or cast or moved a parameter."""
        same = groups is self.groups and state is self.state
        return same and all(self.mark(row) == mark for row, mark in self.marks.items())

    def layout(self, rows: tuple[int, ...]) -> Layout:
        """The buckets of these rows; all are looked at first if sums must go between processes."""
        if rows not in self._layouts:
            self._layouts = dict(list(self._layouts.items())[-LAYOUTS:])  # older ones are of the past
            limit = math.inf if self.is_cut else max(sum(self.sizes) // PART, SMALL)
            found = parts(self.stacks, rows, self.piece, limit, self.choice.shape[1])
            narrow = [row for row in rows if self.params[row].dtype != width(self.params[row])]
            self._layouts[rows] = Layout(np.asarray(rows, dtype=int), set(rows), narrow, found)
        return self._layouts[rows]

    def weights(self) -> Floats:
        """The weights of the experts, by row; 0 where a group has fewer."""
        if len(self.learners) == 1:
            ((_, learner),) = self.learners
            return learner.now()[learner.rows]
        found = np.zeros(self.choice.shape)
        for rows, learner in self.learners:
            found[rows, : learner.K] = learner.now()[learner.rows]
        return found
