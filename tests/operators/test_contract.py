"""Every operator keeps the contract, on arrays and on Blocks, in every array library."""

import numpy as np
import pytest

from contracts import BASIS, MASK, NUMPY, SHAPES, SWAP, D, cut, in_every_library
from o2nc import operators
from o2nc.operators import (
    Blockwise,
    Dense,
    Diagonal,
    Identity,
    LeftFactor,
    Mixture,
    Projector,
    RightFactor,
    Scalars,
    Toward,
)
from o2nc.testing import check_operator

OPERATORS = {
    "Identity": lambda lib: Identity(),
    "Diagonal": lambda lib: Diagonal(lib.array(MASK)),
    "mask": lambda lib: Projector.from_mask(lib.array(MASK > 0, "bool")),
    "Projector": lambda lib: Projector(lib.array(BASIS)),
    "Dense": lambda lib: Dense(lib.array(SWAP)),
    "Mixture": lambda lib: Mixture(lib.array([0.25, 0.75]), (Identity(), Dense(lib.array(SWAP)))),
    "Blockwise": lambda lib: Blockwise((Identity(), Diagonal(lib.array([0.5]))), shapes=SHAPES),
    "Scalars": lambda lib: Scalars(lib.array([0.5, -1.0]), shapes=SHAPES),
    "LeftFactor": lambda lib: Blockwise((LeftFactor(lib.array(SWAP)),), shapes=[(3, 1)]),
    "RightFactor": lambda lib: Blockwise((RightFactor(lib.array(SWAP)),), shapes=[(1, 3)]),
    "Toward": lambda lib: Toward(lib.array([1.0, 2.0, 3.0]), lib.array([0.5, -2.0, 1.0])),
}
ON_BLOCKS = {
    "Diagonal": lambda lib: Diagonal(cut(lib, MASK)),
    "mask": lambda lib: Diagonal(cut(lib, MASK > 0)),
    "Mixture": lambda lib: Mixture(lib.array([0.25, 0.75]), (Identity(), Diagonal(cut(lib, MASK)))),
}


@in_every_library
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(lib, name):
    U = OPERATORS[name](lib)
    check_operator(U, lib.array(np.zeros(D)))
    if lib is NUMPY:
        check_operator(U, lib.array(np.zeros((2, D))))


@in_every_library
@pytest.mark.parametrize("name", ["Identity", "Diagonal", "mask", "Mixture", "Blockwise", "Scalars"])
def test_operators_on_blocks(lib, name):
    flat = OPERATORS[name](lib)
    if name == "Mixture":
        flat = Mixture(lib.array([0.25, 0.75]), (Identity(), Diagonal(lib.array(MASK))))
    blocks = ON_BLOCKS.get(name, OPERATORS[name])(lib)
    check_operator(flat, lib.array(np.zeros(D)), shapes=SHAPES, blocks=blocks)
    check_operator(blocks, cut(lib, np.zeros(D)))


def test_every_operator_is_checked():
    kinds = {name for name, value in vars(operators).items() if isinstance(value, type) and "__matmul__" in vars(value)}
    assert kinds - {"Operator"} <= set(OPERATORS)
