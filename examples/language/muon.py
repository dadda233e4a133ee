"""Muon in float32."""

import torch

from o2nc.operators import newton_schulz


class Muon(torch.optim.Optimizer):
    """`torch.optim.Muon` with ``adjust_lr_fn="match_rms_adamw"``, for matrices, in the precision of the parameters.

    PyTorch's own computes in bfloat16, which is slow on a CPU without units for it.

    Args:
        params: matrices, or groups of them.
        lr: the learning rate, that of AdamW.
        weight_decay: decoupled.
        momentum: of the average of the gradients, which is looked at one step ahead (Nesterov).

    Reference: Jordan et al. (2024); the length is that of Liu et al. (2025).
    """

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.ndim != 2:
                raise ValueError(f"`params` must be matrices; got one of shape {tuple(p.shape)}.")

    @torch.no_grad()
    def step(self, closure=None):
        """One step with the gradients; returns the loss of ``closure``, if there is one."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            lr, beta = group["lr"], group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["m"] = torch.zeros_like(p)
                m = state["m"].lerp_(p.grad, 1 - beta)
                p.mul_(1 - lr * group["weight_decay"])
                p.sub_(newton_schulz(p.grad.lerp(m, beta)), alpha=0.2 * lr * max(p.shape) ** 0.5)
        return loss
