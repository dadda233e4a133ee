"""Directions of matrices of one shape, all at once: a batched product costs less than many small ones.

These are a second spelling, in calls of torch, of `o2nc.directions.Muon`, `Polar` and `Soap`, which must agree.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ..directions import Muon, Polar, Soap
from ..directions.base import LENGTH
from ..directions.soap import ITERATIONS, LEAST, settles, turned, weight
from ..operators.polar_factor import find_coefficients
from ..states import leaves, rebuild

Tensor = torch.Tensor
POLARS = (Polar, Muon)  # they remember nothing
BATCHED = (*POLARS, Soap)


def direct(direction: Any, u: Tensor, state: Any) -> Tensor:
    """The directions of trackers that are stacked along a first axis, flat."""
    M: Tensor = direction.batch(u)
    if isinstance(direction, Soap):
        Z = adam(direction, M, state)
    elif direction.steps is None:
        Z = direction.matrix(M)
    else:
        each = find_coefficients("coefficients", getattr(direction, "coefficients", "standard"))
        steps = [*each, *each[-1:] * direction.steps][: direction.steps]
        Z = newton_schulz(M.flatten(0, -3), steps, getattr(direction, "precision", None)).reshape(M.shape)
    length = getattr(direction, "length", LENGTH)
    if isinstance(length, str):
        Z = direction.lengthened(Z)
    elif length is not None:
        size = root_mean_square(Z)
        Z = Z * torch.where(size >= torch.finfo(size.dtype).smallest_normal, length / size, 0)
    floor = max(direction.floor, torch.finfo(M.dtype).smallest_normal)
    return (Z * (root_mean_square(M).clamp(max=floor) / floor)).reshape(len(u), -1)


def root_mean_square(M: Tensor) -> Tensor:
    """That of matrices, of shape (..., 1, 1)."""
    return M.square().mean((-2, -1), keepdim=True).sqrt_()


def newton_schulz(A: Tensor, steps: Sequence[tuple[float, float, float]], precision: str | None) -> Tensor:
    """Approximate polar factors of matrices of shape (rows, p, q), by the coefficients of each step."""
    peak = A.abs().amax((-2, -1), keepdim=True)
    X = A / torch.where(peak > 0, peak, 1)  # its squares neither over- nor underflow
    X /= torch.linalg.vector_norm(X, dim=(-2, -1), keepdim=True).clamp(min=1)
    X = X.mT if (is_tall := A.shape[-2] > A.shape[-1]) else X  # the Gram matrix of the shorter side
    X = X if precision is None else X.to(getattr(torch, precision))
    is_one = len(X) == 1  # products of two axes are quicker
    X, product, add = (X[0], torch.mm, torch.addmm) if is_one else (X, torch.bmm, torch.baddbmm)
    for a, b, c in steps:
        gram = product(X, X.mT)
        X = add(X, add(gram, gram, gram, beta=b, alpha=c), X, beta=a)
    X = X[None] if is_one else X
    return (X.mT if is_tall else X).to(A.dtype)


def adam(direction: Soap, M: Tensor, state: Any) -> Tensor:
    """Adam's directions in the eigenbases, and back."""
    (part,), t = state.blocks.parts, (beside(state.n.values, M) - 1).clamp(min=0)
    factor: Any = torch.sqrt(weight(direction.b2, t))  # type: ignore[arg-type]
    if direction.b1 is not None:
        factor = torch.where(t > 0, factor / weight(direction.b1, t), 0)
    least = LEAST * part.v.mean((-2, -1), keepdim=True).sqrt() + direction.eps
    root = part.v.sqrt().add_(least).clamp_(min=torch.finfo(M.dtype).smallest_normal)
    d = into(part, M if direction.b1 is None else part.m[0]).div_(root)
    for side in part.left:
        d = side.Q @ d
    for side in part.right:
        d = d @ side.Q.mT
    return d * factor


def into(part: Any, A: Tensor) -> Tensor:
    """Q_L^T A Q_R, in memory of its own."""
    d = A
    for side in part.left:
        d = side.Q.mT @ d
    for side in part.right:
        d = d @ side.Q
    return d.clone() if d is A else d


def learn(directions: Sequence[Any], s: Tensor, state: Any) -> None:
    """Let states of `Soap`, stacked along a first axis, learn from samples, in place."""
    (part,), n, b2 = state.blocks.parts, state.n.values, directions[0].b2
    counts, S = n.flatten().tolist(), directions[0].batch(s)
    for i, (each, count) in enumerate(zip(directions, counts, strict=True)):
        if (is_young := settles(count)) or each.due(count, S.shape[-2:]):
            mine = rebuild(part, (a[i : i + 1] for _, a in leaves(part)))
            after = turned(mine, ITERATIONS if is_young else 1)
            for old, new in zip(mine.left + mine.right, after.left + after.right, strict=True):
                old.Q.copy_(new.Q)
    for sides, A in ((part.left, S.flatten(0, -3)), (part.right, S.mT.flatten(0, -3))):
        for G, _ in sides:
            G.flatten(0, -3).baddbmm_(A, A.mT, beta=b2, alpha=1 - b2)
    if not all(counts):  # of the first sample there is a basis, and no more
        S = S * beside(n > 0, S)
    P = into(part, S)
    part.v.mul_(b2).addcmul_(P, P, value=1 - b2)
    for m in part.m:
        m.lerp_(S, 1 - (directions[0].b1 or 0.0))
    n.add_(1)


def beside(n: Tensor, M: Tensor) -> Tensor:
    """Numbers of shape (rows, 1), one for each of the matrices of a row."""
    return n.reshape(-1, *[1] * (M.ndim - 1))
