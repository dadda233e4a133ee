"""Any conversion as a PyTorch optimizer."""

import math
from collections.abc import Callable
from typing import Any

import torch

from ..certificates import Certificate
from ..checks import check_seed, known_keywords
from ..conversions import Conversion
from ..conversions.base import check_can_have, check_is_conversion, check_knows_output
from ..vectors import Blocks, inner
from . import checkpoint
from . import parameter_groups as groups
from .held import Holder
from .report import Report, violated
from .sampled import Samples
from .shards import anywhere, is_sharded, laid_out, replicated

OPTIONS = ("lr", "weight_decay", "maximize", "run")  # not the keys of `defaults`: torch adds others when it loads


class Converted(Holder):
    r"""A conversion as a ``torch.optim.Optimizer``: the parameters are one vector, the gradients are one sample.

    $$x\leftarrow(1-lr\,w)\,x+lr\,\Delta x,\qquad(\Delta x,\text{state})\leftarrow\text{update}(s,\text{state},x).$$

    With ``lr=1`` these are the numbers of the conversion itself. State is kept per parameter, in the widest dtype of
    the parameters and at least in float32. A parameter that is narrower is the rounding of a point that is kept
    with the state and moves in its place.

    Parameters may be sharded over several processes (``DTensor``, FSDP2): the vector is all of them.

    A parameter without a gradient has the gradient 0. A step in which no parameter has one does nothing, and so
    does a first step with gradients and ``lr`` all 0, which only makes the state.

    Algorithm 2 (`NonsmoothConversion`) and its rivals take samples at $y_t$, which the parameters hold, and have an
    output: `eval`, or ``with opt.output()``, puts it there, and `train` brings $y_t$ back. Others have one point.

    Where ``fresh_samples`` asks for a certificate, the point is kept, one more vector, and gradients are compared with
    what backward left in them: parameters that were moved, and gradients that were clipped or scaled, are noticed.

    Args:
        params: parameters, named parameters, or groups with their own ``lr``, ``weight_decay`` and ``maximize``.
        conversion: one of `o2nc.conversions` or `o2nc.rivals`, or your own. One that needs values of the objective is
            refused.
        lr: factor of the displacement; a number or a tensor with one entry.
        weight_decay: w, decoupled.
        maximize: whether the objective is maximised.
        fresh_samples: whether you declare that each gradient is an unbiased sample that was not used before, at the
            point that the optimizer left, and that the constants of the conversion are true.
        nonfinite: "raise" an error if gradients, or their squares, are not finite, or "skip" the step; nothing changes.
        changed: "raise" an error if the parameters no longer hold the point that was left there, or "accept" what they
            hold, without a certificate from then on. A conversion with one point keeps it with ``fresh_samples``. (An
            output that was changed is left by `train` all the same.)
        seed: of the algorithm's own coins, r_t and tau: those of `o2nc.minimize` with the same seed.

    Reference: Algorithms 1 and 2.

    >>> from o2nc import Smooth, SmoothConversion
    >>> from o2nc.oracles import Constant
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> constants = Smooth(gap=2.0, beta=1.0, sigma=0.0, T=50)
    >>> opt = Converted([x], SmoothConversion(Constant(), constants), fresh_samples=True)
    >>> for _ in range(50):
    ...     opt.zero_grad()
    ...     (1 - torch.cos(x)).sum().backward()
    ...     opt.step()
    >>> bool(abs(x) < 0.01), opt.certificate().label
    (True, 'plug-in')
    """

    _own = ("nonfinite", "conversion", "changed", "fresh_samples")
    _form: checkpoint.Form = None  # the structure of the conversion's state, once it was needed
    _stated: Certificate | str | None = None  # what the oracle states for these shapes, once it was asked
    _samples: Samples | None = None  # what backward left in the gradients, if a certificate is asked for

    @known_keywords("`Converted`")
    def __init__(
        self,
        params: Any,
        conversion: Conversion,
        lr: float | torch.Tensor = 1.0,
        *,
        weight_decay: float = 0.0,
        maximize: bool = False,
        fresh_samples: bool = False,
        nonfinite: str = "raise",
        changed: str = "raise",
        seed: int = 0,
    ):
        check_is_conversion(conversion)
        check_can_have(conversion, frozenset({"tau", "x", "r"}), "`Converted`")
        check_knows_output(conversion)
        groups.check_flags({"fresh_samples": fresh_samples, "maximize": maximize})
        groups.check_choice("changed", changed, ("raise", "accept"))
        check_seed(seed)
        self.conversion, self.fresh_samples, self.changed = conversion, fresh_samples, changed
        run: dict[str, Any] = {"version": checkpoint.VERSION, "seed": seed, "held": "training", "void": ""}
        run["configuration"] = dict(checkpoint.words(conversion))
        defaults = {"lr": lr, "weight_decay": weight_decay, "maximize": maximize, "run": run}
        super().__init__(params, defaults, nonfinite)
        self._follow()
        if any(map(is_sharded, self._params)):
            self.certificate()  # here, where all processes are: one that makes a report alone cannot ask others

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters. Only before the first step: the vector of a conversion cannot grow."""
        if self.t:
            raise ValueError(f"Parameters must be added before the first step; {self.t} rounds were made.")
        param_group = groups.listed_group(param_group)
        groups.check_keys("A group of `Converted`", param_group, OPTIONS)
        groups.check_group({**self.defaults, **param_group})
        super().add_param_group({**param_group, "run": self._run})
        self.state.clear()
        self._stated = None
        self._follow()

    @property
    def _is_declared(self) -> bool:
        """Whether a certificate is asked for: then its hypotheses are watched."""
        return self.fresh_samples and not self.conversion.hypothesis()

    def _follow(self) -> None:
        """Watch the gradients of all parameters."""
        if not self._is_declared or any(map(is_sharded, self._params)):
            return
        if self._samples is None or self._samples.state is not self.state:  # which torch replaces when it loads
            self._samples = Samples(self._params, self.state)
        self._samples.follow(self._params)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._follow()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients, as in every optimizer."""
        super().zero_grad(set_to_none)
        if self._samples is not None:
            self._samples.clear()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One round with the gradients as the sample; returns the loss of ``closure``, if there is one."""
        if self.held == "output":
            raise RuntimeError("The parameters hold the output point; `train()` must be called before `step()`.")
        return super().step(closure)

    def _step(self) -> None:
        for group in self.param_groups:
            groups.check_rates(group)
        if anywhere(any(p.grad is not None for p in self._params), self._params):
            before, run = dict(self.state), self._run  # entries and what is known of a run are replaced, never changed
            try:
                with replicated(self._params):
                    self._round(self._sample(), self.t + 1)
            except BaseException:
                self.state.clear()
                self.state.update(before)
                for group in self.param_groups:
                    group["run"] = run
                raise
        if self._samples is not None:
            self._samples.clear()
        self._follow()  # parameters that were frozen before too

    def _round(self, s: Blocks, t: int) -> None:
        told = [(float(g["lr"]), float(g["weight_decay"])) for g in self.param_groups for _ in g["params"]]
        if t == 1 and not any(lr for lr, _ in told) and not float(inner(s, s)):
            found = self._entries(self._initial(), self._point(), 0)  # distributed checkpoints make state this way
            self._keep([{key: a.clone() for key, a in entry.items()} for entry in found])  # and write into it
            return
        if not math.isfinite(inner(s, s)):
            self.refuse(f"Gradients must be finite, and their squares; in round {t} they were not.", t)
            self._set(void=f"the gradients of round {t} were not finite and were left out")
            return
        self._check_held("training")
        if self._is_declared:
            self._watch(t)
        x, r = self._point(), checkpoint.coin(self._run["seed"], t) if "r" in self.conversion.needs else None
        dx, state = self.conversion.update(s, self._state(), x, r=r)
        pieces = zip(told, x.arrays, dx.arrays, self._params, strict=True)
        x = Blocks(tuple(laid_out((1 - lr * w) * a + lr * b, p) for (lr, w), a, b, p in pieces))
        self._set(void=violated(self.param_groups, self.fresh_samples, self.conversion.horizon, t))
        if not self._run["void"]:
            self._a_priori()  # so that each process knows it when it makes a report alone
        self._keep(self._entries(state, x, t))
        self._write(x)

    def _watch(self, t: int) -> None:
        """Take the certificate away if the sample is not what backward made of the point of the last round."""
        if t > 1 and any("x" not in self.state[p] for p in self._params):
            self._set(
                void=f"the state that was loaded has no point of round {t - 1}, and the parameters may be another"
            )
        if self._samples is not None and (why := self._samples.objection(self._params)):
            self._set(void=f"the gradients of round {t} {why}")

    def _sample(self) -> Blocks:
        """The gradients as one vector: copies, since a state may keep what it is given."""
        groups.check_device(self._params)
        blocks, dtype = [], self._dtype
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    groups.check_dense(p.grad)
                g = torch.zeros_like(p, dtype=dtype) if p.grad is None else laid_out(p.grad, p).to(dtype, copy=True)
                blocks.append(-g if group["maximize"] else g)
        return Blocks(tuple(blocks))

    def _point(self) -> Blocks:
        """The training point: what is kept of it, else a copy of the parameters."""
        t, dtype = self.t, self._dtype
        kept = [(p, self.state[p].get("x") if t else None) for p in self._params]
        return Blocks(tuple(p.detach().to(dtype, copy=True) if x is None else x for p, x in kept))

    @property
    def _has_output(self) -> bool:
        """Whether the output is another point than that of the samples."""
        return self.conversion.has_output

    def _initial(self) -> Any:
        T, coin = self.conversion.horizon, checkpoint.coin(self._run["seed"], 0)
        tau = self.conversion.tau(coin, T) if self._has_output and T is not None else None
        return self.conversion.init(self._point(), tau=tau)

    def _output(self) -> Blocks:
        with replicated(self._params):
            return self.conversion.output(self._state(), self._point())

    def _state(self) -> Any:
        if self.t == 0:
            return self._initial()
        if self._form is None:
            self._form = checkpoint.form_of(self._initial())
        return checkpoint.gather(self._form, [self.state[p] for p in self._params])

    def _entries(self, state: Any, x: Blocks, t: int) -> list[checkpoint.Entry]:
        found = checkpoint.scatter(state, len(x.arrays))
        return [{"step": torch.tensor(t), "x": a, **entry} for a, entry in zip(x.arrays, found, strict=True)]

    def _keep(self, found: list[checkpoint.Entry]) -> None:
        for p, entry in zip(self._params, found, strict=True):
            if p.dtype == entry["x"].dtype and not self._has_output and not self._is_declared:
                del entry["x"]  # the parameter is the point, whoever moves it
            self.state[p] = {key: laid_out(a, p) if is_sharded(a) else a for key, a in entry.items()}

    def _check_groups(self, saved: list[dict[str, Any]]) -> None:
        for k, group in enumerate(saved):
            checkpoint.check_run(group.get("run"), self.conversion)
            groups.check_keys(f"`state_dict['param_groups'][{k}]`", group, OPTIONS, is_full=True)
            groups.check_rates(group)
            groups.check_flags({"maximize": group["maximize"]})

    def _read(self, saved: dict[str, Any]) -> list[checkpoint.Entry]:
        if not saved["state"]:  # saved before the first step
            return [{} for _ in self._params]
        with replicated(self._params):
            found = checkpoint.entries(saved, self._entries(self._initial(), self._point(), 0))
        if missing := [k for k, entry in enumerate(found) if not entry]:
            raise ValueError(f"`state_dict` must have the state of every parameter; it lacks that of {missing}.")
        if len(steps := {int(entry["step"]) for entry in found}) > 1:
            raise ValueError(f"`state_dict` must have one 'step' for all parameters; got {sorted(steps)}.")
        return found

    def _a_priori(self) -> Certificate | str:
        """The certificate from the bound of the oracle, which depends on the shapes of the parameters only."""
        if self._stated is None:
            with replicated(self._params):
                self._stated = self.conversion.a_priori(self._point())
        return self._stated

    def _verdict(self) -> Certificate | str:
        """The certificate, or the reason why there is none."""
        t, T = self.t, self.conversion.horizon
        why = self.conversion.hypothesis() or self._run["void"]
        if why := why or violated(self.param_groups, self.fresh_samples, T, max(t, 1)):
            return why
        if t and T in (t, None):
            return self.conversion.certificate(self._state())
        return (self.conversion.objection(self._state()) if t else "") or self._a_priori()

    @property
    def reason(self) -> str:
        """Why there is no certificate; empty if there is one."""
        return verdict if isinstance(verdict := self._verdict(), str) else ""

    def certificate(self) -> Certificate | None:
        """The theorem, with the measured regret after T rounds and the stated bound before; or None, see `reason`."""
        return None if isinstance(verdict := self._verdict(), str) else verdict

    def report(self) -> Report:
        """Rounds, regret and clipped share, if it has them, which point is held, and the certificate or the reason."""
        certificate, t = self.certificate(), self.t
        sums = self.conversion.sums(self._state()) if t else {}
        return Report(
            t=float(t),
            **{name: float(sums[name]) / n for name, n in (("regret", 1), ("clipped", t)) if name in sums},
            **{"held": self.held, **({"skipped": float(self.skipped)} if self.nonfinite == "skip" else {})},
            certificate="none" if certificate is None else f"{certificate.name} ({certificate.label})",
            bound=math.inf if certificate is None else certificate.bound,
            reason=self.reason,
        )
