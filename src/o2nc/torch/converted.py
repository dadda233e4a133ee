"""Any conversion as a PyTorch optimizer."""

import math
from collections.abc import Callable
from typing import Any

import torch

from .._xp import in_parts
from ..certificates import Certificate
from ..conversions import Conversion
from ..guarantees import CLIPPED_LIMIT, is_contraction, measured, stated
from ..vectors import Blocks, inner
from .arguments import check_device
from .coins import coin
from .objections import objection
from .report import Report
from .shards import anywhere, laid_out, together
from .two_points import TwoPoints


class Converted(TwoPoints):
    r"""A conversion as a ``torch.optim.Optimizer``: the parameters are one vector, the gradients are one sample.

    $$x\leftarrow(1-lr\,w)\,x+lr\,\Delta x,\qquad(\Delta x,\text{state})\leftarrow\text{update}(s,\text{state},x).$$

    With ``lr=1`` these are the numbers of the conversion itself. State is kept per parameter, in the widest dtype of
    the parameters and at least in float32. A parameter that is narrower is the rounding of a point that is kept
    with the state and moves in its place.

    Parameters may lie in parts on several processes (``DTensor``, FSDP2): the vector is all of them.

    A parameter without a gradient has the gradient 0. A step in which no parameter has one does nothing, and so
    does a first step with gradients and ``lr`` all 0, which only makes the state.

    Algorithm 2 (`NonsmoothConversion`) and its rivals have two points: during training the parameters hold $y_t$, where
    samples are taken; `eval`, or ``with opt.output()``, lets them hold the output of the algorithm, and `train` brings
    $y_t$ back. For other conversions these do nothing.

    Args:
        params: parameters, named parameters, or groups with their own ``lr``, ``weight_decay`` and ``maximize``.
        conversion: one of `o2nc.conversions`, or your own.
        lr: factor of the displacement; a number or a tensor with one entry.
        weight_decay: w, decoupled.
        maximize: whether the objective is maximised.
        fresh_samples: whether you declare that each gradient is an unbiased sample that was not used before, at the
            point that the optimizer left, and that the constants of the conversion are true.
        nonfinite: "raise" an error if gradients, or their squares, are not finite, or "skip" the step. Either way
            neither parameters nor state change.
        changed: "raise" an error if a point that is kept is no longer in the parameters, because they were changed
            from outside or come from another checkpoint, or "accept" what they hold.
        seed: of the algorithm's own coins, r_t and tau: those of `o2nc.minimize` with the same seed.

    Reference: Algorithms 1 and 2.

    >>> from o2nc import Smooth, SmoothConversion
    >>> from o2nc.oracles import Constant
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> constants = Smooth(M=2.0, beta=1.0, sigma=0.0, T=500)
    >>> opt = Converted([x], SmoothConversion(Constant(), constants), fresh_samples=True)
    >>> for _ in range(500):
    ...     opt.zero_grad()
    ...     (1 - torch.cos(x)).sum().backward()
    ...     opt.step()
    >>> bool(abs(x) < 0.01), opt.certificate().label
    (True, 'plug-in')
    """

    _bound: tuple[Certificate | None] | None = None  # what the oracle states, once it was asked
    _own = ("conversion", "changed", "fresh_samples", "nonfinite")

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
        for name, value in (("fresh_samples", fresh_samples), ("maximize", maximize)):
            if not isinstance(value, bool):
                raise TypeError(f"`{name}` must be True or False; got {value!r}.")
        if nonfinite not in ("raise", "skip"):
            raise ValueError(f"`nonfinite` must be 'raise' or 'skip'; got {nonfinite!r}.")
        self.fresh_samples, self.nonfinite = fresh_samples, nonfinite
        super().__init__(params, conversion, seed, changed, lr=lr, weight_decay=weight_decay, maximize=maximize)
        if any(map(in_parts, self._params)):
            self.certificate()  # here, where all processes are: one that makes a report alone cannot ask others

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One round with the gradients as the sample; returns the loss of ``closure``, if there is one."""
        if self.held == "output":
            raise RuntimeError("The parameters hold the output point; `train()` must be called before `step()`.")
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if anywhere(any(p.grad is not None for p in self._params), self._params):
            with together(self._params):
                self._round(self._sample(), self.t + 1)
        return loss

    def _round(self, s: Blocks, t: int) -> None:
        rates = [float(group["lr"]) for group in self.param_groups for _ in group["params"]]
        decays = [float(group["weight_decay"]) for group in self.param_groups for _ in group["params"]]
        if t == 1 and not any(rates) and not inner(s, s).any():
            entries = self._entries(self._initial(), self._point(), 0)  # distributed checkpoints make state this way
            self._keep([{key: a.clone() for key, a in entry.items()} for entry in entries])  # and write into it
            return
        if not math.isfinite(inner(s, s)):
            if self.nonfinite == "raise":
                raise ValueError(
                    f"Gradients must be finite, and their squares; in round {t} they were not. Nothing was changed; "
                    "`Converted(nonfinite='skip')` leaves such steps out."
                )
            self._set(void=f"the gradients of round {t} were not finite and were left out")
            return
        self._settle("training")
        x, before = self._point(), self._state()
        r = coin(self._run["seed"], t) if getattr(self.conversion, "r", None) is None else None
        dx, state = self.conversion.update(s, before, x, r=r)
        void = self._run["void"] or objection(self.conversion, self.param_groups, self.fresh_samples, t)
        if not void and not is_contraction(self.conversion, dx, before, state):
            void = f"the oracle played an operator of norm above 1 in round {t}"
        pieces = zip(rates, decays, x.arrays, dx.arrays, self._params, strict=True)
        x = Blocks(tuple(laid_out((1 - lr * w) * a + lr * b, p) for lr, w, a, b, p in pieces))
        entries = self._entries(state, x, t)
        for p, a in zip(self._params, x.arrays, strict=True):
            p.copy_(a)
        self._keep(entries)
        self._set(void=void)
        if not void:
            self._stated()  # so that each process knows it when it makes a report alone

    def _sample(self) -> Blocks:
        """The gradients as one vector: copies, since a state may keep what it is given."""
        check_device(self._params)
        blocks, dtype = [], self._dtype
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None and p.grad.layout != torch.strided:
                    raise TypeError(f"Gradients must be dense; got one with layout {p.grad.layout}.")
                g = torch.zeros_like(p, dtype=dtype) if p.grad is None else laid_out(p.grad, p).to(dtype, copy=True)
                blocks.append(-g if group["maximize"] else g)
        return Blocks(tuple(blocks))

    @property
    def reason(self) -> str:
        """Why there is no certificate; empty if there is one."""
        t = self.t
        if why := self._run["void"] or objection(self.conversion, self.param_groups, self.fresh_samples, max(t, 1)):
            return why
        T, share = self.conversion.constants.T, self._measures().get("clipped", 0.0)
        if share > CLIPPED_LIMIT:
            return f"the constants are too small: the tracker was projected in {share:.0%} of the rounds"
        if t < T and self._stated() is None:
            return f"the oracle states no bound, and {t} of T = {T} rounds were made"
        return ""

    def certificate(self) -> Certificate | None:
        """The theorem of the conversion: with the measured regret after T rounds, with the stated bound before.

        None if a hypothesis was not met in some round; `reason` says which.
        """
        if self.reason:
            return None
        if self.t < self.conversion.constants.T:
            return self._stated()
        return measured(self.conversion, [self._measures()["regret"]])

    def _stated(self) -> Certificate | None:
        """The certificate from the bound of the oracle, which depends on the shapes of the parameters only."""
        if self._bound is None:
            with together(self._params):
                self._bound = (stated(self.conversion, self._point()),)
        return self._bound[0]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters. Only before the first step: the vector of a conversion cannot grow."""
        super().add_param_group(param_group)
        self._bound = None

    def report(self) -> Report:
        """Rounds, regret and clipped share, if it has them, which point is held, and the certificate or the reason."""
        certificate = self.certificate()
        return Report(
            t=float(self.t),
            **self._measures(),
            held=self.held,
            certificate="none" if certificate is None else f"{certificate.name} ({certificate.label})",
            bound=math.inf if certificate is None else certificate.bound,
            reason=self.reason,
        )

    def _measures(self) -> dict[str, float]:
        entry, t = self.state.get(self._params[0], {}), max(self.t, 1)
        shares = {"regret": 1, "clipped": t}
        return {name: float(entry[f"state.{name}"]) / n for name, n in shares.items() if f"state.{name}" in entry}
