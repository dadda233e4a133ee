"""Preconditioners: linear contractions of R^d, applied with ``U @ v``.

An operator acts on the last axis of an array, so replications on the leading axes need nothing; `Identity`, `Diagonal`,
`Mixture`, `Blockwise` and `Scalars` act on `Blocks` too. What a user builds is checked at construction. What a learner
plays holds by construction and is made with `trusted`, without a check, so that it can be traced and costs nothing.
"""

from .base import Operator, act, check_is_operator, check_operators, declares, trusted
from .basic import Dense, Diagonal, Identity, Projector
from .combined import Blockwise, Mixture, check_acts
from .inverse_root import inverse_root
from .kronecker import LeftFactor, RightFactor
from .polar_factor import newton_schulz, polar
from .scalars import Scalars
from .smoothed_polar import damped_polar, gaussian_draws, perturbed_polar, shorter_square
from .toward import Toward

__all__ = [
    "Blockwise",
    "Dense",
    "Diagonal",
    "Identity",
    "LeftFactor",
    "Mixture",
    "Operator",
    "Projector",
    "RightFactor",
    "Scalars",
    "Toward",
    "act",
    "check_acts",
    "check_is_operator",
    "check_operators",
    "damped_polar",
    "declares",
    "gaussian_draws",
    "inverse_root",
    "newton_schulz",
    "perturbed_polar",
    "polar",
    "shorter_square",
    "trusted",
]
