"""f4: a radial well and cosines."""

import math
from dataclasses import dataclass
from typing import ClassVar

from ... import _xp
from ..._xp import Array
from .registry import registry
from .smooth import FIRST_GAP, Objective, half_angle, root

N = 64
WEIGHT = 32.0
NOISE = 0.4
AMPLITUDE = root(lambda y: WEIGHT * 2 * math.sin(y / 2) ** 2 - math.expm1(-y * y / 2) - FIRST_GAP, 0.0, 1.0)


@dataclass(frozen=True)
class RadialCosine(Objective):
    r"""The paper's $f_4$ on $y\in R^{64}$.

    $$f_4(y)=1-e^{-\|y\|^2/2}+32\sum_i(1-\cos y_i).$$

    $\beta=1+32$ is attained at 0 and $M=1+2\cdot32\cdot64$ is approached at $\pi\mathbf1$. The bound on the gradient
    adds the two suprema, $32\sqrt{64}+e^{-1/2}$. Coordinates 2 to 64 carry independent signs of size 0.4, and
    $P_4=e_1e_1^\top$ removes them: $\|\xi\|=\sigma=0.4\sqrt{63}$.

    Reference: Numerical Experiments, the fourth function.

    >>> f = RadialCosine()
    >>> print(f"{f.d} {f.M:g} {f.beta:g} {f.sigma:.4f} {f.S:.4f}")
    64 4097 33 3.1749 259.7814
    """

    name: ClassVar[str] = "f4"
    d: ClassVar[int] = N
    scales: ClassVar[list[float]] = [0.0] + [NOISE] * (N - 1)

    beta: float = 1 + WEIGHT
    sigma: float = NOISE * math.sqrt(N - 1)
    M: float = 1 + 2 * WEIGHT * N
    gradient_sup: float = WEIGHT * math.sqrt(N) + math.exp(-0.5)

    def start(self, like: Array) -> Array:
        """The multiple of e_1, 0.1743116, whose gap is 0.5."""
        return _xp.like([AMPLITUDE] + [0.0] * (N - 1), like)

    def gap_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """f(x) - f* and the gradient."""
        self.check("x", x)
        sin, tan = half_angle(x)
        e = _xp.namespace(x).expm1(-0.5 * _xp.inner(x, x))
        return WEIGHT * _xp.inner(sin, tan) - e, WEIGHT * sin + (1.0 + e) * x

    def witness(self) -> tuple[list[float], list[float]]:
        """The point pi e_1 and the direction e_1: the curvature is -32 + (1 - pi^2) exp(-pi^2 / 2)."""
        return [math.pi] + [0.0] * (N - 1), [1.0] + [0.0] * (N - 1)


registry.add(RadialCosine.name, RadialCosine, "a radial well and cosines", kind="smooth")
