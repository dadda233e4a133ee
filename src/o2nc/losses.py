"""What an oracle is shown after it has played: a convex function of the operator, through the vector v = U m."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from ._xp import Array, namespace
from .vectors import Scalar, Vector, inner


class Loss(Protocol):
    """A convex loss $L(U)=\\varphi(Um)$.

    Reference: Algorithm 1, line 5.

    >>> import numpy as np
    >>> loss: Loss = LinearLoss(s=np.asarray([1.0, 2.0]), m=np.asarray([1.0, 0.0]), scale=1.0)
    >>> loss.gradient(0.5 * loss.m)
    array([-1., -2.])
    """

    @property
    def s(self) -> Vector:
        """The sample of the round; learners see the loss, adaptive experts see this."""
        ...

    @property
    def m(self) -> Vector:
        """The direction on which operators are judged."""
        ...

    def __call__(self, v: Vector) -> Array:
        """The loss at an operator with U m = v."""
        ...

    def at(self, product: Array, square: Array) -> Array:
        """The loss at such an operator, from <s, v> and |v|^2: of v it needs no more."""
        ...

    def energy(self, sample: Array, direction: Array) -> Array:
        """(|p| |m|)^2 from |s|^2 and |m|^2, with the longest gradient p in v = U m that a contraction may have."""
        ...

    def gradient(self, v: Vector) -> Vector:
        """The gradient in v at v = U m; in U it is the outer product of this with m."""
        ...

    def restricted(self, part: Callable[[Vector], Vector]) -> "Loss":
        """The loss of some of the coordinates, which ``part`` takes of a vector; over disjoint parts they add up."""
        ...


class LinearLoss(NamedTuple):
    r"""$L_t(U)=-c\,\langle s_t,Um_t\rangle$, with $c=1/G$ in Algorithm 1 and $c=1$ in Algorithm 2.

    Reference: Algorithm 1, line 5; Algorithm 2, line 8.

    >>> import numpy as np
    >>> loss = LinearLoss(s=np.asarray([1.0, 2.0]), m=np.asarray([1.0, 1.0]), scale=0.5)
    >>> loss(loss.m)
    array([-1.5])
    """

    s: Vector  # the fresh sample
    m: Vector  # the predictable direction
    scale: float

    def __call__(self, v: Vector) -> Array:
        """-c <s, v>."""
        return -self.scale * inner(self.s, v)

    def at(self, product: Array, square: Array) -> Array:
        """-c <s, v>."""
        return -self.scale * product

    def energy(self, sample: Array, direction: Array) -> Array:
        """(c |s| |m|)^2."""
        return self.scale**2 * sample * direction

    def gradient(self, v: Vector) -> Vector:
        """-c s, whatever v."""
        return -self.scale * self.s

    def restricted(self, part: Callable[[Vector], Vector]) -> "LinearLoss":
        """The same with the parts of s and m."""
        return self._replace(s=part(self.s), m=part(self.m))


class DescentLoss(NamedTuple):
    r"""$L_t(U)=c\,[-\langle s_t,Um_t\rangle+q\|Um_t\|^2]$ with $c=1/G$ and $q=\kappa\beta\eta/2$: it sees the noise.

    The proof of Theorem 1 starts from $f(x_{t+1})-f(x_t)\le-\eta\langle g_t,U_tm_t\rangle
    +\frac{\beta\eta^2}2\|U_tm_t\|^2$; the linear loss throws the operator out of the last term, this one keeps it,
    $\kappa$ times. It is convex in U.

    Reference: Theorem 1 with the descent loss, in the theory pages.

    >>> import numpy as np
    >>> loss = DescentLoss(s=np.asarray([1.0, 2.0]), m=np.asarray([1.0, 1.0]), scale=0.5, curvature=0.25)
    >>> loss(loss.m)
    array([-1.25])
    """

    s: Vector  # the fresh sample
    m: Vector  # the predictable direction
    scale: float
    curvature: Scalar

    def __call__(self, v: Vector) -> Array:
        """c (-<s, v> + q |v|^2)."""
        return self.at(inner(self.s, v), inner(v, v))

    def at(self, product: Array, square: Array) -> Array:
        """c (-<s, v> + q |v|^2)."""
        return self.scale * (self.curvature * square - product)

    def energy(self, sample: Array, direction: Array) -> Array:
        """(c (|s| + 2 q |m|) |m|)^2."""
        root = namespace(sample).sqrt
        return (self.scale * (root(sample) + 2 * self.curvature * root(direction))) ** 2 * direction

    def gradient(self, v: Vector) -> Vector:
        """c (-s + 2 q v)."""
        return v * (self.scale * 2 * self.curvature) - self.scale * self.s

    def restricted(self, part: Callable[[Vector], Vector]) -> "DescentLoss":
        """The same with the parts of s and m."""
        return self._replace(s=part(self.s), m=part(self.m))


def PredictionLoss(s: Vector, m: Vector, scale: float = 1.0) -> DescentLoss:
    r"""$L_t(U)=\frac c2(\|Um_t-s_t\|^2-\|s_t\|^2)$: choose the operator that predicts the sample.

    That is $c\,[\frac12\|Um_t\|^2-\langle s_t,Um_t\rangle]$, the descent loss of curvature 1/2. No operator has a loss
    below $-\frac c2\|s_t\|^2$, so U need not be a contraction.

    Args:
        s: the fresh sample.
        m: the predictable direction.
        scale: c.

    Reference: the descent loss with $\kappa\beta\eta=1$.

    >>> import numpy as np
    >>> loss = PredictionLoss(s=np.asarray([1.0, 2.0]), m=np.asarray([1.0, 1.0]))
    >>> loss(loss.m), loss.gradient(loss.m)
    (array([-2.]), array([ 0., -1.]))
    """
    return DescentLoss(s, m, scale, 0.5)
