"""Stacks, buckets and parts: every gradient is in one bucket once, and no number depends on how tensors are cut."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_hedged import ALL, halved, run

from o2nc.torch import Hedged
from o2nc.torch.kernels import Kernel, stored
from o2nc.torch.stacks import Stack, parts, runs
from reference_practical import Practical


@given(st.sets(st.integers(0, 30)), st.lists(st.booleans(), min_size=31, max_size=31))
def test_runs_are_the_longest_slices_without_gaps_and_with_one_key(places, keys):
    found = list(runs(sorted(places), keys.__getitem__))
    assert [k for where in found for k in range(where.start, where.stop)] == sorted(places)
    assert all(len({keys[k] for k in range(where.start, where.stop)}) == 1 for where in found)
    for one, two in pairwise(found):
        assert one.stop < two.start or keys[one.stop - 1] != keys[two.start]


def stack(rows, n):
    """Tensors with n entries, of which the direction of each expert was computed before."""
    kernels = [Kernel(stored, "one", "d.own")]
    return Stack(
        rows, [torch.zeros(n)] * len(rows), kernels, 0, ["e"], dict.fromkeys(("m", "e"), torch.zeros(len(rows), n)), {}
    )


def test_parts_have_every_entry_once_and_hold_few_directions():
    """Of 5 tensors with 12 entries, one of which has no gradient, and a large one with 100."""
    stacks, rows = [stack([0, 3], 12), stack([4, 2, 1], 12), stack([5], 100)], (0, 1, 3, 4, 5)
    found = parts(stacks, rows, 30, 40, 2)
    seen = [
        (row, k)
        for part in found
        for b in part.buckets
        for row in b.rows
        for k in range(b.entries.start, b.entries.stop)
    ]
    assert sorted(seen) == [(row, k) for row in rows for k in range(100 if row == 5 else 12)]
    assert [sorted({row for b in part.buckets for row in b.rows}) for part in found] == [[0, 3], [1, 4], [5]]
    assert [b.m.numel() for b in found[-1].buckets] == [30, 30, 30, 10]
    sums = [torch.full((len(b.rows),), 2.0) for part in found[:1] for b in part.buckets for _ in range(3)]
    table = found[0].table(sums, 6)  # of one trace, of m, and of the direction with itself; K is 2
    np.testing.assert_array_equal(table[[0, 3]], [[2, 0, 2, 2, 0, 0]] * 2)
    assert not table[[1, 2, 4, 5]].any()


@pytest.mark.parametrize("foreach", [True, False])
@pytest.mark.parametrize("experts", [("momentum", "adam"), ALL])
def test_large_tensors_are_cut_small_ones_packed_and_empty_ones_left(experts, foreach, monkeypatch):
    """Buckets of 8 entries."""
    for name in ("SIZE", "LARGE"):
        monkeypatch.setattr(f"o2nc.torch.state.{name}", 8)
    rng = np.random.default_rng(0)
    x = [rng.normal(size=shape) for shape in [(5,), (6, 5), (), (2, 2), (1, 40), (1,), (9,)]]
    params = [torch.nn.Parameter(torch.as_tensor(a)) for a in x]
    empty = [torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for shape in [(0,), (3, 0), (0, 3)]]
    for p in empty:
        p.grad = torch.zeros_like(p)
    opt = Hedged([*params[:3], *empty, *params[3:]], 0.02, experts, foreach=foreach)
    run(opt, Practical(x, experts), 10, params=params)


@pytest.mark.parametrize("experts", [("momentum", "adam"), ALL, ("adam", halved), ("muon", "soap")])
@pytest.mark.parametrize("scope", ["shared", "tensor"])
def test_foreach_is_the_loop(experts, scope):
    """Some tensors have one shape and are stacked; one of them has no gradient in some steps."""
    rng = np.random.default_rng(0)
    x = [rng.normal(size=shape) for shape in [(3, 4)] * 4 + [(5,)] * 3 + [()] * 2]
    runs = [[torch.nn.Parameter(torch.tensor(a)) for a in x] for _ in range(2)]
    one, two = (Hedged(p, 0.01, experts, weights=scope, foreach=f) for p, f in zip(runs, (None, False), strict=True))
    for t in range(12):
        for k, pair in enumerate(zip(*runs, strict=True)):
            given = rng.normal(size=x[k].shape)
            for p in pair:
                p.grad = None if k == 1 and t % 3 == 0 else torch.tensor(given) + p.detach()
        one.step()
        two.step()
    assert len(one.table.stacks) < len(two.table.stacks) == 9
    for p, q in zip(*runs, strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("experts", [("adam",), ("muon", "soap")], ids=str)
def test_several_tensors_without_entries_among_others(experts):
    """They are stacked as others are, and the others move as they do alone; the step failed."""
    shapes = [(4, 3), (0, 3), (0, 3), (0,), (0,)]
    params = [torch.nn.Parameter(torch.ones(shape)) for shape in shapes]
    alone = torch.nn.Parameter(torch.ones(4, 3))
    opt, other = Hedged(params, 0.1, experts), Hedged([alone], 0.1, experts)
    for _ in range(3):
        for p in (*params, alone):
            p.grad = torch.arange(float(p.numel())).reshape(p.shape)
        opt.step()
        other.step()
    torch.testing.assert_close(params[0], alone, rtol=1e-6, atol=0)
