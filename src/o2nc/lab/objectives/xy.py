"""f3: an XY ring in a field."""

import math
from dataclasses import dataclass
from typing import ClassVar

from ... import _xp
from ..._xp import Array
from ...operators import Operator, Projector, trusted
from .registry import registry
from .smooth import FIRST_GAP, Objective, half_angle, root

N = 64
FIELD = 32.0
NOISE = 0.4
ANGLES = [2 * math.pi * j / N for j in range(1, N + 1)]
# The constant and the first two Fourier modes: orthonormal columns.
MODES = [[math.sqrt(1 / N), math.sqrt(2 / N) * math.cos(t), math.sqrt(2 / N) * math.sin(t)] for t in ANGLES]


def _first_gap(amplitude: float) -> float:
    theta = [amplitude * math.sin(t) for t in ANGLES]
    bonds = (math.sin((after - before) / 2) ** 2 for before, after in zip(theta, theta[1:] + theta[:1], strict=True))
    return 2 * sum(bonds) + 2 * FIELD * sum(math.sin(t / 2) ** 2 for t in theta)


AMPLITUDE = root(lambda amplitude: _first_gap(amplitude) - FIRST_GAP, 0.0, 0.1)


def _neighbours(v: Array) -> Array:
    ring = _xp.namespace(v).concat([v[..., -1:], v, v[..., :1]], axis=-1)  # xp.roll, twice, takes longer on NumPy
    return ring[..., :-2] + ring[..., 2:]


@dataclass(frozen=True)
class XY(Objective):
    r"""The paper's $f_3$ on a ring of 64 angles, $\theta_{65}=\theta_1$.

    $$f_3(\theta)=\sum_j\bigl[1-\cos(\theta_{j+1}-\theta_j)\bigr]+32\sum_j(1-\cos\theta_j).$$

    $\beta=4+32$ is attained at 0: the Laplacian of an even ring has norm 4. $M=2\cdot64(1+32)$ and
    $\sup\|\nabla f_3\|\le\sqrt{64}(2+32)$ bound each term alone and are not attained. The noise is
    $\xi=0.4(I-P_3)\epsilon$, with P_3 onto the constant and the first sine and cosine. Its norm reaches
    $0.4\sqrt{64}=3.2$, at alternating signs. The paper declares $\sigma=3.2$; the variance is
    $0.4^2(64-3)=9.76=3.124^2$, so 3.2 is an upper bound.

    Reference: Numerical Experiments, the third function.

    >>> f = XY()
    >>> print(f"{f.d} {f.M:g} {f.beta:g} {f.sigma:g} {f.S:g}")
    64 4224 36 3.2 275.2
    """

    name: ClassVar[str] = "f3"
    d: ClassVar[int] = N

    beta: float = 4 + FIELD
    sigma: float = NOISE * math.sqrt(N)
    M: float = 2 * N * (1 + FIELD)
    gradient_sup: float = math.sqrt(N) * (2 + FIELD)

    def start(self, like: Array) -> Array:
        """A sin(2 pi j / 64) with the amplitude A = 0.0312463 whose gap is 0.5."""
        return _xp.like([AMPLITUDE * math.sin(t) for t in ANGLES], like)

    def gap_and_gradient(self, x: Array) -> tuple[Array, Array]:
        r"""f(x) - f* and the gradient, with the addition theorem in place of the sines of the 64 differences.

        With $v=1-\cos\theta$, B the sum of $\sin\theta$ over the two neighbours and A 34 less that of v, the gradient
        is $A\sin\theta-(1-v)B$ and the gap $17\sum v+\frac12\sum(vA-B\sin\theta)$. These terms are of the order of the
        gap, so nothing is lost near the minimum.
        """
        self.check("x", x)
        sin, tan = half_angle(x)
        versine = sin * tan
        A = (2 + FIELD) - _neighbours(versine)
        B = _neighbours(sin)
        gap = (1 + FIELD / 2) * _xp.inner(sin, tan) + 0.5 * (_xp.inner(versine, A) - _xp.inner(sin, B))
        return gap, A * sin - (1.0 - versine) * B

    def projector(self, like: Array) -> Operator:
        """P_3 onto the constant and the first sine and cosine modes."""
        return trusted(Projector, basis=_xp.like(MODES, like))

    def noise(self, epsilon: Array, t: Array | float | None = None) -> Array:
        """0.4 (I - P_3) epsilon."""
        self.check("epsilon", epsilon)
        xp, B = _xp.namespace(epsilon), _xp.like(MODES, epsilon)
        return NOISE * epsilon - xp.matmul(xp.matmul(epsilon, B), NOISE * xp.matrix_transpose(B))

    def witness(self) -> tuple[list[float], list[float]]:
        """theta = pi 1 and the constant direction, which the Laplacian does not see: the curvature is -32."""
        return [math.pi] * N, [math.sqrt(1 / N)] * N


registry.add(XY.name, XY, "an XY ring in a field", kind="smooth")
