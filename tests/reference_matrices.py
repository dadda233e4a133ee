"""Roots and polar factors by singular values, with NumPy alone; those that are 0 but for rounding are 0."""

import numpy as np


def root(A):
    """The root of a positive semidefinite matrix."""
    U, w, _ = np.linalg.svd(A)
    return (U * np.sqrt(np.where(w > 1e-13 * w.max(initial=0.0), w, 0.0))) @ U.T


def polar(A):
    U, w, W = np.linalg.svd(A, full_matrices=False)
    return (U * (w > 1e-7 * w.max(initial=0.0))) @ W
