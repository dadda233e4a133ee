"""What is random in the experiments: a function of seed, objective, replication and round, and of nothing else.

Every (seed, objective, replication) has its own key of the counter-based generator Philox, and every round its own
counter, so any block of rounds and replications can be drawn alone and is the same whoever draws it: the number of
replications, the method, the array library, the chunks and the machine do not enter.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

WORD = 64  # bits of one output of the generator
BLOCK = 4  # outputs of one value of the counter

# The eight signs of a byte, lowest bit first, as one word of eight int8: a single lookup a byte.
_SIGNS = (2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").view(np.int8) - 1).view(
    np.uint64
)[:, 0]


def key(seed: int, objective: str, replication: int) -> NDArray[np.uint64]:
    r"""The 128-bit key of one replication: two words of the BLAKE2b digest of ``seed:objective:replication``.

    Reference: Numerical Experiments, the evaluation protocol.

    >>> [hex(word) for word in key(0, "f1", 0)]
    ['0xc47d50a0f9b47e72', '0x274a0492b2e4edd5']
    """
    digest = hashlib.blake2b(f"{seed}:{objective}:{replication}".encode(), digest_size=16).digest()
    return np.frombuffer(digest, dtype="<u8").astype(np.uint64)


def signs(
    seed: int, objective: str, replications: Sequence[int], start_round: int, rounds: int, d: int
) -> NDArray[np.int8]:
    r"""Independent fair signs $\epsilon\in\{-1,1\}^d$ for a block of rounds of some replications.

    A round takes $\lceil d/64\rceil$ words of its replication's stream; coordinate j is bit j mod 64 of word
    $\lfloor j/64\rfloor$, 1 for a set bit.

    Args:
        seed: a whole number.
        objective: the name of the objective, which is part of the key.
        replications: the numbers of the replications, a range for example.
        start_round: the first round of the block, counted from 0.
        rounds: the number of rounds.
        d: the number of signs of a round.

    Returns:
        An array of shape (rounds, R, d): a round is a contiguous slice.

    Reference: Numerical Experiments, the stochastic oracle.

    >>> block = signs(0, "f1", range(2), start_round=0, rounds=3, d=4)
    >>> block.shape
    (3, 2, 4)
    >>> bool((block[2:, 1:] == signs(0, "f1", [1], start_round=2, rounds=1, d=4)).all())
    True
    """
    _check_count("d", d, 1)
    stream = _words(seed, objective, replications, start_round, rounds, -(-d // WORD))
    whole_bytes = _SIGNS[stream.view(np.uint8)[..., : -(-d // 8)]].view(np.int8)
    return np.ascontiguousarray(whole_bytes[..., :d])


def places(
    seed: int, objective: str, replications: Sequence[int], start_round: int, rounds: int
) -> NDArray[np.float64]:
    r"""Independent $r_t$, uniform on [0, 1): where on their steps some replications take the samples of a block.

    The arguments are those of `signs`, of which they are independent: they have a key of their own.

    Returns:
        An array of shape (rounds, R, 1).

    Reference: Algorithm 2, line 6, used with Algorithm 1.

    >>> r = places(0, "f1", range(2), start_round=0, rounds=3)
    >>> r.shape, bool((r[2:, 1:] == places(0, "f1", [1], start_round=2, rounds=1)).all())
    ((3, 2, 1), True)
    """
    return uniforms(seed, objective, "r", replications, start_round, rounds, 1)


def uniforms(
    seed: int, objective: str, purpose: str, replications: Sequence[int], start_round: int, rounds: int, count: int
) -> NDArray[np.float64]:
    """Independent numbers, uniform on [0, 1), of shape (rounds, R, count).

    The arguments are those of `signs`, ``purpose``, which is part of the key, and ``count``, the numbers of a round.

    Reference: Algorithm 2, lines 6, 7 and 12.

    >>> block = uniforms(0, "bowl", "sample", range(3), 0, 4, 2)
    >>> bool((block[1:3, 1:2] == uniforms(0, "bowl", "sample", [1], 1, 2, 2)).all())
    True
    """
    _check_count("count", count, 1)
    words = _words(seed, f"{objective} {purpose}", replications, start_round, rounds, count)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _words(
    seed: int, objective: str, replications: Sequence[int], start_round: int, rounds: int, words: int
) -> NDArray[np.uint64]:
    """The words of a block of rounds, (rounds, R, words)."""
    for name, value, least in (("seed", seed, 0), ("start_round", start_round, 0), ("rounds", rounds, 1)):
        _check_count(name, value, least)
    for replication in replications:
        _check_count("replications", replication, 0)
    counter, skip = divmod(int(start_round) * words, BLOCK)
    generator = np.random.Philox(key=0, counter=counter)
    state = generator.state  # setting it takes a tenth of the time of a new generator
    stream = np.empty((rounds, len(replications), words), dtype="<u8")
    for i, replication in enumerate(replications):
        state["state"]["key"] = key(seed, objective, replication)
        generator.state = state
        stream[:, i, :] = generator.random_raw(skip + rounds * words)[skip:].reshape(rounds, words)
    return stream


def _check_count(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"`{name}` must be a whole number; got {value!r}.")
    if value < least:
        raise ValueError(f"`{name}` must be at least {least}; got {value}.")
