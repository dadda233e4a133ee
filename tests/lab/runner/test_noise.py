"""The signs: reproducible bit by bit, independent of chunks, and fair."""

import hashlib
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from o2nc.lab.runner.noise import key, places, signs

MASK = 2**64 - 1


def philox(counter, key):
    """Philox4x64-10 of Salmon et al. (2011) in whole numbers: four words."""
    c, (k0, k1) = [(counter >> (64 * i)) & MASK for i in range(4)], key
    for _ in range(10):
        low, high = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
        c = [(high >> 64) ^ c[1] ^ k0, high & MASK, (low >> 64) ^ c[3] ^ k1, low & MASK]
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
    return c


def literal(seed, objective, replication, t, d):
    """The signs of one round, one bit at a time."""
    digest = hashlib.blake2b(f"{seed}:{objective}:{replication}".encode(), digest_size=16).digest()
    k = (int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little"))
    words = math.ceil(d / 64)
    result = []
    for j in range(d):
        position = t * words + j // 64
        word = philox(position // 4 + 1, k)[position % 4]  # the generator counts before it draws
        result.append(2 * (word >> (j % 64) & 1) - 1)
    return result


@pytest.mark.parametrize("d", [1, 7, 64, 67, 129])
@pytest.mark.parametrize("start", [0, 3, 1001])
def test_signs_are_the_bits_of_philox(d, start):
    block = signs(3, "f2", [0, 5], start_round=start, rounds=3, d=d)
    expected = [[literal(3, "f2", r, t, d) for r in (0, 5)] for t in range(start, start + 3)]
    np.testing.assert_array_equal(block, expected)


def test_places_are_the_words_of_a_key_of_their_own():
    digest = hashlib.blake2b(b"3:f2 r:5", digest_size=16).digest()
    k = (int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little"))
    expected = [(philox(t // 4 + 1, k)[t % 4] >> 11) / 2**53 for t in range(1001, 1008)]
    assert places(3, "f2", [5], start_round=1001, rounds=7)[:, 0, 0].tolist() == expected


def test_places_are_uniform_and_not_the_signs():
    r, epsilon = places(0, "f1", range(40), 0, 500), signs(0, "f1", range(40), 0, 500, 1)
    assert r.min() >= 0
    assert r.max() < 1
    n = r.size
    assert abs(r.mean() - 1 / 2) < 4 / math.sqrt(12 * n)
    assert abs((r**2).mean() - 1 / 3) < 4 * math.sqrt(4 / 45 / n)
    assert abs((r * epsilon).mean()) < 4 / math.sqrt(3 * n)


def test_golden_bits():
    def text(*arguments):
        return "".join("+" if s > 0 else "-" for s in signs(*arguments)[0, 0])

    assert text(0, "f1", [0], 0, 1, 16) == "--++--++-+---+--"
    assert text(0, "f1", [127], 19999, 1, 129)[-16:] == "+-----++--++++--"
    assert text(12345, "f3", [5], 2999, 1, 16) == "++++-+---++----+"
    assert [int(word) for word in key(0, "f1", 0)] == [0xC47D50A0F9B47E72, 0x274A0492B2E4EDD5]


def test_shape_and_layout():
    block = signs(0, "f1", range(3), start_round=0, rounds=5, d=129)
    assert block.shape == (5, 3, 129)
    assert block.dtype == np.int8
    assert block.flags.c_contiguous
    assert set(np.unique(block)) == {-1, 1}


@settings(max_examples=50, deadline=None)
@given(
    cuts=st.lists(st.integers(1, 39), max_size=4, unique=True),
    replications=st.lists(st.integers(0, 11), min_size=1, max_size=6),
    d=st.sampled_from([5, 64, 67, 129]),
)
def test_chunks_and_replications_do_not_enter(cuts, replications, d):
    whole = signs(1, "f3", range(12), start_round=0, rounds=40, d=d)
    edges = [0, *sorted(cuts), 40]
    pieces = [signs(1, "f3", replications, a, b - a, d) for a, b in pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole[:, replications])


def test_far_rounds_can_be_drawn_directly():
    assert signs(0, "f4", [0], start_round=10**15, rounds=1, d=64).shape == (1, 1, 64)


def test_signs_are_fair_and_independent():
    rounds, R, d = 4000, 4, 67
    x = signs(0, "f2", range(R), start_round=0, rounds=rounds, d=d).astype(np.float64)
    assert abs(x.mean()) < 4 / math.sqrt(x.size)
    assert np.max(np.abs(x.mean(axis=0))) < 5 / math.sqrt(rounds)

    flat = x.reshape(rounds, R * d)  # coordinates and replications against each other
    correlation = flat.T @ flat / rounds - np.eye(R * d)
    assert np.max(np.abs(correlation)) < 6 / math.sqrt(rounds)
    assert np.mean(correlation**2) == pytest.approx(1 / rounds, rel=0.05)
    for lag in (1, 2, 3, 4, 64):
        assert np.max(np.abs(np.mean(x[lag:] * x[:-lag], axis=0))) < 5.5 / math.sqrt(rounds)


@pytest.mark.parametrize("other", [(1, "f3", [0]), (0, "f4", [0]), (0, "f3", [1])])
def test_seed_objective_and_replication_change_the_signs(other):
    a = signs(0, "f3", [0], 0, 1000, 64).astype(np.float64)
    b = signs(*other, 0, 1000, 64).astype(np.float64)
    assert abs(np.mean(a * b)) < 4 / math.sqrt(a.size)


def test_errors_are_sentences():
    with pytest.raises(ValueError, match=r"`seed` must be at least 0; got -1\."):
        signs(-1, "f1", [0], 0, 1, 4)
    with pytest.raises(TypeError, match=r"`rounds` must be a whole number; got 1.5\."):
        signs(0, "f1", [0], 0, 1.5, 4)
    with pytest.raises(ValueError, match=r"`replications` must be at least 0; got -3\."):
        signs(0, "f1", [-3], 0, 1, 4)
    with pytest.raises(ValueError, match=r"`d` must be at least 1; got 0\."):
        signs(0, "f1", [0], 0, 1, 0)
