"""`Converted` on two processes: the numbers of one, for every conversion and oracle; points, and what it sends."""

import parallel
import pytest
import torch
from test_distributed import assert_agree
from training import build, draws, parameters

from o2nc.torch import Converted

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("oracle", parallel.ORACLES)
@pytest.mark.parametrize("case", ["smooth", "end", "nonsmooth"])
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_two_processes_are_one(ranks, kind, case, oracle):
    how = {"case": case, "oracle": oracle}
    assert_agree(ranks.run(parallel.trained, kind, 50, how), parallel.trained("one", 50, how), rtol=1e-12)


def test_all_conversions_and_oracles_in_parts(ranks):
    """Samples are given, so that rounding does not grow; one rank alone asks for a report."""
    for results in ranks.run(parallel.cut_conversions):
        for case in results:
            params = parameters()
            opt = Converted(params, build(*case))
            for t in range(4):
                for p, g in zip(params, draws(100 + t, scale=0.1), strict=True):
                    p.grad = torch.as_tensor(g)
                opt.step()
            torch.testing.assert_close(results[case], [p.detach() for p in params], rtol=0, atol=1e-12, msg=str(case))


def test_two_points(ranks):
    """All ranks hold the output; a parameter that was changed on one of them is seen by all."""
    model = parallel.net(torch.float64)
    opt = parallel.built(model, "nonsmooth")
    parallel.fit(model, opt, 3)
    opt.eval()
    for output, held, said in ranks.run(parallel.with_points):
        torch.testing.assert_close(output, dict(model.named_parameters()), rtol=1e-12, atol=1e-14)
        assert held == "output"
        assert "They were changed from outside" in said


def test_what_goes_over_the_wire(ranks):
    """Whether there is a gradient, whether the point is there, and each inner product; nothing with DDP."""
    # <s, s>, <s, m>, the new <m, m>, the old one, <s, Um>, <Um, Um>; <s, s> for the energy of the loss, and of the bets
    # the squares of the last sample, of this one and of their difference
    products = 10
    for oracle, experts in {"adagrad": 0, "hedge": 2}.items():
        for _, total in ranks.run(parallel.counted, "fsdp", {"case": "smooth", "oracle": oracle}):
            assert total == 2 + products + experts
    assert ranks.run(parallel.counted, "ddp", {"case": "smooth"}) == [([], 0)] * 2
