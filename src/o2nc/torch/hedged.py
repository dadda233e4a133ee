"""An optimizer that hedges between the directions of others."""

import warnings
from typing import Any

import torch

from ..conversions.practical import RATE, RHO, SIGHT, START
from ..directions import Mask, find
from .checkpoint import VERSION, Entry, Optimizer, check_same, check_version, entries
from .parameter_groups import (
    OPTIONS,
    check_dense,
    check_flags,
    check_group,
    check_keys,
    check_options,
    check_shared,
    listed_group,
    tensors,
    width,
)
from .report import Report, practical
from .shadow import Shadow, shadowed
from .shards import laid_out, local, split_axes
from .state import Experts, Table, masked, taken
from .step import Step

SAME = ("experts", "scale", "weights")  # what a checkpoint cannot change
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
        experts: names, as "muon", "soap", "adam", "momentum", "sign", "polar" and "shampoo"; directions of
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
        sight: the part of the steps so far that traces see, $\gamma_n=1-1/(10+\mathrm{sight}\cdot n)$ in step n.
        rho: the discount of the learner.
        c: the factor of its rate; with 0 weights stay equal for ever.
        maximize: whether the objective is maximised.
        nonfinite: "raise" an error if gradients, or their squares, are not finite, or "skip" the step. Either way
            neither parameters nor state change.
        foreach: whether small tensors are packed and large ones cut; None is True. The numbers are the same.
        compile: whether the elementwise work is compiled, with ``torch.compile``.

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

    def __init__(
        self,
        params: Any,
        lr: float | torch.Tensor | None = None,
        experts: Any = ("muon", "soap"),
        *,
        betas: tuple[float, float] = (0.95, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        scale: str = "learned",
        weights: str = "shared",
        matrices: bool | None = None,
        sight: float = SIGHT,
        rho: float = RHO,
        c: float = RATE,
        maximize: bool = False,
        nonfinite: str = "raise",
        foreach: bool | None = None,
        compile: bool = False,
    ):
        check_flags({"foreach": True if foreach is None else foreach, "compile": compile})
        self.foreach, self.compile = foreach is not False, compile
        self._experts: list[Experts] = []
        self._first_of: dict[Any, dict[str, Any]] = {}  # of the groups with shared weights, by experts
        defaults = {
            "lr": START if lr is None else lr, "experts": experts, "betas": betas, "eps": eps,
            "weight_decay": weight_decay, "scale": scale, "weights": weights, "matrices": matrices, "sight": sight,
            "rho": rho, "c": c, "maximize": maximize, "version": VERSION,
        }  # fmt: skip
        super().__init__(params, defaults, nonfinite)

    _own = ("nonfinite", "foreach", "compile", "_experts")
    _table: Table | None = None
    _is_patient = True  # until the learners were looked at

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, at any time."""
        group = {**self.defaults, **listed_group(param_group)}
        check_keys("A group of `Hedged`", group, OPTIONS)
        check_options(group)
        check_group(group)
        experts = chosen(group)
        group["experts"] = tuple(experts)
        first = self._first_of.get(group["experts"], group) if group["weights"] == "shared" else group
        check_shared(group, first)
        super().add_param_group(group)
        if group["weights"] == "shared":
            self._first_of.setdefault(group["experts"], self.param_groups[-1])
        self._experts.append(experts)
        self._table = None

    @property
    def table(self) -> Table:
        """The index of the state, made anew after parameters were added or cast, or the state was replaced."""
        if self._table is None or not self._table.is_current(self.param_groups, self.state):
            self._table = Table(self.param_groups, self._experts, self.state)
        return self._table

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _step(self) -> None:
        for group in self.param_groups:
            check_options(group)
        table = self.table
        s = [check_gradient(p, cut) for p, cut in zip(table.params, table.is_sharded, strict=True)]
        rows = tuple(row for row, g in enumerate(s) if g is not None)
        if not rows and not any(table.is_sharded):
            return
        there = torch.tensor([p.grad is not None for p in table.params])
        fresh = [table.params[row] for row in rows if not self.state.get(table.params[row])]
        try:
            table.start(rows)
            step = Step(table, s, rows, self.foreach, self.compile)
            judgement = step.judge(there)
        except BaseException:
            self._forget(fresh)
            raise
        is_finite = bool(judgement.squares.isfinite().all())
        found = tuple(row for row, is_there in zip(rows, judgement.there[list(rows)].tolist(), strict=True) if is_there)
        if not found or not is_finite:
            self._forget(fresh)
            if not is_finite:
                self.refuse_nonfinite()
            return
        if found != rows:  # shards for which no process has a gradient
            step = Step(table, s, found, self.foreach, self.compile)
        numbers = table.snapshot()
        try:
            step.learn(judgement)
            step.prepare()
        except BaseException:
            table.restore(numbers)
            self._forget(fresh)
            raise
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
        """Weights, their entropy, regret and effective step of each group: a dict; its ``str`` is a table."""
        return practical(self.table)

    def _check_groups(self, groups: list[dict[str, Any]]) -> None:
        for k, (group, here) in enumerate(zip(groups, self.param_groups, strict=True)):
            check_version(group.get("version") if "experts" in group else None, "Hedged")
            was, now = ({f"{name} of group {k}": str(each.get(name)) for name in SAME} for each in (group, here))
            check_same(was, now, "experts and learners")
            check_keys(f"`state_dict['param_groups'][{k}]`", group, OPTIONS, is_full=True)
            check_options(group)

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
            if learner.K > 1 and (learner.now() - 1 / learner.K).abs().max() < 1e-3:
                experts = ", ".join(self._experts[table.group_of[rows[0]]])
                warnings.warn(
                    f"After {PATIENCE} steps the weights of {experts} are still those of the start. There is nothing "
                    "to learn if the experts are the same for these parameters, or the learning rate is too small.",
                    stacklevel=2,
                )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._table, self._first_of = None, {}
        for group in self.param_groups:
            if group["weights"] == "shared":
                self._first_of.setdefault(group["experts"], group)


def chosen(group: dict[str, Any]) -> Experts:
    """The experts of a group, from what was given; raise unless each is one, and there once."""
    given, options = group["experts"], named(group)
    if isinstance(given, str) or not isinstance(given, (tuple, list)) or not given:
        raise ValueError(f"`experts` must be a tuple of at least one expert; got {given!r}.")
    seen = [shadowed(each) for each in given]
    directions = [s if isinstance(s, Shadow) else find(f"experts[{k}]", s, **options) for k, s in enumerate(seen)]
    names = [direction.name for direction in directions]
    if len(set(names)) < len(names):
        raise ValueError(f"`experts` must have different names; got {names}.")
    for mask in (each for each in directions if type(each) is Mask):
        for p in tensors(group):
            masked(mask, p, torch.zeros_like(p, dtype=width(p)))  # raises if it does not fit
    for each, p in ((each, p) for each in directions for p in tensors(group)):
        if isinstance(each, Shadow) and taken(each, p, group) is each:
            each.form(p.shape, width(p), p.device)  # raises if the class refuses it
    return {d.name: (d, isinstance(each, (str, Shadow))) for d, each in zip(directions, seen, strict=True)}


def named(group: dict[str, Any]) -> dict[str, Any]:
    """The options of experts of a group that are given by name."""
    return {"b2": group["betas"][1], "eps": group["eps"]}


def renewed(experts: Experts, group: dict[str, Any]) -> Experts:
    """The experts of a group, those that were given by name with its options as they are now."""
    return {
        name: (find(name, name, **named(group)) if is_named and not isinstance(each, Shadow) else each, is_named)
        for name, (each, is_named) in experts.items()
    }


def check_gradient(p: torch.Tensor, is_sharded: bool) -> torch.Tensor | None:
    """The gradient as far as this process holds it, its entries in order; raise unless it is dense.

    None if there is none; but for a shard of a parameter it is 0, since another process may have one for its own.
    """
    if p.grad is None:
        return torch.zeros_like(local(p)) if is_sharded and split_axes(p) and p.requires_grad else None
    check_dense(p)
    return local(laid_out(p.grad, p)).contiguous() if is_sharded else p.grad.contiguous()
