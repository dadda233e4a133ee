"""`minimize` under attack: bad samples, bad arguments, interrupts. Every mistake is a sentence, and nothing is lost."""

import math
import pickle

import numpy as np
import pytest
import torch
from attacks import SIZES, cases, refusal, sentence
from hypothesis import given
from hypothesis import strategies as st

import o2nc
from o2nc import Blocks, Nonsmooth, Smooth
from o2nc.conversions import PracticalConversion
from o2nc.oracles import OGD, Constant
from o2nc.rivals import SGD, Adam, HeavyBall
from o2nc.sets import Box

pytestmark = [
    pytest.mark.filterwarnings("ignore:There is no certificate"),  # the constants are not always true
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # NumPy says that squares overflow, and then `minimize` does
]
T = 6
CONVERSIONS = {
    "sgd": lambda: SGD(eta=0.1),
    "heavy ball": lambda: HeavyBall(eta=0.1),
    "adam": lambda: Adam(eta=0.1),
    "algorithm 1": lambda: o2nc.SmoothConversion(Constant(), Smooth(gap=4.0, beta=1.0, sigma=0.1, T=T)),
    "paper": lambda: o2nc.SmoothConversion(OGD(Box()), Smooth.paper(M=4.0, beta=1.0, sigma=0.1, T=T), kappa=1.0),
    "segment": lambda: o2nc.SegmentConversion(OGD(Box()), Smooth.paper(M=4.0, beta=1.0, sigma=0.1, T=T), r=1.0),
    "practical": lambda: PracticalConversion(["momentum", "adam"], lr=0.1),
}
COINS = {  # those that draw numbers of their own
    "algorithm 2": lambda: o2nc.NonsmoothConversion(OGD(Box()), Nonsmooth(L=2.0, M=4.0, sigma=0.1, lam=0.1, T=T)),
}
STARTS = {
    "numpy": lambda rng: rng.standard_normal(3),
    "float32": lambda rng: rng.standard_normal(3).astype(np.float32),
    "batch": lambda rng: rng.standard_normal((2, 3)),
    "torch": lambda rng: torch.as_tensor(rng.standard_normal(3)),
    "blocks": lambda rng: Blocks((rng.standard_normal((2, 2)), rng.standard_normal(3))),
}
RETURNS = {  # what a gradient must not return, made of what it should
    "none": lambda s: None,
    "text": lambda s: "gradient",
    "a number": lambda s: 1.0,
    "a list": lambda s: [1.0, 2.0, 3.0],
    "a dict": lambda s: {"s": s},
    "a tuple of two": lambda s: (s, 0.5),
    "nan": lambda s: each(s, lambda a: a * math.nan),
    "inf": lambda s: each(s, lambda a: a + math.inf),
    "complex": lambda s: each(s, lambda a: a * 1j),
    "booleans": lambda s: each(s, lambda a: a > 0),
    "another shape": lambda s: each(s, lambda a: a[..., :1]),
    "no shape": lambda s: each(s, lambda a: a.sum()),
    "one axis more": lambda s: each(s, lambda a: a[None]),
    "another dtype": lambda s: each(s, narrowed),
    "another library": lambda s: each(s, lambda a: torch.as_tensor(a) if isinstance(a, np.ndarray) else a.numpy()),
    "objects": lambda s: each(s, lambda a: np.asarray(a).astype(object)),
    "too few blocks": lambda s: Blocks(s.arrays[:1]) if isinstance(s, Blocks) else Blocks((s,)),
    "too many blocks": lambda s: Blocks((*s.arrays, s.arrays[0])) if isinstance(s, Blocks) else Blocks((s, s)),
    "no blocks": lambda s: Blocks(()),
    "a class": lambda s: np.ndarray,
    "a generator": lambda s: (a for a in [s]),
}
ARGUMENTS = {
    "gradient": [None, "sin", 3, lambda: None, lambda x: x, lambda a, b, c: a, np.ones(3)],
    "x1": [
        None,
        "x",
        1.0,
        [1.0],
        np.asarray(1.0),
        np.ones(3, int),
        np.ones(0),
        np.asarray([math.nan]),
        np.ones(2) * 1j,
    ],
    "conversion": [3, "adam", SGD, Constant(), None],
    "rounds": [0, -1, 2.5, "ten", math.nan, True, None],
    "seed": [-1, 0.5, "zero", None, True],
    "callback": [3, "print"],
    "value": [3, "f", lambda x: 0.0],
}
SEEDS = st.integers(0, 2**32 - 1)


class Told(Exception):
    """What a user's function raises."""


def each(s, change):
    return Blocks(tuple(map(change, s.arrays))) if isinstance(s, Blocks) else change(s)


def narrowed(a):
    if isinstance(a, torch.Tensor):
        return a.to(torch.float16)
    return a.astype(np.float16)


def arrays(x):
    return [a.numpy() if isinstance(a, torch.Tensor) else a for a in (x.arrays if isinstance(x, Blocks) else (x,))]


def bits(x):
    return [a.tobytes() for a in arrays(x)]


def sampled(kind="normal", noise=0.1):
    """Samples of a gradient: bounded, with noise of its own and a size."""

    def sample(x, rng):
        def one(a):
            found = np.sin(np.asarray(a)) + noise * rng.standard_normal(tuple(a.shape))
            found = (SIZES[kind] * found).astype(np.asarray(a).dtype)
            return torch.as_tensor(found) if isinstance(a, torch.Tensor) else found

        return each(x, one)

    return sample


def run(sample, x1, conversion, **options):
    rounds = T if conversion.horizon is None else None
    return o2nc.minimize(sample, x1, conversion, **{"rounds": rounds, **options})


NAMES = st.sampled_from(sorted({**CONVERSIONS, **COINS}))


def conversion_of(name):
    return {**CONVERSIONS, **COINS}[name]()


@cases(60)
@given(NAMES, st.sampled_from(sorted(STARTS)), st.sampled_from(sorted(RETURNS)), st.integers(1, T), SEEDS)
def test_what_a_gradient_may_not_return(name, start, bad, when, seed):
    """In some round; the start is as it was, and the next run knows nothing of it."""
    x1, good, calls = STARTS[start](np.random.default_rng(seed)), sampled(), []
    before = bits(x1)

    def sample(x, rng):
        calls.append(1)
        s = good(x, rng)
        return RETURNS[bad](s) if len(calls) == when else s

    wanted = run(good, x1, conversion_of(name), seed=seed)
    error = refusal(lambda: run(sample, x1, conversion_of(name), seed=seed))
    assert len(calls) == when  # at once
    assert f"round {when}" in str(error) or "one array library" in str(error), error
    assert bits(x1) == before
    assert bits(run(good, x1, conversion_of(name), seed=seed).last) == bits(wanted.last)
    if bad in ("nan", "inf"):
        assert error.round == when
        assert all(np.isfinite(a).all() for a in arrays(error.x))


@cases(40)
@given(st.sampled_from(sorted(ARGUMENTS)), st.data())
def test_arguments_that_cannot_be(name, data):
    value = data.draw(st.sampled_from(range(len(ARGUMENTS[name]))))
    options = {"gradient": sampled(), "x1": np.ones(3), "conversion": SGD(eta=0.1), "rounds": 3}
    options[name] = ARGUMENTS[name][value]
    refusal(lambda: o2nc.minimize(**options))


@cases(40)
@given(
    NAMES,
    st.sampled_from(sorted(STARTS)),
    st.integers(1, T),
    st.sampled_from([Told, KeyboardInterrupt, ZeroDivisionError, StopIteration]),
    st.booleans(),
    SEEDS,
)
def test_interrupts_lose_nothing(name, start, when, kind, by_callback, seed):
    """What was raised arrives as it is; the points before it are those of the run that nobody interrupted."""
    x1, calls, told, seen = STARTS[start](np.random.default_rng(seed)), [], kind("as told"), []
    good, full = sampled(), []
    run(good, x1, conversion_of(name), seed=seed, callback=lambda t, x, state: full.append((t, bits(x))))

    def sample(x, rng):
        calls.append(1)
        if len(calls) == when and not by_callback:
            raise told
        return good(x, rng)

    def callback(t, x, state):
        seen.append((t, bits(x)))
        if t == when and by_callback:
            raise told

    with pytest.raises(kind) as caught:
        run(sample, x1, conversion_of(name), seed=seed, callback=callback)
    assert caught.value is told
    assert seen == full[: when if by_callback else when - 1]


@cases(40)
@given(st.sampled_from(sorted(CONVERSIONS)), st.sampled_from(sorted(STARTS)), st.integers(1, T - 1), SEEDS)
def test_a_run_that_was_interrupted_can_be_continued(name, start, when, seed):
    """From point and state, stored and loaded: the rest of the rounds by hand is the rest of the run, bit by bit."""
    x1, kept, good = STARTS[start](np.random.default_rng(seed)), [], sampled(noise=0.0)

    def callback(t, x, state):
        if t == when:
            kept.append(pickle.dumps((x, state)))
            raise Told

    with pytest.raises(Told):
        run(good, x1, conversion_of(name), callback=callback)
    (x, state), conversion = pickle.loads(kept[0]), conversion_of(name)
    for _ in range(when, T):
        dx, state = conversion.update(good(x, np.random.default_rng(0)), state, x)
        x = x + dx
    assert bits(x) == bits(run(good, x1, conversion_of(name)).last)


@cases(40)
@given(NAMES, st.sampled_from(sorted(STARTS)), st.sampled_from(sorted(SIZES)), SEEDS)
def test_samples_of_any_size(name, start, kind, seed):
    """A run ends with finite points, or with a sentence."""
    x1 = STARTS[start](np.random.default_rng(seed))
    try:
        result = run(sampled(kind), x1, conversion_of(name), seed=seed)
    except ValueError as error:
        sentence(error)
        assert SIZES[kind] > 1
    else:
        assert all(np.isfinite(a).all() for v in (result.x, result.last) for a in arrays(v))
        assert str(result) or result.certificate is None
