"""`Hedged` and `Converted` on four processes: the run of one, on meshes of one axis or two; what is saved, or dies."""

import parallel
import parallel_checkpoints
import parallel_meshes
import pytest
import torch
from ranks import Ranks
from test_distributed import assert_agree
from test_distributed_checkpoints import HOW, assert_same_run

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # torch's, on one process
TWICE = {**HOW, "algorithm 2": {"case": "nonsmooth", "oracle": "adaptive"}}  # for models of any shapes
EXACT = 1e-10  # of the largest entry of a tensor: roots of matrices lose some digits


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    ranks = Ranks(4, tmp_path_factory.mktemp("four"))
    yield ranks
    ranks.close()


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    ranks = Ranks(3, tmp_path_factory.mktemp("three"))
    yield ranks
    ranks.close()


@pytest.mark.parametrize("case", HOW)
@pytest.mark.parametrize("kind", ["ddp", "fsdp", "square"])
def test_four_processes_are_one(four, kind, case):
    """In "square" there are two copies, each in two parts; of small tensors some ranks hold nothing."""
    one = parallel.trained("one", 12, HOW[case])
    assert_agree(four.run(parallel.trained, kind, 12, HOW[case]), one, rtol=EXACT)


@pytest.mark.parametrize("how", TWICE.values(), ids=TWICE)
@pytest.mark.parametrize("run", [parallel_meshes.with_tensor_parallelism, parallel_meshes.cut_twice])
def test_both_axes_of_a_mesh_cut(four, run, how):
    assert_agree(four.run(run, 6, how), run(6, how, is_cut=False), rtol=EXACT)


@pytest.mark.parametrize("case", HOW)
@pytest.mark.parametrize("before", ["fsdp", "square"])
def test_what_four_saved_resumes_on_fewer(four, three, ranks, tmp_path, before, case):
    how, folder = HOW[case], str(tmp_path)
    four.run(parallel_checkpoints.saved, before, 3, how, folder)
    whole = parallel.trained("one", 6, how, aside=(1,))
    for fewer in (three, ranks):
        continued = fewer.run(parallel_checkpoints.resumed, "fsdp", 3, 3, how, folder)
        assert_agree(continued)
        assert_same_run(continued[0], whole, exact=False)
    assert_same_run(parallel_checkpoints.resumed("one", 3, 3, how, folder), whole, exact=False)


@pytest.mark.parametrize(("kind", "half"), [("fsdp", "prepare"), ("square", "move")])
def test_a_rank_that_dies_between_the_halves_of_a_step(tmp_path, kind, half):
    """The others end with torch's error, none waits for ever, and four others go on bit by bit."""
    group = Ranks(4, tmp_path)
    try:
        with pytest.raises(RuntimeError, match="It died"):
            group.run(parallel_checkpoints.dying, kind, half, str(tmp_path))
        said = [(tmp_path / f"rank-{rank}").read_text() for rank in range(3)]
        assert all(any(word in each for word in ("closed", "reset", "Connection")) for each in said), said
        assert not (tmp_path / "rank-3").exists()
        continued = group.run(parallel_checkpoints.resumed, kind, 3, 3, {}, str(tmp_path / "checkpoint"))
        assert_same_run(continued[0], group.run(parallel.trained, kind, 6, {}, torch.float64, 1, (1,))[0], exact=True)
    finally:
        group.close()
