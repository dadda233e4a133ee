"""f2: double wells and bowls."""

import math
from dataclasses import dataclass
from typing import ClassVar

from ... import _xp
from ..._xp import Array
from ...operators import Operator, Projector, trusted
from .registry import registry
from .smooth import FIRST_GAP, Objective, root

N = 64  # coordinates of z
STIFF = 40.0  # the weight of the bowls psi(z_i)
BOWL = 4.0  # the weight of psi((v - 0.3 u) / l)
TILT, SHEAR = 0.1, 0.3
NOISE = 0.4
LENGTH = 0.275 * math.sqrt(0.02)


def _well(s: float) -> float:
    return -math.expm1(-((s * s - 1) ** 2) / 2)


def _well_slope(s: float) -> float:
    p = s * s - 1
    return 2 * s * p * math.exp(-p * p / 2)


def _well_curvature(p: float) -> float:
    return (4 + 6 * p - 4 * p**2 - 4 * p**3) * math.exp(-p * p / 2)  # of D at s^2 = 1 + p


def _q_slope(s: float) -> float:
    return _well_slope(s) - TILT * (1 - math.tanh(s) ** 2)


def _q_curvature(s: float) -> float:
    return _well_curvature(s * s - 1) + 2 * TILT * math.tanh(s) * (1 - math.tanh(s) ** 2)


# The minimum of q. At it, D' = 0.1 (1 - tanh^2).
S_MIN = root(_q_slope, 1.0, 1.1)
T_MIN = math.tanh(S_MIN)
G_STAR = _well(S_MIN) - TILT * T_MIN
WELL_MIN = math.exp(-((S_MIN * S_MIN - 1) ** 2) / 2)

# The first gap of 0.5 is 0.498 of the well of c and 0.002 of (u, v) at u = 0, v = -l/2: this fixes s_c and c.
FIRST_V = -0.5
FIRST_UV_GAP = 0.002
SCALE = FIRST_UV_GAP / (_well(0.0) - G_STAR - BOWL * math.expm1(-(FIRST_V**2) / 2))
FIRST_C = math.sqrt(1 + math.sqrt(-2 * math.log1p(FIRST_UV_GAP - FIRST_GAP)))

# Suprema of |psi'|, |D'|, |q'| and |D''|: where the next derivative vanishes.
BOWL_SLOPE = math.exp(-0.5)
WELL_SLOPE = _well_slope(root(lambda s: _well_curvature(s * s - 1), 1.2, 1.8))
Q_SLOPE = -_q_slope(root(_q_curvature, -1.8, -1.2))
WELL_CURVATURE = _well_curvature(root(lambda p: 3 - 6 * p - 9 * p**2 + 2 * p**3 + 2 * p**4, 0.0, 1.0))
TILT_CURVATURE = TILT * 4 / math.sqrt(27)
UV_SLOPE = SCALE / LENGTH * math.hypot(Q_SLOPE + SHEAR * BOWL * BOWL_SLOPE, BOWL * BOWL_SLOPE)
UV_CURVATURE = SCALE / LENGTH**2 * (WELL_CURVATURE + TILT_CURVATURE + BOWL * (1 + SHEAR**2))


@dataclass(frozen=True)
class DoubleWell(Objective):
    r"""The paper's $f_2$ on $W=(c,u,v,z)\in R^{3+64}$.

    $$f_2(W)=D(c)+s_c\Bigl[q\Bigl(\frac u\ell\Bigr)-g_\star+4\psi\Bigl(\frac{v-0.3u}\ell\Bigr)\Bigr]
      +40\sum_i\psi(z_i),$$
    $$D(s)=1-e^{-(s^2-1)^2/2},\quad \psi(s)=1-e^{-s^2/2},\quad q(s)=D(s)-0.1\tanh s,\quad g_\star=\min q.$$

    The paper prints $s_c$ and the first c and v without saying where they come from. All their digits follow from
    $\ell=0.275\sqrt{0.02}$ and one split of the first gap: at u = 0 and $v=-\ell/2$ the bracket is worth
    $s_c[q(0)-g_\star+4\psi(1/2)]=0.002$, and c > 1 has $D(c)=0.498$.

    The blocks c, (u, v) and z share no variable, so $\sup\|\nabla f_2\|^2$ is the sum of the three squared suprema,
    and attained: u and $v-0.3u$ are free, which puts $(q',\psi')$ at a corner of their ranges. $\beta=40$ is
    $\psi''(0)$ of z; the Hessians of the other blocks are below 14. $M=1+40\cdot64+s_c(1.2+4)$ is the paper's
    crude range, with 1.2 for q: 1 for D and 0.2 for the tilt. The coordinates of z carry independent signs of
    size 0.4, and P_2 removes them: $\|\xi\|=\sigma=3.2$.

    Reference: Numerical Experiments, the second function.

    >>> f = DoubleWell()
    >>> print(f"{f.d} {f.M:.4f} {f.beta:g} {f.sigma:g} {f.S:.4f}")
    67 2561.0111 40 3.2 197.2977
    >>> print(f"{G_STAR:.10f} {LENGTH:.10f} {SCALE:.10f}")
    -0.0763742876 0.0388908730 0.0021279855
    """

    name: ClassVar[str] = "f2"
    d: ClassVar[int] = 3 + N
    scales: ClassVar[list[float]] = [0.0] * 3 + [NOISE] * N  # the noise is on z

    beta: float = max(STIFF, WELL_CURVATURE, UV_CURVATURE)
    sigma: float = NOISE * math.sqrt(N)
    M: float = 1 + STIFF * N + SCALE * (1 + 2 * TILT + BOWL)
    gradient_sup: float = math.hypot(WELL_SLOPE, UV_SLOPE, STIFF * math.sqrt(N) * BOWL_SLOPE)

    def start(self, like: Array) -> Array:
        """c with D(c) = 0.498, u = 0, v = -l/2 and z = 0."""
        return _xp.like([FIRST_C, 0.0, FIRST_V * LENGTH] + [0.0] * N, like)

    def gap_and_gradient(self, x: Array) -> tuple[Array, Array]:
        r"""f(x) - f* and the gradient.

        With h the distance of $s=u/\ell$ from the minimum $s_\star$ of q and $t_\star=\tanh s_\star$,
        $$D(s)-D(s_\star)=-e^{-E_\star}\mathrm{expm1}(-\Delta),\quad
          \Delta=\tfrac12h(s+s_\star)(s^2+s_\star^2-2),\quad
          \tanh s-\tanh s_\star=\frac{(1-t_\star^2)\tanh h}{1+t_\star\tanh h},$$
        so that $q(s)-g_\star$ is exact to the rounding of h.
        """
        self.check("x", x)
        xp = _xp.namespace(x)
        c, u, v, z = x[..., :1], x[..., 1:2], x[..., 2:3], x[..., 3:]

        p = c * c - 1.0
        e_c = xp.expm1(-0.5 * (p * p))

        s = (1 / LENGTH) * u
        h, square = s - S_MIN, s * s
        e_s = xp.expm1((-0.5 * h) * (s + S_MIN) * (square + (S_MIN**2 - 2)))
        t = xp.tanh(h)
        tanh = (1 - T_MIN**2) * t / (1.0 + T_MIN * t)  # tanh s - tanh s*
        slope_s = (2 * WELL_MIN) * s * (square - 1.0) * (1.0 + e_s)
        slope_s = slope_s - TILT * ((1 - T_MIN**2) - tanh * (2 * T_MIN + tanh))

        w = (1 / LENGTH) * v - SHEAR * s
        e_w = xp.expm1(-0.5 * (w * w))
        slope_w = (BOWL * SCALE / LENGTH) * (w + w * e_w)

        e_z = xp.expm1(-0.5 * (z * z))
        uv = WELL_MIN * e_s + TILT * tanh + BOWL * e_w
        gap = -e_c - SCALE * uv - STIFF * xp.sum(e_z, axis=-1, keepdims=True)
        gradient = [
            (c + c) * p * (1.0 + e_c),
            (SCALE / LENGTH) * slope_s - SHEAR * slope_w,
            slope_w,
            STIFF * (z + z * e_z),
        ]
        return gap, xp.concat(gradient, axis=-1)

    def projector(self, like: Array) -> Operator:
        """P_2 keeps c, projects (u, v) onto the span of (1, 1) and removes z."""
        half = math.sqrt(0.5)
        return trusted(Projector, basis=_xp.like([[1.0, 0.0], [0.0, half], [0.0, half]] + [[0.0, 0.0]] * N, like))

    def witness(self) -> tuple[list[float], list[float]]:
        """c = 0, between the wells, and the direction of c: the curvature is -2 exp(-1/2)."""
        return [0.0] * (3 + N), [1.0] + [0.0] * (2 + N)


registry.add(DoubleWell.name, DoubleWell, "double wells and bowls", kind="smooth")
