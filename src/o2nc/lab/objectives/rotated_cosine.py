"""f1: cosines in rotated coordinates."""

import math
from dataclasses import dataclass
from typing import ClassVar

from ... import _xp
from ..._xp import Array
from .registry import registry
from .smooth import FIRST_GAP, Objective, half_angle

N = 64  # pairs (x_j, y_j)
STIFF, SOFT = 8.0, 8.0 * 0.1  # the weights of the cosines of r and of s
NOISE = 0.1
TURN = math.sqrt(0.5)


@dataclass(frozen=True)
class RotatedCosine(Objective):
    r"""The paper's $f_1$ on $W=(z,x,y)\in R^{1+64+64}$.

    $$f_1(W)=1-\cos z+8\sum_j\bigl[1-\cos r_j+0.1(1-\cos s_j)\bigr],\quad
      r_j=\frac{x_j+y_j}{\sqrt2},\quad s_j=\frac{y_j-x_j}{\sqrt2}.$$

    The rotation keeps norms, so $\beta=8$, $M=2(1+64(8+0.8))$ and $\sup\|\nabla f_1\|=\sqrt{1+64(8^2+0.8^2)}$ are
    attained. The coordinates of x carry independent signs of size 0.1, and P_1 removes them: $\|\xi\|=\sigma=0.8$.

    Reference: Numerical Experiments, the first function.

    >>> f = RotatedCosine()
    >>> print(f"{f.d} {f.M:.1f} {f.beta:g} {f.sigma:g} {f.S:.4f}")
    129 1128.4 8 0.8 65.1270
    """

    name: ClassVar[str] = "f1"
    d: ClassVar[int] = 1 + 2 * N
    scales: ClassVar[list[float]] = [0.0] + [NOISE] * N + [0.0] * N  # the noise is on x

    beta: float = max(1.0, STIFF, SOFT)
    sigma: float = NOISE * math.sqrt(N)
    M: float = 2 * (1 + N * (STIFF + SOFT))
    gradient_sup: float = math.sqrt(1 + N * (STIFF**2 + SOFT**2))

    def start(self, like: Array) -> Array:
        """z = pi/3, where 1 - cos z = 0.5, and x = y = 0."""
        return _xp.like([math.acos(1 - FIRST_GAP)] + [0.0] * (2 * N), like)

    def gap_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """f(x) - f* and the gradient; the gradient is rotated back."""
        self.check("x", x)
        z, x, y = x[..., :1], x[..., 1 : N + 1], x[..., N + 1 :]
        sin_z, tan_z = half_angle(z)
        sin_r, tan_r = half_angle(TURN * (x + y))
        sin_s, tan_s = half_angle(TURN * (y - x))
        gap = sin_z * tan_z + STIFF * _xp.inner(sin_r, tan_r) + SOFT * _xp.inner(sin_s, tan_s)
        r, s = (TURN * STIFF) * sin_r, (TURN * SOFT) * sin_s
        return gap, _xp.namespace(x).concat([sin_z, r - s, r + s], axis=-1)

    def witness(self) -> tuple[list[float], list[float]]:
        """z = pi and the direction of z: the second derivative is -1."""
        return [math.pi] + [0.0] * (2 * N), [1.0] + [0.0] * (2 * N)


registry.add(RotatedCosine.name, RotatedCosine, "cosines in rotated coordinates", kind="smooth")
