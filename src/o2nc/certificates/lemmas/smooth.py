"""The lemmas behind Theorem 1, each as a function that returns its right side."""

import math
from collections.abc import Sequence

from ...constants.rates import check_rate
from ..arguments import check_finite, check_sizes


def smoothness(f_x: float, slope: float, beta: float, distance_square: float) -> float:
    r"""The quadratic upper bound on f(y), from f(x) and the slope $\langle\nabla f(x),y-x\rangle$.

    $$f(y)\le f(x)+\langle\nabla f(x),y-x\rangle+\frac\beta2\|y-x\|^2.$$

    Reference: Lemma 1 (smoothness).

    >>> smoothness(f_x=1.0, slope=-2.0, beta=4.0, distance_square=0.25)
    -0.5
    """
    check_finite("f_x", f_x)
    check_finite("slope", slope)
    check_sizes(beta=beta, distance_square=distance_square)
    return f_x + slope + beta * distance_square / 2


def projection(z: Sequence[float], y: Sequence[float]) -> float:
    r"""The bound on the distance from the projection of z onto a closed convex set C to a point y of C.

    $$\|\Pi_C(z)-y\|\le\|z-y\|.$$

    Reference: Lemma 2 (projection).

    >>> projection(z=[3.0, 4.0], y=[0.0, 0.0])
    5.0
    """
    if len(z) != len(y):
        raise ValueError(f"`z` and `y` must have the same length; got {len(z)} and {len(y)}.")
    return math.dist(z, y)


def gradient_bound(M: float, beta: float) -> float:
    r"""The bound on the norm of every gradient, and the radius of the tracker's ball.

    $$\|\nabla f(x)\|\le G_0=\sqrt{2M\beta}.$$

    Reference: Lemma 4 (gradient bound).

    >>> gradient_bound(M=2.0, beta=4.0)
    4.0
    """
    check_sizes(M=M, beta=beta)
    return math.sqrt(2 * M * beta)


def gradient_bound_sharp(M: float, beta: float) -> float:
    r"""The best bound on the norm of every gradient, smaller than the paper's by the root of two.

    $$\|\nabla f(x)\|\le G=\sqrt{M\beta}.$$

    Proof: with $g=\nabla f(x)$, smoothness gives $f(x-g/\beta)\le f(x)-\|g\|^2/(2\beta)$ and, applied to $-f$,
    $f(x+g/\beta)\ge f(x)+\|g\|^2/(2\beta)$. The difference is at most M. The paper uses the first half only.
    A triangle wave as derivative attains it.

    Reference: not in the paper; it sharpens Lemma 4 (gradient bound).

    >>> gradient_bound_sharp(M=2.0, beta=8.0)
    4.0
    """
    check_sizes(M=M, beta=beta)
    return math.sqrt(M * beta)


def young(a: float, e_square: float, delta_square: float) -> float:
    r"""The bound on $\|(1-a)e-\Delta\|^2$ from the squared norms of e and $\Delta$.

    $$\|(1-a)e-\Delta\|^2\le\Bigl(1-\frac a2\Bigr)\|e\|^2+\frac4a\|\Delta\|^2,\qquad 0<a\le1.$$

    Convexity of the square gives more, $(1-a)\|e\|^2+\frac1a\|\Delta\|^2$; the tight certificate uses the whole family.

    Reference: Lemma 5 (Young).

    >>> young(a=0.5, e_square=4.0, delta_square=1.0)
    11.0
    """
    check_rate(a)
    check_sizes(e_square=e_square, delta_square=delta_square)
    return (1 - a / 2) * e_square + 4 * delta_square / a


def tracker_error(G: float, a: float, V_T: float, S: float) -> float:
    r"""The bound on the tracking error $E_{tr}=\sum_t\mathbb E\|m_t-\nabla f(x_t)\|^2$ of Algorithm 1.

    $$E_{tr}\le\frac{6G^2}a+3aV_T+\frac S{128},\qquad
      V_T=\sum_t\mathbb E\|s_t-\nabla f(x_t)\|^2,\quad S=\sum_t\mathbb E\|\nabla f(x_t)\|^2.$$

    Reference: Lemma 6 (tracker error).

    >>> tracker_error(G=1.0, a=0.5, V_T=2.0, S=128.0)
    16.0
    """
    check_rate(a)
    check_sizes(G=G, V_T=V_T, S=S)
    return 6 * G**2 / a + 3 * a * V_T + S / 128


def descent_lower_bound(G: float, a: float, sum_m_square: float) -> float:
    r"""The lower bound on the summed loss $G\sum_t\mathbb E[L_t(U_t)]$ of the operators that were played.

    $$G\sum_{t=1}^T\mathbb E[L_t(U_t)]\ge-\frac{64G^2}a-\frac a{128}\sum_{t=1}^T\mathbb E\|m_t\|^2.$$

    Reference: Lemma 7 (descent lower bound).

    >>> descent_lower_bound(G=1.0, a=0.5, sum_m_square=256.0)
    -129.0
    """
    check_rate(a)
    check_sizes(G=G, sum_m_square=sum_m_square)
    return -64 * G**2 / a - a * sum_m_square / 128


def comparator(S: float, E_tr: float) -> float:
    r"""The upper bound on the summed loss $G\sum_t\mathbb E[L_t(I)]$ of the identity.

    $$G\sum_{t=1}^T\mathbb E[L_t(I)]\le-S+\sqrt{S\,E_{tr}}.$$

    Reference: Lemma 8 (comparator).

    >>> comparator(S=4.0, E_tr=1.0)
    -2.0
    """
    check_sizes(S=S, E_tr=E_tr)
    return -S + math.sqrt(S * E_tr)
