"""The formulas of benchmarks/footprint.py, against what an optimizer keeps and sends as one rank of many."""

import pytest
import torch
import torch.distributed as dist
from footprint import SETS, Model, exchanged, human, part, reduced, state
from language.model import GPT
from parallel import counting
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

from o2nc.torch import Hedged, groups

pytestmark = pytest.mark.slow
MODEL = Model("small", width=8, layers=3, vocabulary=50)
NAMES = ("momentum", "adam", "polar", "sign")


@pytest.fixture
def as_rank():
    """Become a rank of a group in which nobody else is: what is sent goes nowhere."""

    def enter(rank, ranks):
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
        return init_device_mesh("cpu", (ranks,))

    yield enter
    dist.destroy_process_group()


def stepped(mesh, experts):
    """The optimizer of a sharded model after a step, and what it has sent in another one."""
    model = GPT(MODEL.vocabulary, MODEL.width, MODEL.layers, heads=2, context=4)
    model = fully_shard(model.to(torch.bfloat16 if experts.narrow else torch.float32), mesh=mesh)
    opt, calls = Hedged(groups(model), experts=NAMES[: experts.K]), []
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    opt.step()
    with counting(calls):
        opt.step()
    return opt, calls


@pytest.mark.parametrize(("rank", "ranks"), [(0, 2), (0, 3), (2, 3), (5, 16)])
@pytest.mark.parametrize("experts", SETS, ids=lambda experts: experts.title)
def test_footprint_on_paper(as_rank, experts, rank, ranks):
    shapes = MODEL.matrices, MODEL.others
    opt, calls = stepped(as_rank(rank, ranks), experts)
    if rank == 0:
        kept = [tensor for entry in opt.state.values() for tensor in entry.values()]
        held = [tensor.to_local() if hasattr(tensor, "to_local") else tensor for tensor in kept]
        assert sum(tensor.numel() * tensor.element_size() for tensor in held) == state(*shapes, experts, ranks)
    there, back = exchanged(MODEL.matrices, ranks)
    expected = [("all_reduce", reduced(*shapes, experts))]
    if experts.polar:
        sent = there if rank == 0 else calls[1][1]
        expected += [("all_to_all_single", sent), ("all_to_all_single", back[rank])]
    assert calls == expected


def test_the_largest_part_is_the_first():
    for rows in range(1, 9):
        for ranks in range(1, 12):
            parts = torch.zeros(rows, 3).chunk(ranks)
            assert part((rows, 3), ranks) == max(each.numel() for each in parts)


def test_a_model_has_the_tensors_of_the_example():
    model = GPT(MODEL.vocabulary, MODEL.width, MODEL.layers, heads=2, context=4)
    assert sorted(tuple(p.shape) for p in model.parameters()) == sorted(MODEL.matrices + MODEL.others)


def test_bytes_are_readable():
    assert [human(n) for n in (0, 12, 1234, 99_000, 123_456, 5e9, 1.2e12)] == [
        "0", "12 B", "1.2 kB", "99 kB", "123 kB", "5 GB", "1.2 TB",
    ]  # fmt: skip
