"""An optimizer that hedges between the directions of others."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..checks import known_keywords
from ..conversions.practical import RATE, RHO, ROOM, SIGHT, START
from .checkpoint import VERSION, Entry, check_same, check_version, entries
from .experts import Experts, chosen, named, renewed
from .optimizer import Optimizer, check_skipped
from .parameter_groups import (
    OPTIONS,
    check_dense,
    check_flags,
    check_group,
    check_implementation,
    check_keys,
    check_options,
    check_shared,
    listed_group,
    width,
)
from .report import Report, practical
from .shards import laid_out, local, split_axes
from .state import Table
from .step import Step

SAME = (
    "experts",
    "scale",
    "weights",
    "precision",
    "matrices",
    "split",
    "stacks",
)  # what neither a checkpoint nor a caller can change
PATIENCE = 200  # steps after which learners that have not moved are named


class Hedged(Optimizer):
    r"""Weighs the directions of other optimizers by what their last steps would still be worth, and learns its scale.

    $$x\leftarrow(1-\eta\lambda)\,x-\eta\,u,\qquad u\propto\sum_kw_kd_k,\qquad\eta=lr\,\sigma,\qquad
    w=\mathrm{softmax}\bigl(-c\sqrt{\log K}\,C/\sqrt V\bigr),$$

    $d_k$ the direction of expert k, a function of the tracker $m\leftarrow b_1m+(1-b_1)s$ and its past. Every expert
    has a trace $e_k\leftarrow\gamma_ne_k+d_k$, and a new gradient charges it $\ell_k=-\eta\langle s,e_k\rangle$: to
    first order what its last steps would change now. $C\leftarrow\rho C+\ell$ and
    $V\leftarrow\rho^2V+\mathrm{range}(\ell)^2$; and $\log\sigma$ grows while the mixture would still help, see
    `o2nc.conversions.LearnedScale`. Weights and scale serve the next step. Where several experts differ, each is
    brought to a root mean square of 0.2, and so is their mixture. This is practical: it has no certificate.

    State is kept per parameter, in float64 for those in float64 and else in float32; for a parameter that is narrower,
    a point in float32 is kept too, and moves in its place. A parameter without a gradient is left out of a step.
    Parameters may be sharded over several processes (``DTensor``, FSDP2): so is their state, and all weigh alike.

    Args:
        params: parameters, named parameters, or groups (see `groups`) with their own ``lr``, ``betas``, ``eps``,
            ``weight_decay``, ``experts``, ``scale``, ``weights``, ``matrices`` and ``maximize``.
        lr: the learning rate, that of AdamW; a number or a tensor with one entry. A learned scale starts there; None
            is 0.01. A scheduler multiplies what is learned.
        experts: names, as "muon", "soap", "adam", "momentum", "sign", "polar", "shampoo", "leon"; directions of
            `o2nc.directions`, or your own; functions of the tracker; or optimizers of torch, as ``torch.optim.NAdam``
            or `Shadow`.
        betas: $b_1$ of the tracker and $b_2$ of the squared gradients of Adam.
        eps: $\epsilon$ of Adam, and the size of a tracker below which mixtures fade.
        weight_decay: $\lambda$, decoupled, and times the learned scale as the step is.
        scale: "learned", or "fixed" for exactly ``lr``. Groups that learn have one scale.
        weights: whether the experts have the same weights in all groups that have the same experts ("shared"), in each
            "group", or in each "tensor".
        matrices: whether directions of matrices, as "muon", take tensors with two axes or more as such; None for all
            but tables, with eight times as many rows as columns. On others they are "adam".
        precision: the dtype in which "muon" multiplies matrices: "bfloat16" as in ``torch.optim.Muon``, "float32",
            "float64", or None for that of the state.
        sight: the part of the steps so far that traces see, $\gamma_n=1-1/(10+\mathrm{sight}\cdot n)$ in step n; None
            for the last step only, $\gamma_n=0$: then elementwise experts need no memory for traces.
        rho: the discount of the learner.
        c: the factor of its rate; with 0 weights stay equal for ever.
        maximize: whether the objective is maximised.
        nonfinite: "raise" an error if gradients or directions, or their squares, are not finite, or "skip" the step.
            Either way neither parameters nor state change; `report` counts the steps that were left out, and a warning
            tells of several in a row.
        foreach: whether small tensors are stacked and large ones cut; None is True. The numbers are the same up to
            rounding.
        compile: whether the elementwise work is compiled, with ``torch.compile``.
        fused: None, True or False, for callers that tell every optimizer; it changes nothing, ``compile`` fuses.
            ``foreach`` and ``fused`` in groups are taken too, and change nothing.

    Reference: `o2nc.conversions.PracticalConversion`, of which this is the fast path; they agree.

    >>> x = torch.tensor([[2.0, -1.0]], requires_grad=True)
    >>> opt = Hedged([x])
    >>> for _ in range(200):
    ...     opt.zero_grad()
    ...     (x**2).sum().backward()
    ...     opt.step()
    >>> bool(x.abs().max() < 0.1)
    True
    """

    @known_keywords("`Hedged`")
    def __init__(
        self,
        params: Any,
        lr: float | torch.Tensor | None = None,
        experts: Sequence[Any] = ("muon", "soap"),
        *,
        betas: tuple[float, float] = (0.95, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        scale: str = "learned",
        weights: str = "shared",
        matrices: bool | None = None,
        precision: str | None = None,
        sight: float | None = SIGHT,
        rho: float = RHO,
        c: float = RATE,
        maximize: bool = False,
        nonfinite: str = "raise",
        foreach: bool | None = None,
        compile: bool = False,
        fused: bool | None = None,
    ):
        check_flags({"compile": compile})
        check_implementation({"foreach": foreach, "fused": fused})
        self.foreach, self.compile = foreach is not False, compile
        self._experts: list[Experts] = []
        self._fixed: list[dict[str, Any]] = []  # of each group, the options that stay
        self._first_of: dict[Any, dict[str, Any]] = {}  # of the groups with shared weights, by experts
        defaults = {
            "lr": START if lr is None else lr, "experts": experts, "betas": betas, "eps": eps,
            "weight_decay": weight_decay, "scale": scale, "weights": weights, "matrices": matrices,
            "precision": precision, "sight": sight,
            "rho": rho, "c": c, "maximize": maximize, "version": VERSION,
        }  # fmt: skip
        super().__init__(params, defaults, nonfinite)

    _own = ("nonfinite", "foreach", "compile", "_experts", "_fixed")
    _named: Any = None  # the options of experts that were given by name, once there was a step
    _table: Table | None = None
    _is_patient = True  # until the learners were looked at

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, at any time."""
        group = {**self.defaults, **listed_group(param_group)}
        check_keys("A group of `Hedged`", group, OPTIONS)
        check_options(group)
        check_implementation(group)
        check_group(group)
        experts = chosen(group)
        group["experts"] = tuple(experts)
        first = self._first_of.get(group["experts"], group) if group["weights"] == "shared" else group
        check_shared(group, first)
        super().add_param_group(group)
        if group["weights"] == "shared":
            self._first_of.setdefault(group["experts"], self.param_groups[-1])
        self._experts.append(experts)
        self._fixed.append(fixed(self.param_groups[-1]))
        self._table = None

    @property
    def table(self) -> Table:
        """The index of the state, made anew after parameters were added or cast, or the state was replaced."""
        if self._table is None or not self._table.is_current(self.param_groups, self.state):
            self._table = Table(self.param_groups, self._experts, self.state, self.foreach, self.compile)
        return self._table

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _step(self) -> None:
        for k, (group, was) in enumerate(zip(self.param_groups, self._fixed, strict=True)):
            check_options(group)
            check_fixed(k, was, fixed(group))
        if (options := [named(group) for group in self.param_groups]) != self._named:  # of experts given by name
            self._experts = [renewed(each, group) for each, group in zip(self._experts, self.param_groups, strict=True)]
            self._named, self._table = options, None
        table = self.table
        s = [check_gradient(p, cut) for p, cut in zip(table.params, table.is_sharded, strict=True)]
        rows = tuple(row for row, g in enumerate(s) if g is not None)
        if not rows and not table.is_cut:
            return
        there = np.asarray([p.grad is not None for p in table.params], float)
        new = table.fresh(rows)
        fresh = [table.params[row] for row in new]
        try:
            table.start(new)
            step = Step(table, s, rows, self.compile)
            squares, is_there = step.check(there)
        except BaseException:
            self._forget(fresh)
            raise
        found = rows if is_there[step.rows].all() else tuple(row for row in rows if is_there[row])
        if not found or not are_finite(squares, table.params):
            self._forget(fresh)
            if found:
                self.refuse("Gradients must be finite, and their squares; they were not.", self.t + 1)
            return
        if found != rows:  # shards for which no process has a gradient
            step = Step(table, s, found, self.compile)
        try:
            objection = step.prepare(squares)
        except BaseException:
            self._forget(fresh)
            raise
        if objection:
            self._forget(fresh)
            self.refuse(objection, self.t + 1)
            return
        step.move()
        self._look(table)

    def _forget(self, fresh: list[torch.Tensor]) -> None:
        """Take back the state of parameters that have none yet, since their first step was left out."""
        for p in fresh:
            self.state.pop(p, None)
        self._table = None if fresh else self._table

    @property
    def t(self) -> int:
        """The number of steps so far: the most of any parameter."""
        return int(self.table.t.max())

    def report(self) -> Report:
        """Weights, their entropy, regret, scale, rate and effective step of each group: a dict; printed, a table."""
        return practical(self.table, self.skipped)

    def _check_groups(self, groups: list[dict[str, Any]]) -> None:
        for k, (group, here) in enumerate(zip(groups, self.param_groups, strict=True)):
            check_version(group.get("version") if "experts" in group else None, "Hedged")
            was, now = ({f"{name} of group {k}": str(a) for name, a in fixed(each).items()} for each in (group, here))
            check_same(was, now, "experts and learners")
            check_keys(f"`state_dict['param_groups'][{k}]`", group, OPTIONS, is_full=True)
            check_options(group)
            check_skipped(group)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what ``state_dict()`` returned; experts that were given by name have the options that come with it."""
        super().load_state_dict(state_dict)
        self._experts = [renewed(each, group) for each, group in zip(self._experts, self.param_groups, strict=True)]
        self._table = None

    def _read(self, saved: dict[str, Any]) -> list[Entry]:
        experts = [renewed(each, group) for each, group in zip(self._experts, saved["param_groups"], strict=True)]
        table = Table(self.param_groups, experts, {})
        like = ({"x": e["m"], **e, **table.numbers[row]} for row, e in enumerate(map(table.entry, range(len(table.t)))))
        found = entries(saved, like)
        for p, entry in zip(table.params, found, strict=True):
            if p.dtype == width(p):
                entry.pop("x", None)  # the parameter is the point
            elif entry:
                entry.setdefault("x", p.detach().to(width(p), copy=True))
        return found

    def _look(self, table: Table) -> None:
        """Warn, once, if learners have not moved."""
        if not self._is_patient or table.t.max() < PATIENCE or not table.played.any():
            return
        self._is_patient = False
        for rows, learner in table.learners:
            is_weighed = learner.group["c"] > 0 and bool((table.differ[rows] > 1).any())
            if is_weighed and np.abs(learner.now() - 1 / learner.K).max() < 1e-3:
                experts = ", ".join(self._experts[table.group_of[rows[0]]])
                warnings.warn(
                    f"After {PATIENCE} steps the weights of {experts} are still those of the start. The experts "
                    "differ, but their steps were worth the same, or nothing.",
                    stacklevel=2,
                )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._table, self._first_of = None, {}
        for group in self.param_groups:
            if group["weights"] == "shared":
                self._first_of.setdefault(group["experts"], group)


def fixed(group: dict[str, Any]) -> dict[str, Any]:
    """The options of a group that cannot change; of the sight, whether there is one."""
    return {**{name: group.get(name) for name in SAME}, "sight": None if group.get("sight") is None else "a number"}


def check_fixed(k: int, was: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise if an option has changed that cannot, since the state depends on it."""
    for name in was:
        if was[name] != now[name]:
            raise ValueError(
                f"`{name}` of group {k} must stay {was[name]!r}, as it was when the group was added; got {now[name]!r}."
            )


def are_finite(squares: Any, params: list[torch.Tensor]) -> bool:
    """Whether the sums of squared gradients are finite, with room for what a step makes of them.

    >>> are_finite(np.asarray([1e30]), [torch.zeros(1)]), are_finite(np.asarray([1e37]), [torch.zeros(1)])
    (True, False)
    """
    if (squares <= ROOM * torch.finfo(torch.float32).max).all():  # nearly always
        return True
    return all(square <= ROOM * torch.finfo(width(p)).max for square, p in zip(squares, params, strict=True))


def check_gradient(p: torch.Tensor, is_sharded: bool) -> torch.Tensor | None:
    """The gradient as far as this process holds it, its entries in order; raise unless it is dense.

    None if there is none; but for a shard of a parameter it is 0, since another process may have one for its own.
    """
    if (grad := p.grad) is None:
        return torch.zeros_like(local(p)) if is_sharded and split_axes(p) and p.requires_grad else None
    check_dense(grad)
    return local(laid_out(grad, p)).contiguous() if is_sharded else grad.contiguous()
