"""The projection onto the Fantope, against its optimality conditions and a convex solver."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from o2nc import Blocks
from o2nc.oracles import OGD
from o2nc.sets import Fantope
from sentences import check


def entries(u, limit):
    return arrays(np.float64, (4,), elements=st.integers(-limit, limit).map(lambda k: k * u))


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(entries(0.25, 12), st.integers(1, 3), st.sampled_from([0.0, 1e8, -1e8]))
def test_the_projection_onto_the_fantope_with_ties_and_far_away(w, k, far):
    """Eigenvalues that meet in breakpoints, on both sides of them: the conditions of Karush, Kuhn and Tucker."""
    w = w + far
    p = np.diag(Fantope(k).project(np.diag(w)))
    tolerance = 1e-15 * abs(far) * 10 + 1e-12
    assert np.all((p >= 0) & (p <= 1))
    assert np.sum(p) <= k + 1e-14 * k
    low = max(0.0, np.max(w[p < 1] - p[p < 1], initial=0.0))  # theta >= w_i - p_i where p_i < 1,
    assert np.all(w[p > 0] - p[p > 0] >= low - tolerance)  # and theta <= w_i - p_i where p_i > 0
    assert np.sum(p) >= k - 1e-14 * k or low <= tolerance  # theta = 0 unless the trace is k


def nearest_by_cones(Y, k):
    """The projection onto the Fantope by an interior-point method: U and I - U positive semidefinite, tr U <= k."""
    n = len(Y)
    pairs = [(i, j) for j in range(n) for i in range(j + 1)]  # the upper triangle column by column, as clarabel has it
    weight = np.asarray([1.0 if i == j else 2.0 for i, j in pairs])
    root, y = np.sqrt(weight), np.asarray([Y[i, j] for i, j in pairs])
    diagonal = np.asarray([float(i == j) for i, j in pairs])
    A = np.concatenate([-np.diag(root), np.diag(root), diagonal[None]])
    b = np.concatenate([0 * y, diagonal, [k]])
    cones = [clarabel.PSDTriangleConeT(n), clarabel.PSDTriangleConeT(n), clarabel.NonnegativeConeT(1)]
    options = clarabel.DefaultSettings()
    options.verbose, options.tol_gap_abs, options.tol_gap_rel, options.tol_feas = False, 1e-12, 1e-12, 1e-12
    program = sparse.csc_matrix(np.diag(weight)), -weight * y, sparse.csc_matrix(A), b, cones, options
    found, U = clarabel.DefaultSolver(*program).solve(), np.zeros((n, n))
    for value, (i, j) in zip(found.x, pairs, strict=True):
        U[i, j] = U[j, i] = value
    return U


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_projection_onto_the_fantope_against_a_convex_solver(k):
    """The solver's point U is not nearer to y than the projection p, and no farther from p than |U-y|^2 - |p-y|^2."""
    Y = np.random.default_rng(k).normal(size=(15, 4, 4)) * np.repeat([0.3, 1.0, 3.0], 5)[:, None, None]
    Y = 0.5 * (Y + Y.swapaxes(1, 2))
    for y, p in zip(Y, Fantope(k).project(Y), strict=True):
        U = nearest_by_cones(y, k)
        worse = np.sum((U - y) ** 2) - np.sum((p - y) ** 2)
        assert -1e-9 <= worse <= 1e-6
        assert np.sum((U - p) ** 2) <= worse + 1e-9


WRONG = {
    "k zero": (lambda: Fantope(0), ValueError, "`Fantope(k=...)`", "at least 1; got 0"),
    "k fraction": (lambda: Fantope(1.5), ValueError, "`Fantope(k=...)`", "whole number", "got 1.5"),
    "k bool": (lambda: Fantope(True), ValueError, "`Fantope(k=...)`", "got True"),
    "k of the dimension": (
        lambda: Fantope(3).start(np.zeros(3)), ValueError, "`Fantope(k=...)`", "below the dimension, 3", "got 3",
    ),
    "fantope on blocks": (
        lambda: OGD(Fantope(1)).init(Blocks((np.zeros((2, 2)),))), TypeError, "`Fantope`", "got Blocks",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)
