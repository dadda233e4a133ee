"""Which matrices a block is: split, stacked, flattened; against directions of the parts, taken apart by hand."""

from dataclasses import replace

import numpy as np
import pytest

from conftest import BACKENDS, numpy_of
from o2nc import Blocks
from o2nc.directions import Muon, Polar, Shampoo, Soap
from o2nc.directions.matrices import is_table
from sentences import check

RNG = np.random.default_rng(0)
JITTED = [backend for backend in BACKENDS if backend.name != "jax"]  # JAX is compiled here: its eager mode is slow
ROUNDS = 7
EXPERTS = {
    "polar": Polar(),
    "muon": Muon(),
    "muon of torch": Muon(length="match_rms_adamw"),
    "soap": Soap(every=2),
    "soap with a limit": Soap(every=2, limit=3, b1=None),
    "shampoo": Shampoo(eps=1e-3),
}


@pytest.fixture(params=JITTED, ids=repr)
def xp(request):
    return request.param


def directions(expert, samples, xp=BACKENDS[0]):
    """The direction of each round of a list of blocks, after its samples were learned."""
    step = xp.transform(lambda state, s: ((new := expert.learn(state, s)), expert.direction(new, s)))
    state = expert.init(Blocks(tuple(xp.array(np.zeros_like(s[0])) for s in samples)))
    for round_ in zip(*samples, strict=True):
        state, d = step(state, Blocks(tuple(map(xp.array, round_))))
        yield [numpy_of(a) for a in d.arrays]


def anisotropic(*shape):
    """Samples of different scales along rows and columns: parts that are taken together have other directions."""
    scales = np.geomspace(1, 0.1, shape[-2])[:, None] * np.geomspace(1, 0.2, shape[-1])
    return scales * RNG.normal(size=shape)


@pytest.mark.parametrize("name", EXPERTS)
def test_a_split_block_is_its_parts(xp, name):
    """As `Hedged` splits it: by a replaced field."""
    whole, expert = anisotropic(ROUNDS, 9, 3), EXPERTS[name]
    parts = [whole[:, i : i + 3] for i in (0, 3, 6)]
    found = list(directions(replace(expert, split=3), [whole], xp))
    for (a,), b in zip(found, directions(expert, parts, xp), strict=True):
        np.testing.assert_allclose(a, np.concatenate(b), rtol=0, atol=1e-11)
    *_, (together,) = directions(expert, [whole], xp)
    assert np.abs(together - found[-1][0]).max() > 0.01


@pytest.mark.parametrize("name", EXPERTS)
def test_a_stack_is_split_matrix_by_matrix(name):
    """Experts with two layers in one tensor."""
    stack, expert = anisotropic(ROUNDS, 2, 6, 3), replace(EXPERTS[name], stacks=True)
    parts = [stack[:, e, i : i + 3] for e in range(2) for i in (0, 3)]
    pairs = zip(directions(replace(expert, split=2), [stack]), directions(expert, parts), strict=True)
    for (a,), b in pairs:
        np.testing.assert_allclose(a.reshape(12, 3), np.concatenate(b), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", EXPERTS)
def test_three_axes_are_a_stack_or_a_convolution(name):
    samples, expert = anisotropic(ROUNDS, 4, 2, 3), EXPERTS[name]
    for stacks, apart in ((True, [samples[:, i] for i in range(4)]), (False, [samples.reshape(ROUNDS, 4, 6)])):
        pairs = zip(directions(replace(expert, stacks=stacks), [samples]), directions(expert, apart), strict=True)
        for (a,), b in pairs:
            np.testing.assert_allclose(a.reshape(-1), np.concatenate([each.ravel() for each in b]), rtol=0, atol=1e-11)


def test_a_convolution_is_split_by_its_first_axis():
    samples = anisotropic(ROUNDS, 4, 2, 1, 3)
    parts = [samples[:, i : i + 2].reshape(ROUNDS, 2, 6) for i in (0, 2)]
    for (a,), b in zip(directions(Muon(split=2), [samples]), directions(Muon(), parts), strict=True):
        np.testing.assert_allclose(a.reshape(4, 6), np.concatenate(b), rtol=0, atol=1e-11)


def test_each_block_has_its_own_split_and_vectors_have_none():
    one, two, three = anisotropic(ROUNDS, 4, 3), anisotropic(ROUNDS, 5, 3), RNG.normal(size=(ROUNDS, 4))
    found = directions(Muon(split=(2, 1, 3)), [one, two, three])
    alone = directions(Muon(), [one[:, :2], one[:, 2:], two, three])
    for (a, b, c), (a1, a2, *rest) in zip(found, alone, strict=True):
        np.testing.assert_allclose(a, np.concatenate([a1, a2]), rtol=0, atol=1e-12)
        for x, y in zip((b, c), rest, strict=True):
            np.testing.assert_array_equal(x, y)


WRONG = {
    "rows": (lambda: Muon(split=2).init(Blocks((np.ones((3, 2)),))), "`Muon(split=...)` must divide", "2 for shape (3"),
    "zero": (lambda: Polar(split=0), "`Polar(split=...)` must be a whole number of at least 1; got 0"),
    "half": (lambda: Soap(split=1.5), "`Soap(split=...)` must be a whole number of at least 1; got 1.5"),
    "one of them": (lambda: Soap(split=(2, True)), "`Soap(split=...)` must be a whole number of at least 1; got True"),
    "array": (lambda: Muon([(4, 2)], split=2).init(np.ones(8)), "`Muon(split=...)` must be 1 to act on an array"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_splits_are_sentences(name):
    call, *parts = WRONG[name]
    check(call, ValueError, *parts)


TABLES = {(50257, 768): True, (64, 8): True, (63, 8): False, (8, 64): False, (3072, 768): False, (64,): False}
TABLES |= {(64, 8, 1): False, (8, 0): False}


@pytest.mark.parametrize("shape", TABLES, ids=str)
def test_tables_have_eight_times_as_many_rows(shape):
    assert is_table(shape) is TABLES[shape]
