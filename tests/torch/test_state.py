"""What `Hedged` takes as a matrix: by its shape, or as it is told."""

import numpy as np
import pytest
import torch

from o2nc.torch import Hedged
from reference_practical import Practical

SHAPES = [(64, 4), (12, 4), (4, 64), (64, 2, 2, 1), (7,)]
SEEN = {None: [False, True, True, True, False], True: [True, True, True, True, False], False: [False] * 5}


@pytest.mark.parametrize("told", SEEN, ids=str)
def test_tables_are_told_by_their_shape(told):
    """A table has adam's direction, a matrix muon's; convolutions are no tables, and vectors are never matrices."""
    rng = np.random.default_rng(0)
    x = [rng.normal(size=shape) for shape in SHAPES]
    params = [torch.nn.Parameter(torch.as_tensor(a)) for a in x]
    opt = Hedged(params, 0.02, ("muon",), matrices=told)
    reference = Practical(x, ("muon",), matrices=SEEN[told])
    for _ in range(4):
        given = [rng.normal(size=shape) for shape in SHAPES]
        for p, g in zip(params, given, strict=True):
            p.grad = torch.as_tensor(g)
        opt.step()
        reference.step(given, 0.02)
    for p, a in zip(params, reference.x, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), a, rtol=0, atol=1e-12)
    assert ["root" not in opt.state[p] for p in params] == SEEN[told]


@pytest.mark.parametrize(("rows", "is_table"), [(31, False), (32, True)])
def test_where_tables_begin(rows, is_table):
    """With the default experts, which are the same on a table."""
    p = torch.nn.Parameter(torch.zeros(rows, 4))
    opt = Hedged([p])
    p.grad = torch.ones_like(p)
    opt.step()
    assert ("root" in opt.state[p], "e.1" in opt.state[p]) == (is_table, not is_table)
