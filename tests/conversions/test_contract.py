"""Every conversion of the registry, ours and the rivals': the contract, and `minimize` runs each of them."""

import numpy as np
import pytest

import o2nc
from conftest import numpy_of
from contracts import EVERY_LIBRARY, LIBRARIES, MASK, SHAPES, D, cut
from o2nc import SegmentConversion, Smooth, SmoothConversion
from o2nc.certificates import Certificate
from o2nc.conversions.base import registry
from o2nc.operators import Diagonal, Identity
from o2nc.oracles import OGD, Constant, Hedge
from o2nc.rivals import ClippedFTRL, OnlineScaled, ShiftingConversion
from o2nc.sets import SpectralBall
from o2nc.testing import check_conversion

SMOOTH = Smooth.paper(M=8.0, beta=1.0, sigma=0.5, T=100)
CASES = {name: (entry.make, entry.facts.get("predictable", False)) for name, entry in registry.items()} | {
    "linear loss": (lambda oracle: SmoothConversion(oracle, SMOOTH), True),
    "end of the segment": (lambda oracle: SegmentConversion(oracle, SMOOTH), False),
    "shifting FTRL": (lambda oracle: ShiftingConversion(ClippedFTRL(D=1.0, b=0.9), epoch=2, T=100), False),
    "osgm-r": (lambda oracle: OnlineScaled(alpha=0.1, high=0.5, f_star=-1.0), False),
}


@pytest.fixture(params=EVERY_LIBRARY)
def lib(request):
    return request.param


@pytest.mark.parametrize("name", CASES)
def test_the_contract(lib, name):
    check(lib, name)


def test_the_contract_of_algorithm_1_on_jax():
    check(LIBRARIES["jax"], "smooth")


def check(lib, name):
    make, predictable = CASES[name]
    flat = make(Hedge([Identity(), Diagonal(lib.array(MASK))]))
    blocks = make(Hedge([Identity(), Diagonal(cut(lib, MASK))]))
    check_conversion(flat, lib.array(np.ones(D)), shapes=SHAPES, blocks=blocks, predictable=predictable)
    if lib.name == "numpy":
        check_conversion(blocks, cut(lib, np.ones(D)), predictable=predictable)
        check_conversion(make(OGD(SpectralBall())), lib.array(np.ones((2, D))), predictable=predictable)


@pytest.mark.filterwarnings("ignore:There is no certificate")
@pytest.mark.parametrize("name", CASES)
def test_minimize_runs_it(lib, name):
    conversion = CASES[name][0](Constant())
    sample = lambda x, rng: lib.array(np.sin(numpy_of(x)))
    value = lambda x, rng: lib.array(np.sum(1 - np.cos(numpy_of(x)), axis=-1, keepdims=True))
    rounds = 20 if conversion.horizon is None else None
    result = o2nc.minimize(
        sample, lib.array(np.full((2, D), 1.0)), conversion, rounds=rounds, record=True,
        value=value if "value" in conversion.needs else None,
    )  # fmt: skip
    T = rounds or conversion.horizon
    assert tuple(result.trajectory.shape) == (T, 2, D)
    assert np.isfinite(numpy_of(result.last)).all()
    for kind in ("certificate", "a_priori", "tight"):
        found = getattr(result, kind)
        assert isinstance(found, Certificate) != bool(result.reasons.get(kind, ""))
    assert tuple(result.x.shape) == (2, D)


def test_what_it_cannot_have_is_refused_before_the_first_round():
    with pytest.raises(ValueError, match="OnlineScaled needs the value of the objective"):
        o2nc.minimize(lambda x, rng: x, np.ones(2), OnlineScaled(alpha=0.1), rounds=3)
    with pytest.raises(ValueError, match="`rounds` must be given for SGD"):
        o2nc.minimize(lambda x, rng: x, np.ones(2), o2nc.rivals.SGD(eta=0.1))
    with pytest.raises(ValueError, match="`rounds` must be T = 100, that of the conversion"):
        o2nc.minimize(lambda x, rng: x, np.ones(2), SmoothConversion(Constant(), SMOOTH), rounds=7)
    with pytest.raises(TypeError, match="got both"):
        o2nc.minimize(lambda x, rng: x, np.ones(2), SmoothConversion(Constant(), SMOOTH), oracle=Constant())
    with pytest.raises(TypeError, match=r"`conversion` must be an `o2nc\.conversions\.Conversion`; got 3"):
        o2nc.minimize(lambda x, rng: x, np.ones(2), 3)


def test_the_point_of_algorithm_1_is_drawn_uniformly():
    conversion = SmoothConversion(Constant(), Smooth.paper(M=2.0, beta=1.0, sigma=0.0, T=4))
    u = (np.arange(400) + 0.5) / 400
    assert np.unique([conversion.tau(v, 4) for v in u], return_counts=True)[1].tolist() == [100] * 4
    result = o2nc.minimize(lambda x, rng: np.sin(x), np.full((64, 1), 2.0), conversion, record=True)
    drawn = {float(x) for x in result.x[:, 0]}
    assert drawn == {float(x) for x in result.trajectory[:, 0, 0]}


def test_a_certificate_is_about_all_rounds():
    conversion = SmoothConversion(Constant(), SMOOTH)
    state = conversion.init(np.ones(2))
    _, state = conversion.update(np.ones(2), state)
    assert conversion.certificate(state) == "the theorem is about T = 100 rounds; this run has 1"


def test_every_public_conversion_is_registered():
    made = {type(entry.make(Constant())) for entry in registry.values()}
    public = [getattr(module, name) for module in (o2nc.conversions, o2nc.rivals) for name in module.__all__]
    kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, o2nc.conversions.Conversion)}
    assert kinds - {o2nc.conversions.Conversion, o2nc.conversions.TrackedConversion} == made
