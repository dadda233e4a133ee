"""The published tables: complete, and consistent with one another to their printed digits."""

import pytest

from o2nc.lab.paper import published as paper
from o2nc.lab.paper.published import agrees, digits

OBJECTIVES = ("f1", "f2", "f3", "f4")

cells = pytest.mark.parametrize(("name", "metric"), [(n, m) for n in OBJECTIVES for m in paper.METRICS])


def test_tables_have_all_cells():
    for table in (paper.INITIALISATION, paper.CONSTANTS, paper.RESULTS, paper.PAIRED, paper.REDUCTIONS):
        assert list(table) == list(OBJECTIVES)
    for name in OBJECTIVES:
        assert tuple(paper.RESULTS[name]) == paper.METHODS
        assert all(tuple(row) == paper.METRICS for row in paper.RESULTS[name].values())
        assert tuple(paper.PAIRED[name]) == tuple(paper.REDUCTIONS[name]) == paper.METRICS


@cells
def test_intervals_are_centred_at_the_difference_of_the_means(name, metric):
    hedge, sgd = (digits(paper.RESULTS[name][method][metric]) for method in paper.METHODS)
    low, high = (digits(end) for end in paper.PAIRED[name][metric])
    assert low.value < high.value < 0
    rounding = hedge.half_unit + sgd.half_unit + (low.half_unit + high.half_unit) / 2
    assert (low.value + high.value) / 2 == pytest.approx(hedge.value - sgd.value, rel=0, abs=1.001 * rounding)


@cells
def test_reductions_follow_from_the_means(name, metric):
    hedge, sgd = (digits(paper.RESULTS[name][method][metric]).value for method in paper.METHODS)
    assert agrees(paper.REDUCTIONS[name][metric], 100 * (1 - hedge / sgd))
    assert digits(paper.FAVOURABLE[name][metric]).value == paper.REPLICATIONS


def test_digits():
    assert digits("-0.0194454") == pytest.approx((-0.0194454, 5e-8))
    assert digits("9.03934e-5") == pytest.approx((9.03934e-5, 5e-11))
    assert digits("128") == (128.0, 0.0)
    assert agrees("0.5000", 0.50005)
    assert not agrees("0.5000", 0.5000501)
    assert not agrees("8", 8.1)
    with pytest.raises(ValueError, match=r"`printed` must be a number as the paper prints it; got 'about 3'\."):
        digits("about 3")
