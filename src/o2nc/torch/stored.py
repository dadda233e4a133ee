"""The directions of a step of `Hedged` that have no kernel: all are computed, and checked, before anything is written.

They, and what they remember after the step, lie in memory of their own until the step moves: a model for each such
direction, and what it remembers once more. So a step in which one fails, or is not finite, has changed nothing.
"""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from ..conversions.practical import ROOM
from ..directions import Direction, Soap
from ..states import leaves, rebuild
from ..vectors import Blocks
from .batches import POLARS, direct, learn
from .checkpoint import scatter
from .parameter_groups import width
from .shadow import Shadow
from .shards import by_owners, laid_out, local, shard, totals
from .stacks import Stack, flat, runs
from .state import Table
from .weights import Floats

Tensor = torch.Tensor


class Stored:
    """The directions without kernels, for the gradients ``s`` of the parameters in ``chosen``.

    Args:
        table: of the optimizer.
        s: the gradients, by row.
        chosen: the rows of the parameters that have one.
        hat: the factors of the trackers, by row: 0 where there was no gradient yet.
        times: how often each kernel counts in its trace, by row and kernel: 0 if it sleeps.

    Reference: `o2nc.directions`.
    """

    def __init__(self, table: Table, s: Sequence[Any], chosen: Collection[int], hat: Floats, times: Floats):
        self.table, self.s, self.chosen, self.hat, self.times = table, s, chosen, hat, times
        self.ready: list[tuple[Tensor, Any]] = []  # tensors of the state, and what they become
        self.alone: dict[tuple[int, str], Tensor] = {}  # directions that are found one by one, by row and key
        self.whole: dict[tuple[int, str], float] = {}  # norms of those that each process has computed whole
        self._find_alone()
        self.found = {id(stack): self._of(stack) for stack in table.stacks if stack.stored}  # by key, (rows, entries)

    def of(self, stack: Stack) -> dict[str, Tensor]:
        """The directions of the tensors of a stack, by key, each of shape (rows, entries)."""
        return self.found.get(id(stack), {})

    def write(self) -> None:
        """Let the state be what the directions remember after the step."""
        for a, after in self.ready:
            a.copy_(after)
        self.ready = []

    def objection(self) -> str:
        """Which direction is not finite, or so large that its squares are not, on any process; nothing if none is."""
        table = self.table
        each = [
            (stack, j, name, kernel.key)
            for stack in table.stacks
            for j, (name, kernel) in enumerate(zip(stack.directions, stack.kernels, strict=True))
            if kernel.is_stored
        ]
        norms = iter(flat([torch.linalg.vector_norm(self.of(stack)[key], dim=1) for stack, *_, key in each]).tolist())
        squares = np.zeros((len(table.params), table.choice.shape[1]))
        for stack, j, name, key in each:
            for row in stack.rows:
                squares[row, j] = self._norm(row, stack.directions[name], key, next(norms)) ** 2
        if any(table.is_sharded[stack.rows[0]] and not stack.directions[name].whole for stack, _, name, _ in each):
            squares = totals(torch.from_numpy(squares), table.params).numpy()
        for stack, j, name, _ in each:
            for row in stack.rows:
                if not squares[row, j] <= ROOM * torch.finfo(width(table.params[row])).max:
                    return (
                        f"The expert {name!r} must return numbers that are finite, and whose squares are; for a "
                        f"parameter of shape {tuple(table.params[row].shape)} they are not."
                    )
        return ""

    def _norm(self, row: int, direction: Any, key: str, norm: float) -> float:
        """The norm of a direction, from what this process holds of it.

        All processes must come to one answer. Of a direction that each has computed whole it is that of the whole. What
        owners compute are polar factors, which are finite.
        """
        if not self.table.is_sharded[row]:
            return norm
        return 0.0 if type(direction) in POLARS else self.whole.get((row, key), norm)

    def signed(self, rows: Sequence[int]) -> Tensor:
        """The gradients of some rows of one shape, stacked, in the dtype of the state."""
        return fitted(self.table, torch.stack([self.s[row] for row in rows]), rows[0])

    def _find_alone(self) -> None:
        table, owned = self.table, []
        for row in (row for row in table.apart if row in self.chosen and self.hat[row]):
            for j, (name, (direction, kernel)) in enumerate(table.differing(row).items()):
                if not kernel.is_stored or table.is_batched(row, direction):
                    continue
                if self.times[row, j] == 0 and not isinstance(direction, Shadow):
                    self._learned(row, name, direction)  # it sleeps
                elif type(direction) in POLARS:
                    u = shard(self._tracked(row, direction), table.params[row])
                    owned.append((row, kernel.key, partial(self._direction, direction, table.memory(row, name)), u))
                else:
                    self.alone[row, kernel.key] = self._prepared(row, name, direction, kernel.key)
        results = by_owners([(function, u) for *_, function, u in owned])
        self.alone |= {(row, key): d for (row, key, *_), d in zip(owned, results, strict=True)}

    def _of(self, stack: Stack) -> dict[str, Tensor]:
        """The directions of a stack; 0 where there was no gradient yet."""
        m, hats, times = stack.flat("m"), self.hat[stack.rows], self.times[stack.rows]
        found, batched = {key: torch.zeros_like(m) for key in stack.stored}, list[tuple[int, str, Any, str]]()
        for j, (kernel, (name, direction)) in enumerate(zip(stack.kernels, stack.directions.items(), strict=True)):
            if kernel.is_stored and self.table.is_batched(stack.rows[0], direction):
                batched.append((j, name, direction, kernel.key))
            elif kernel.is_stored:
                for k, row in enumerate(stack.rows):
                    if (row, kernel.key) in self.alone:
                        found[kernel.key][k] = self.alone.pop((row, kernel.key)).reshape(-1)
        awake = [tuple(times[k, j] > 0 for j, *_ in batched) for k in range(len(stack.rows))]
        places = [k for k, row in enumerate(stack.rows) if row in self.chosen and hats[k] > 0]
        for where in runs(places, awake.__getitem__) if batched else ():
            rows = stack.rows[where]
            s, m, state = self.signed(rows), stack.arrays["m"][where], None
            for (_, name, direction, key), is_awake in zip(batched, awake[where.start], strict=True):
                if isinstance(direction, Soap):
                    before = self.table.stacked(stack, name, where)
                    state = rebuild(before, (a.clone() for _, a in leaves(before)))
                    learn([self.table.experts[row][name] for row in rows], s, state)
                    pairs = zip(leaves(before), leaves(state), strict=True)
                    self.ready += [(a, after) for (_, a), (_, after) in pairs]
                if is_awake:
                    found[key][where] = direct(direction, self._tracker(rows, m, s, direction), state)
        return found

    def _tracker(self, rows: Sequence[int], m: Tensor, s: Tensor, direction: Any) -> Tensor:
        """The trackers of some rows as they will be, stacked; one sample ahead for who looks there."""
        share = 1.0 - self.table.groups[self.table.group_of[rows[0]]]["betas"][0]
        m = torch.lerp(m, s, share)
        if getattr(direction, "looks_ahead", False):
            m.lerp_(s, share)
        hat = torch.from_numpy(self.hat[rows]).to(m.device, m.dtype)
        return m.mul_(hat.view(-1, *[1] * (m.ndim - 1)))

    def _tracked(self, row: int, direction: Any) -> Tensor:
        """The same for one row."""
        return self._tracker([row], self.table.tensors["m"][row][None], self.signed([row]), direction)[0]

    def _direction(self, direction: Any, memory: Any, u: Tensor) -> Any:
        return direction.direction(memory, Blocks((u,))).arrays[0]

    def _prepared(self, row: int, name: str, direction: Direction | Shadow, key: str) -> Tensor:
        """The direction of a tensor by its pure function, or by the step of an optimizer."""
        u, p = self._whole(row, direction, self._tracked(row, direction)), self.table.params[row]
        if isinstance(direction, Shadow):
            memory, sample = self.table.memory(row, name), self._whole(row, direction, self.signed([row])[0])
            d, after = direction.step(memory, self._whole(row, direction, point(self.table, row)), sample)
            self.ready += [(self.table.tensors[key][row], a) for key, a in after.items()]
        else:
            d = self._direction(direction, self._learned(row, name, direction), u)
        check_direction(name, d, u)
        if not self._is_gathered(row, direction):
            return d.contiguous()
        self.whole[row, key] = float(torch.linalg.vector_norm(d))
        return local(laid_out(d, p)).contiguous()

    def _learned(self, row: int, name: str, direction: Direction) -> Any:
        """The state of a direction after the sample."""
        memory = self.table.memory(row, name)
        if next(leaves(memory), None) is not None:
            memory = direction.learn(memory, Blocks((self._whole(row, direction, self.signed([row])[0]),)))
            self.ready += [(self.table.tensors[key][row], a) for key, a in scatter(memory, 1, name)[0].items()]
        return memory

    def _is_gathered(self, row: int, direction: Any) -> bool:
        return direction.whole and self.table.is_sharded[row]

    def _whole(self, row: int, direction: Any, part: Tensor) -> Tensor:
        """What a direction sees of a tensor: what may fail must fail on all processes, so each gathers a whole one."""
        if not self._is_gathered(row, direction):
            return part
        return shard(part, self.table.params[row]).full_tensor()  # type: ignore[attr-defined]


def fitted(table: Table, s: Tensor, row: int) -> Tensor:
    """A gradient of a parameter in the dtype of its state, uphill if the parameter is maximised."""
    s = s.to(width(table.params[row]))
    return -s if table.groups[table.group_of[row]]["maximize"] else s


def point(table: Table, row: int) -> Tensor:
    """The point of a parameter before the step: what is kept of it, but where the parameter is not its rounding."""
    p, x = local(table.params[row]), table.tensors["x"][row]
    return p if x is None else torch.where(x.to(p.dtype) == p, x, p.to(x.dtype))


def check_direction(name: str, d: Any, u: Tensor) -> None:
    """Raise unless the direction of a user is a tensor like u."""
    if not isinstance(d, Tensor) or d.shape != u.shape:
        got = f"shape {tuple(d.shape)}" if isinstance(d, Tensor) else repr(d)
        raise ValueError(f"The expert {name!r} must return a tensor in the shape {tuple(u.shape)}; got {got}.")
