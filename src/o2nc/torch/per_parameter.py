"""An optimizer whose state belongs to a conversion and is kept per parameter."""

import functools
from typing import Any

import torch

from .._xp import in_parts
from ..conversions import Conversion
from ..vectors import Blocks
from .arguments import check_group, listed, listed_group
from .checkpoint import VERSION, check_counts, check_same, check_version, entries, load
from .coins import coin
from .configuration import words
from .layout import Entry, Form, form_of, gather, scatter
from .shards import laid_out, together


class PerParameter(torch.optim.Optimizer):
    """The parameters as one vector, and the state of a conversion in checkpoints.

    ``state[p]`` holds the number of rounds, "step", the leaves of the conversion's state, and, where it may differ from
    the parameter, the point, "x". What concerns the run as a whole is the item "run" of every group.

    Reference: none; ``torch.distributed.checkpoint`` keeps groups and what is keyed by parameter, and nothing else.
    """

    _form: Form = None  # the structure of the conversion's state, once it was needed
    _own: tuple[str, ...] = ("conversion",)  # attributes that are copied and pickled

    def __init__(self, params: Any, conversion: Conversion, seed: int, **options: Any):
        if isinstance(conversion, type) or not isinstance(conversion, Conversion):
            raise TypeError(f"`conversion` must be a conversion, with init and update; got {conversion!r}.")
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ValueError(f"`seed` must be a nonnegative whole number; got {seed!r}.")
        self.conversion: Any = conversion
        run = {
            "version": VERSION,
            "seed": seed,
            "held": "training",
            "void": "",
            "configuration": dict(words(conversion)),
        }
        super().__init__(listed(params) or [{"params": []}], {**options, "run": run})
        if not self._params:
            raise ValueError("`params` must hold at least one parameter; got none.")

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters. Only before the first step: the vector of a conversion cannot grow."""
        if self.t:
            raise ValueError(f"Parameters must be added before the first step; {self.t} rounds were made.")
        param_group = listed_group(param_group)
        check_group({**self.defaults, **param_group})
        self.state.clear()
        super().add_param_group({**param_group, "run": self._run})

    @property
    def t(self) -> int:
        """The number of rounds so far."""
        return next((int(entry["step"]) for entry in self.state.values() if entry), 0)

    @property
    def _params(self) -> list[torch.Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    @property
    def _dtype(self) -> torch.dtype:
        return functools.reduce(torch.promote_types, (p.dtype for p in self._params), torch.float32)

    @property
    def _run(self) -> dict[str, Any]:
        """What is known of the run as a whole."""
        return self.param_groups[0]["run"] if self.param_groups else self.defaults["run"]

    def _set(self, *, void: str = "", **changes: str) -> None:
        run = {**self._run, "void": self._run["void"] or void, **changes}  # a new dict: a `state_dict` is a snapshot
        for group in self.param_groups:
            group["run"] = run

    def _point(self) -> Blocks:
        """The point that is kept, or else a copy of the parameters."""
        t, dtype = self.t, self._dtype
        kept = [(p, self.state[p].get("x") if t else None) for p in self._params]
        return Blocks(tuple(p.detach().to(dtype, copy=True) if x is None else x for p, x in kept))

    def _initial(self) -> Any:
        x = self._point()
        if self._has_output:
            return self.conversion.init(x, tau=self.conversion.tau(coin(self._run["seed"], 0)))
        return self.conversion.init(x)

    @property
    def _has_output(self) -> bool:
        """Whether the conversion draws the round of an output, which is another point than that of the samples."""
        return hasattr(self.conversion, "tau")

    def _state(self) -> Any:
        if self.t == 0:
            return self._initial()
        if self._form is None:
            self._form = form_of(self._initial())
        return gather(self._form, [self.state[p] for p in self._params])

    def _entries(self, state: Any, x: Blocks, t: int) -> list[Entry]:
        entries = scatter(state, len(x.arrays))
        return [{"step": torch.tensor(t), "x": a, **entry} for a, entry in zip(x.arrays, entries, strict=True)]

    def _keep(self, entries: list[Entry]) -> None:
        dtype = self._dtype
        for p, entry in zip(self._params, entries, strict=True):
            if p.dtype == dtype and not self._has_output:
                del entry["x"]  # the parameter is the point
            self.state[p] = {key: laid_out(a, p) if in_parts(a) else a for key, a in entry.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what ``state_dict()`` returned, into another dtype or device too; the conversion must be the same."""
        load(self, state_dict, self._read)

    def _read(self, saved: dict[str, Any]) -> list[Entry]:
        check_counts(saved, self.param_groups)
        run = saved["param_groups"][0].get("run", {})
        check_version(run.get("version"), "Converted")
        here = dict(words(self.conversion))  # not that of the groups: torch.distributed.checkpoint has written there
        check_same(run["configuration"], here, "conversion")
        if not saved["state"]:  # saved before the first step
            return [{} for _ in self._params]
        with together(self._params):
            found = entries(saved, self._entries(self._initial(), self._point(), 0))
        if missing := [k for k, entry in enumerate(found) if not entry]:
            raise ValueError(f"`state_dict` must have the state of every parameter; it lacks that of {missing}.")
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), **{name: getattr(self, name) for name in self._own}}
