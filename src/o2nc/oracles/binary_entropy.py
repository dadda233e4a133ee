"""The mirror map of the binary entropy: matrix multiplicative weights for 0 <= U <= I."""

from dataclasses import dataclass
from typing import Any

from .. import _xp
from .._xp import Array
from ..sets import OperatorSet, Varying
from ..sets.base import Coordinates
from ..vectors import zeros_like
from .coordinates import dot


@dataclass(frozen=True)
class BinaryEntropic:
    r"""$\mathrm{tr}[U\log U+(I-U)\log(I-U)]$: dual points are log-odds, $U=(I+e^{-Y})^{-1}$ (Fermi and Dirac).

    Needs `PositiveContractions`, or a `Box` with low >= 0, where it acts on each factor. A learner starts at $I/2$, and
    not at I, whose log-odds are infinite; on a box, at its point nearest to that.

    The regret of `OMD` and `FTRL` is $D_\varphi(u,u_1)/\eta+\frac\eta8\sum_t\|g_t\|^2$, and $D_\varphi\le d\log2$ from
    $I/2$. Proof: the second derivative at U along H is $\sum_{ij}\varphi'[\lambda_i,\lambda_j]H_{ij}^2$ in the
    eigenbasis of U (Daleckii and Krein), where the difference quotient of
    $\varphi'(\lambda)=\log\frac\lambda{1-\lambda}$ is a mean of $\varphi''=1/(\lambda(1-\lambda))\ge4$. So
    $\varphi$ is 4-strongly convex in the Frobenius norm.

    Reference: Tsuda, Raetsch and Warmuth (2005); Arora and Kale (2007).

    >>> import numpy as np
    >>> from o2nc.sets import PositiveContractions
    >>> BinaryEntropic().project(PositiveContractions(), np.asarray([[0.0, np.log(3)], [np.log(3), 0.0]])).round(4)
    array([[0.5 , 0.25],
           [0.25, 0.5 ]])
    """

    def check(self, operators: OperatorSet) -> None:
        """Raise unless the set has factors, all in [0, 1]."""
        if isinstance(operators, Varying):
            return  # the rule is not called before there is a round
        low, high = getattr(operators, "low", 0.0), getattr(operators, "high", 1.0)
        if not hasattr(operators, "factorwise") or low < 0 or high > 1:
            raise TypeError(
                "`set` must be `PositiveContractions` or a `Box` with low >= 0 and high <= 1 for the binary entropy; "
                f"got {operators!r}."
            )

    def start(self, operators: OperatorSet, u: Coordinates) -> Coordinates:
        """The point of the set with the least entropy: I/2, if it is there."""
        return self.project(operators, zeros_like(u))

    def dual(self, operators: OperatorSet, u: Coordinates) -> Coordinates:
        """The log-odds, where 0 and 1 count as one rounding away from them: what is there can come back."""
        return operators.factorwise(log_odds, u)  # type: ignore[attr-defined]

    def project(self, operators: OperatorSet, y: Coordinates) -> Coordinates:
        """The factors 1 / (1 + exp(-y)), clipped to those of the set: the projection in a separable divergence."""
        low, high = operators.low, getattr(operators, "high", 1.0)  # type: ignore[attr-defined]
        return operators.factorwise(  # type: ignore[attr-defined]
            lambda a: _xp.namespace(a).clip(sigmoid(a), min=low, max=high), y
        )

    def divergence(self, operators: OperatorSet, u: Coordinates, v: Coordinates) -> Array:
        """phi(u) - phi(v) - <phi'(v), u - v>."""

        def phi(u: Coordinates) -> Array:
            terms, ones = (operators.factorwise(f, u) for f in (entropy, ones_like))  # type: ignore[attr-defined]
            return dot(operators, terms, ones)

        return phi(u) - phi(v) - dot(operators, self.dual(operators, v), u - v)

    def stability(self, operators: OperatorSet, x: Any) -> float:
        """An eighth of the square of the set's gradient factor."""
        return operators.gradient_factor(x) ** 2 / 8


def sigmoid(y: Array) -> Array:
    """1 / (1 + exp(-y)) in full precision, where nothing overflows."""
    xp = _xp.namespace(y)
    e = xp.exp(-xp.abs(y))
    return xp.where(y >= 0, xp.ones_like(e), e) / (1 + e)


def log_odds(p: Array) -> Array:
    """log(p / (1 - p)) for p between eps and 1 - eps."""
    xp, eps = _xp.namespace(p), _xp.machine_eps(p)
    p = xp.clip(p, min=eps, max=1 - eps)
    return xp.log(p) - xp.log1p(-p)


def entropy(p: Array) -> Array:
    """p log p + (1 - p) log(1 - p), with 0 log 0 = 0."""
    xp, tiny = _xp.namespace(p), _xp.smallest_normal(p)
    return sum(q * xp.log(xp.clip(q, min=tiny)) for q in (p, 1 - p))


def ones_like(p: Array) -> Array:
    """1 for each factor, so that inner products with it are traces."""
    return _xp.namespace(p).ones_like(p)
