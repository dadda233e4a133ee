"""f8: pairs of bounded bowls whose noise changes its subspace half-way."""

import math
from dataclasses import dataclass
from typing import ClassVar

from ... import _xp
from ..._xp import Array
from .registry import registry
from .smooth import FIRST_GAP, Objective

N = 32  # pairs (u_i, v_i)
WEIGHT = 32.0
COUPLING = 0.5
NOISE = 0.4
AMPLITUDE = math.atanh(math.sqrt(FIRST_GAP / (WEIGHT * N)))  # 2 * 32 bowls, and none of the coupling
SLOPE = 2 / math.sqrt(27)  # the largest slope of tanh^2 / 2, where tanh^2 = 1/3


@dataclass(frozen=True)
class Switching(Objective):
    r"""Coupled bowls on $x=(u,v)\in R^{32+32}$: first v is noisy, and u from the round ``change`` on.

    $$f_8(u,v)=32\sum_i\bigl[\tau(u_i)+\tau(v_i)+\tfrac12\tau(u_i-v_i)\bigr],\qquad\tau(s)=\tfrac12\tanh^2s.$$

    The objective is one and the same in all rounds, so gap and theorems keep their meaning; it is the noise that
    changes. In the rounds 0 to 1499, counted from 0, it is $\xi=0.4(0,\epsilon)$, later $\xi=0.4(\epsilon,0)$, so
    $\|\xi\|=\sigma=0.4\sqrt{32}$ always, and P, which keeps u, removes it in the first half only. It is I - P that
    removes it in the second, and both u and v have to be learned.

    With $t=\tanh s$, $\tau'=t(1-t^2)$ is at most $2/\sqrt{27}$ and $\tau''=(1-t^2)(1-3t^2)\in[-1/3,1]$. The Hessian
    of a pair is $\mathrm{diag}(\tau''(u),\tau''(v))+\frac12\tau''(u-v)(1,-1)(1,-1)^\top$ times 32, of norm at most
    $\beta=32(1+2\cdot\frac12)$, attained at 0. $M=32\cdot32(\frac12+\frac12+\frac14)$ is approached at $u\to\infty$,
    $v\to-\infty$. Each partial derivative is at most $32(1+\frac12)\,2/\sqrt{27}$, so the norm of the gradient is at
    most 8 times that. f* = 0 at 0. The run starts at $u_i=v_i$ with the gap 0.5, half of it in u and half in v.

    Args:
        change: the first round, counted from 0, whose noise is on u: half of the 3000 that are reported.

    Reference: not in the paper.

    >>> f = Switching()
    >>> print(f"{f.d} {f.M:g} {f.beta:g} {f.sigma:.4f} {f.S:.4f} {f.change}")
    64 1280 64 2.2627 150.0644 1500
    """

    name: ClassVar[str] = "f8"
    d: ClassVar[int] = 2 * N
    scales: ClassVar[list[float]] = [0.0] * N + [NOISE] * N  # of the first half; P, which keeps u, is right there only

    beta: float = WEIGHT * (1 + 2 * COUPLING)
    sigma: float = NOISE * math.sqrt(N)
    M: float = WEIGHT * N * (1 + COUPLING / 2)
    gradient_sup: float = WEIGHT * (1 + COUPLING) * SLOPE * math.sqrt(2 * N)
    change: int = 1500

    def start(self, like: Array) -> Array:
        """All coordinates at 0.0221, where the gap is 0.5."""
        return _xp.like([AMPLITUDE] * (2 * N), like)

    def gap_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """f(x) - f* and the gradient, with one tanh of u, v and u - v together."""
        self.check("x", x)
        xp = _xp.namespace(x)
        t = xp.tanh(xp.concat([x, x[..., :N] - x[..., N:]], axis=-1))
        square = t * t
        slope = (WEIGHT * t) * (1.0 - square)
        pull = COUPLING * slope[..., 2 * N :]
        gap = 0.5 * WEIGHT * xp.sum(square[..., : 2 * N], axis=-1, keepdims=True)
        gap = gap + (0.5 * WEIGHT * COUPLING) * xp.sum(square[..., 2 * N :], axis=-1, keepdims=True)
        return gap, xp.concat([slope[..., :N] + pull, slope[..., N : 2 * N] - pull], axis=-1)

    def noise(self, epsilon: Array, t: Array | float | None = None) -> Array:
        """0.4 epsilon on v in the rounds t < change and on u from then on; ``t`` is counted from 0."""
        self.check("epsilon", epsilon)
        if t is None:
            raise ValueError(f"`t` must be given to the noise of {self.name}, which depends on the round; got None.")
        late = _xp.indicator(_xp.like(t, epsilon) >= self.change, epsilon)
        on_u, on_v = _xp.like([NOISE] * N + [0.0] * N, epsilon), _xp.like([0.0] * N + [NOISE] * N, epsilon)
        return epsilon * (late * on_u + (1.0 - late) * on_v)

    def witness(self) -> tuple[list[float], list[float]]:
        """u_1 with tanh^2 = 2/3 and its direction: the curvature is -32 (1 + 1/2) / 3."""
        return [math.atanh(math.sqrt(2 / 3))] + [0.0] * (2 * N - 1), [1.0] + [0.0] * (2 * N - 1)


registry.add(Switching.name, Switching, "bounded bowls whose noise changes its subspace half-way", kind="smooth")
