"""The certificate of SGD: an equality for a quadratic, in exact expectation over all signs, and a bound on the runs."""

from itertools import product

import numpy as np
import pytest

from o2nc import Smooth
from o2nc.certificates import tight_sgd
from o2nc.lab.objectives import objective, of_kind
from o2nc.lab.paper.experiment import ReproductionCell
from o2nc.lab.paper.methods import METHODS
from o2nc.lab.paper.numbers import certify


@pytest.mark.parametrize("size", [0.0, 0.7])
def test_it_is_an_equality_for_a_quadratic(size):
    T, beta = 6, 3.0
    constants = Smooth.paper(M=2.0, beta=beta, sigma=size, T=T)
    decreases, squares = [], []
    for signs in product([-1.0, 1.0], repeat=T):  # the expectation, path by path
        x, total = 1.0, 0.0
        for sign in signs:
            total += (beta * x) ** 2
            x -= constants.eta * (beta * x + size * sign)
        decreases.append(beta / 2 * (1 - x * x))
        squares.append(total)
    certificate = tight_sgd(constants, decreases)
    assert certificate.bound == pytest.approx(np.mean(squares) / T, rel=1e-12)


@pytest.mark.parametrize("name", of_kind("smooth"))
def test_it_holds_on_the_runs_and_is_tight(name):
    """It is between expectations: the mean of bound less average over the runs is above minus 4 of its errors."""
    T, R = 400, 16
    record = ReproductionCell(name, ("sgd",), 0, R, iterations=T).run()["sgd"]
    found = certify(METHODS["sgd"], name, record, T)["tight"]
    assert found["measured"] == pytest.approx(record.mean["average"][-1])
    assert found["interval"][0] < found["bound"] < found["interval"][1]
    c, V_T = objective(name).constants(20000), float(record.sums["noise"].mean())
    bounds = [tight_sgd(c, [d], V_T, rounds=T).bound for d in record.at("gap", 1) - record.sums["final_gap"]]
    assert np.mean(bounds) == pytest.approx(found["bound"])
    excess = np.asarray(bounds) - record.at("average", T)
    assert excess.mean() > -4 * excess.std(ddof=1) / R**0.5
    assert found["bound"] < 1.2 * found["measured"]


def test_one_run_is_a_plug_in():
    c = Smooth.paper(M=1.0, beta=1.0, sigma=0.5, T=100)
    assert tight_sgd(c, [0.1]).label == "plug-in"
    assert tight_sgd(c, [0.1]).interval is None
    with pytest.raises(ValueError, match="`decrease` must hold at least 1 replication"):
        tight_sgd(c, [])
    with pytest.raises(ValueError, match=r"`V_T` must be finite and nonnegative; got -1.0"):
        tight_sgd(c, [0.1], V_T=-1.0)
