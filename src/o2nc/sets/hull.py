"""The convex hull of finitely many operators."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from .. import _xp
from .._xp import Array
from ..operators import Mixture, Operator, act, check_acts, check_operators, declares, trusted
from ..vectors import Blocks, Vector, inner, leaf
from .base import Static, registry

METRIC_FLOOR = 1e-4  # the smallest ratio of two weights of a diagonal norm on the simplex


@dataclass(frozen=True)
class Hull(Static):
    r"""$\{\sum_k w_kU_k : w\in\Delta_K\}$, the convex hull of K operators, in the coordinates w.

    Args:
        operators: the K operators.

    Reference: Algorithm 3 (Hedge) and its simplex.

    >>> import numpy as np
    >>> from o2nc.operators import Diagonal, Identity
    >>> S = Hull((Identity(), Diagonal(np.asarray([1.0, 0.0]))))
    >>> S.project(np.asarray([1.5, 0.0]))
    array([1., 0.])
    >>> S.diameter(np.zeros(2)) == 2**0.5
    True
    """

    operators: tuple[Operator, ...]
    axes = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "operators", check_operators("Hull(operators=...)", self.operators))
        if not self.operators:
            raise ValueError("`Hull(operators=...)` must have at least one operator; got none.")

    @property
    def any_size(self) -> bool:
        """Whether operators need not be contractions: whether one of them does not say that it is."""
        return not all(declares(U, "contraction") for U in self.operators)

    def start(self, x: Vector) -> Array:
        """The uniform weights, once every operator has been seen to act on x."""
        for U in self.operators:
            check_acts("Hull(operators=...)", U, x)
        K = len(self.operators)
        batch = () if isinstance(x, Blocks) else x.shape[:-1]
        return _xp.zeros((*batch, K), leaf(x)) + 1 / K

    def operator(self, u: Array) -> Operator:
        """The mixture with weights u."""
        return trusted(Mixture, weights=u, operators=self.operators)

    def pullback(self, p: Vector, m: Vector) -> Array:
        """<p, U_k m> for each k."""
        return self.evaluate(lambda v: inner(p, v), m)

    def evaluate(self, loss: Callable[[Vector], Array], m: Vector) -> Array:
        """The values of ``loss`` at each U_k m, of shape (..., K)."""
        values = [loss(act(U, m)) for U in self.operators]
        return _xp.namespace(*values).concat(values, axis=-1)

    def gram(self, m: Vector) -> Array:
        """The products <U_j m, U_k m>, (..., K, K): the second derivative in u of |U m|^2/2."""
        images = [act(U, m) for U in self.operators]
        rows = [[inner(v, w) for w in images[: j + 1]] for j, v in enumerate(images)]
        K, xp = len(images), _xp.namespace(rows[0][0])
        flat = xp.concat([rows[max(j, k)][min(j, k)] for j in range(K) for k in range(K)], axis=-1)
        return xp.reshape(flat, (*flat.shape[:-1], K, K))

    def solve(self, gram: Array, lam: float, g: Array) -> Array:
        """(gram + lam I)^{-1} g."""
        return _xp.solve_vector(gram + lam * _xp.eye(g.shape[-1], g), g)

    def project(self, u: Array) -> Array:
        """The nearest point of the simplex."""
        return self.project_scaled(u, _xp.namespace(u).ones_like(u))

    def metric(self, h: Array) -> Array:
        """``h`` kept above METRIC_FLOOR times its largest entry, and above 0, for `project_scaled`."""
        xp = _xp.namespace(h)
        floored = xp.maximum(h, METRIC_FLOOR * xp.max(h, axis=-1, keepdims=True))
        return xp.where(floored > 0, floored, xp.ones_like(h))

    def project_scaled(self, u: Array, h: Array) -> Array:
        r"""The nearest point of the simplex in the norm $\sum_k h_k(u_k-w_k)^2$: $w_k=\max(u_k-\theta/h_k,0)$."""
        xp = _xp.namespace(u)
        # theta is the largest of the values that make a prefix of the sorted breakpoints u_k h_k sum to one
        u = u - xp.max(u * h, axis=-1, keepdims=True) / h  # theta alone changes; large numbers would round the sum
        order = xp.argsort(u * h, axis=-1, descending=True)
        u_sorted, slope = xp.take_along_axis(u, order, axis=-1), xp.take_along_axis(1 / h, order, axis=-1)
        theta = (xp.cumulative_sum(u_sorted, axis=-1) - 1) / xp.cumulative_sum(slope, axis=-1)
        return xp.clip(u - xp.max(theta, axis=-1, keepdims=True) / h, min=0.0)

    def project_entropic(self, y: Array) -> Array:
        """The point of the simplex nearest to exp(y) in the Kullback-Leibler divergence: softmax(y)."""
        return _xp.softmax(y)

    def minimize(self, g: Array) -> Array:
        """The vertex with the smallest entry of g."""
        xp = _xp.namespace(g)
        K = g.shape[-1]
        best = xp.argmin(g, axis=-1, keepdims=True)
        return xp.astype(xp.arange(K, dtype=best.dtype, device=_xp.device(g)) == best, g.dtype)

    def diameter(self, x: Vector) -> float:
        """sqrt(2), the distance of two vertices; 0 for one operator."""
        return math.sqrt(2) if len(self.operators) > 1 else 0.0

    def sup_diameter(self, x: Vector) -> float:
        """1, the largest change of one weight."""
        return min(1.0, self.diameter(x))

    def gradient_factor(self, x: Vector) -> float:
        """sqrt(K): the norm of the K values <p, U_k m> is at most this times the norms of p and m."""
        return math.sqrt(len(self.operators))

    def identity(self, x: Vector) -> Array | None:
        """The vertex of the identity."""
        if not self.holds_identity:
            return None
        vertex = [float(declares(U, "identity")) for U in self.operators]
        return self.start(x) * 0 + _xp.like([v / sum(vertex) for v in vertex], leaf(x))

    @property
    def holds_identity(self) -> bool:
        """Whether an `Identity` is one of the operators; a hull that holds it unseen is not recognised."""
        return any(declares(U, "identity") for U in self.operators)


registry.add("hull", lambda experts, x: Hull(experts), "mixtures of the experts", over="weights", cli=True)
