"""The formulas of benchmarks/footprint.py, against what an optimizer keeps and sends as one rank of many."""

import pytest
import torch
import torch.distributed as dist
from footprint import SETS, Experts, Model, exchanged, gathered, human, kept, measured, part, reduced, state, stepped
from language.model import GPT
from parallel import counting
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode

from o2nc.torch import Hedged, groups

MODEL = Model("small", width=8, layers=3, vocabulary=50)
RANKS = [(0, 2), (2, 3), (0, 5), (5, 16)]  # one rank of each number: DTensor remembers the parts of a mesh, not whose
TITLES = {"ids": lambda experts: experts.title}


class Gathers(TorchDispatchMode):
    """Records the bytes that go into each all-gather of ``DTensor``."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if "all_gather_into_tensor" in str(function):
            self.calls.append(("all_gather", args[0].numel() * args[0].element_size()))
        return function(*args, **(kwargs or {}))


@pytest.fixture
def as_rank():
    """Become a rank of a group in which nobody else is: what is sent goes nowhere."""

    def enter(rank, ranks):
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
        return init_device_mesh("cpu", (ranks,))

    yield enter
    dist.destroy_process_group()


def hedged(experts, **options):
    return lambda params: Hedged(params, experts=experts.names, scale=experts.scale, **options)


def sent_by(mesh, experts):
    """The optimizer of a sharded model after a step, and what it has sent in another one."""
    model = GPT(MODEL.vocabulary, MODEL.width, MODEL.layers, heads=2, context=4)
    model = fully_shard(model.to(torch.bfloat16 if experts.narrow else torch.float32), mesh=mesh)
    opt, calls = hedged(experts)(groups(model)), []
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    opt.step()
    with counting(calls), Gathers(calls):
        opt.step()
    return opt, calls


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "ranks"), RANKS)
@pytest.mark.parametrize("experts", SETS, **TITLES)
def test_footprint_on_paper(as_rank, experts, rank, ranks):
    opt, calls = sent_by(as_rank(rank, ranks), experts)
    if rank == 0:
        assert kept(opt) == state(MODEL.matrices, MODEL.others, experts, ranks)
    checked, mixed = reduced(len(MODEL.matrices + MODEL.others), experts.K)
    expected = [("all_reduce", checked), ("all_reduce", mixed)]
    if "muon" in experts.names:
        there, back = exchanged(MODEL.matrices, ranks)
        to_owners = next(sent for name, sent in calls if name == "all_to_all_single")
        expected[1:1] = [("all_to_all_single", there if rank == 0 else to_owners), ("all_to_all_single", back[rank])]
    assert [call for call in calls if call[0] != "all_gather"] == expected
    soap = gathered(MODEL.matrices, ranks) if "soap" in experts.names else []
    assert sorted(sent for name, sent in calls if name == "all_gather") == sorted(soap)


@pytest.mark.parametrize("shape", [(64, 64), (64, 256), (256, 64), (64,), (512, 16)])
@pytest.mark.parametrize("experts", SETS, **TITLES)
def test_state_of_one_tensor(experts, shape):
    opt = stepped(shape, hedged(experts), torch.bfloat16 if experts.narrow else torch.float32)
    is_matrix = shape in [(64, 64), (64, 256), (256, 64)]
    assert kept(opt) == state([shape] * is_matrix, [shape] * (not is_matrix), experts, 1)


@pytest.mark.parametrize("shape", [(10001, 2), (2, 10001)])
def test_soap_has_no_basis_of_a_side_that_is_too_long(shape):
    experts = Experts(("muon", "soap"))
    assert kept(stepped(shape, hedged(experts, matrices=True))) == state([shape], [], experts, 1)


def test_what_the_pages_say_of_bytes():
    """The default takes 32 on a square matrix, and "adam" at a fixed scale what AdamW does."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in measured().splitlines()]
    found = {title: cells for title, *cells in rows}
    assert found['"muon", "soap"'] == ["32 / 32", "50 / 50", "12 / 8"]
    assert [cell.split(" / ")[1] for cell in found['"adam"']] == found["`torch.optim.AdamW`"] == ["8"] * 3


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
