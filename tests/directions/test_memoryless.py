"""Momentum, sign, masks and functions of the tracker."""

import numpy as np
import torch

from o2nc import Blocks
from o2nc.directions import Function, Mask, Momentum, Sign
from sentences import check

M = np.asarray([3.0, -4.0, 0.0])


def direction(expert, m):
    return expert.direction(expert.init(m), m)


def test_the_formulas():
    assert direction(Momentum(), M) is M
    np.testing.assert_array_equal(direction(Sign(), M), [0.2, -0.2, 0.0])
    np.testing.assert_array_equal(direction(Mask(np.asarray([0.0, 1.0, 1.0])), M), [0.0, -4.0, 0.0])
    np.testing.assert_array_equal(direction(Function(lambda u: u[::-1]), M), M[::-1])


def test_a_mask_of_replications_and_of_blocks():
    mask = np.asarray([0.0, 1.0, 0.5])
    np.testing.assert_array_equal(direction(Mask(mask), np.stack([M, 2 * M])), np.stack([M * mask, 2 * M * mask]))
    x = Blocks((np.ones((2, 2)), M))
    found = direction(Mask(Blocks((np.eye(2), mask))), x)
    np.testing.assert_array_equal(found.arrays[0], np.eye(2))
    np.testing.assert_array_equal(found.arrays[1], M * mask)


def test_a_mask_by_parameter_or_by_a_function():
    p, q = torch.ones(2), torch.ones(2, 2)
    found = direction(Mask({p: torch.tensor([True, False])}), Blocks((p, q)))
    assert [a.tolist() for a in found.arrays] == [[1.0, 0.0], [[1.0, 1.0], [1.0, 1.0]]]
    matrices = Mask(lambda a: torch.zeros_like(a) if a.ndim == 2 else None)
    assert [float(a.sum()) for a in direction(matrices, Blocks((p, q))).arrays] == [2.0, 0.0]
    state = Mask(lambda a: None).init(Blocks((p, q)))
    assert [tuple(a.shape) for a in state.mask.arrays] == [(2,), (2, 2)]


def test_functions_see_one_block_at_a_time():
    seen = []
    direction(Function(lambda u: seen.append(u.shape) or u), Blocks((np.ones((2, 2)), M)))
    assert seen == [(2, 2), (3,)]
    assert (Function(np.tanh).name, Function(np.tanh, name="soft").name) == ("tanh", "soft")
    assert (Function(np.tanh).whole, Function(np.tanh, whole=False).whole) == (True, False)


def test_wrong_arguments_are_sentences():
    check(lambda: Function(3), TypeError, "`Function(function=...)` must be callable; got 3")
    check(lambda: direction(Function(lambda u: u[:1]), M), ValueError, "shape of u, (3,); got (1,)")
    check(lambda: direction(Function(lambda u: None), M), ValueError, "shape of u", "None")
    check(lambda: Mask(3), TypeError, "`Mask(mask=...)`", "got 3")
    check(lambda: Mask({"w": M}), TypeError, "`Mask(mask=...)`", "key 'w'")
    check(lambda: Mask(M, name=3), TypeError, "`Mask(name=...)`", "got 3")
    check(lambda: Mask(M).init(M), ValueError, "`Mask(mask=...)`", "[0, 1]")
    check(lambda: Mask(np.ones(2)).init(M), ValueError, "`Mask(mask=...)`", "(3,); got (2,)")
    check(lambda: Mask(lambda a: 1.0).init(M), ValueError, "`Mask(mask=...)`", "got 1.0")
