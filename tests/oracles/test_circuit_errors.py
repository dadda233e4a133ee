"""Wrong arguments of circuits: an error that names argument, rule and value."""

import numpy as np
import pytest

from o2nc import Blocks
from o2nc.directions import Adam
from o2nc.operators import Identity
from o2nc.oracles import OGD, Adaptive, Constant, OverOracles, Product
from o2nc.sets import SpectralBall
from sentences import check

WRONG = {
    "no oracles": (lambda: Product([]), ValueError, "`Product(oracles=...)`", "one oracle or more; got []"),
    "oracles none": (lambda: OverOracles(None), ValueError, "`OverOracles(oracles=...)`", "got None"),
    "one oracle, no sequence": (lambda: Product(Constant()), ValueError, "`Product(oracles=...)`", "a sequence of one"),
    "a learner by name": (
        lambda: OverOracles([Constant()], learner="AdaHedge"), TypeError, "`OverOracles(learner=...)`", "AdaHedge",
    ),
    "directions no sequence": (lambda: Adaptive(Adam()), TypeError, "`Adaptive(experts=...)` must be a sequence"),
    "a direction that is a class": (lambda: Adaptive([Adam]), TypeError, "`Adaptive(experts=...)` must be directions"),
    "a class": (lambda: Product([Constant]), TypeError, "`Product(oracles=...)`", "init, play and learn", "Constant"),
    "an operator": (lambda: OverOracles([Identity()]), TypeError, "`OverOracles(oracles=...)`", "got Identity()"),
    "other number of shapes": (
        lambda: Product([Constant()], [(1,), (2,)]), ValueError, "`Product(shapes=...)`", "an oracle, 1; got 2",
    ),
    "shapes a number": (lambda: Product([Constant()], 3), TypeError, "`Product(shapes=...)`", "got 3"),
    "an array without shapes": (
        lambda: Product([Constant()]).init(np.ones(3)), ValueError, "`Product(shapes=...)` must be given", "got none",
    ),
    "shapes that do not fill": (
        lambda: Product([Constant()], [(2,)]).init(np.ones(3)), ValueError, "`Product(shapes=...)`", "3 entries",
    ),
    "other number of blocks": (
        lambda: Product([Constant()] * 2).init(Blocks((np.ones(1),))), ValueError, "`x`", "an oracle, 2; got 1",
    ),
    "a learner that is none": (
        lambda: OverOracles([Constant()], 3), TypeError, "`OverOracles(learner=...)` must be a learner", "got 3",
    ),
    "a set that does not know Blocks": (
        lambda: Product([OGD(SpectralBall())]).init(Blocks((np.ones((2, 2)),))), TypeError, "`SpectralBall`", "Blocks",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)
