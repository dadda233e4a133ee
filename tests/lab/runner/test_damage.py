"""Damaged cells: whatever the bytes are, a sentence and no traceback."""

import numpy as np
import pytest

from o2nc.lab.paper.experiment import Reproduction
from o2nc.lab.runner.store import Store, StoreError

SMALL = Reproduction(replications=2, iterations=3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("damage") / "out", SMALL)
    store.open()
    cell = SMALL.cells()[0]
    store.write(cell, cell.run())
    return store, cell, store.path(cell).read_bytes()


@pytest.mark.parametrize("offset", [6, 8])  # the flags, of which bit 0 is encryption, and the method of compression
def test_an_encrypted_entry_or_an_unknown_compression_is_a_sentence(whole, offset):
    store, cell, content = whole
    damaged = bytearray(content)
    damaged[offset] = 99
    entry = content.index(b"PK\x01\x02")  # of the directory at the end
    damaged[entry + offset + 2] = 99
    store.path(cell).write_bytes(bytes(damaged))
    with pytest.raises(StoreError, match="is damaged or was not written by"):
        store.read(cell)


def test_flipped_bytes_are_found_or_change_nothing(whole):
    store, cell, content = whole
    expected = store.path(cell).write_bytes(content) and store.read(cell)
    for place in np.random.default_rng(0).integers(len(content), size=150):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        store.path(cell).write_bytes(bytes(damaged))
        try:
            found = store.read(cell)
        except StoreError:
            continue
        assert all(np.array_equal(found[m].mean["gap"], expected[m].mean["gap"]) for m in expected)


def test_nan_in_a_cell_is_a_sentence(whole):
    store, cell, content = whole
    store.path(cell).write_bytes(content)
    with np.load(store.path(cell)) as archive:
        arrays = dict(archive)
    key = next(key for key in arrays if "/mean/gap" in key)
    arrays[key] = arrays[key] * np.nan
    np.savez(store.path(cell), **arrays)
    with pytest.raises(StoreError, match="is damaged"):
        store.read(cell)
    records = cell.run()
    next(iter(records.values())).mean["gap"][0] = np.nan
    with pytest.raises(StoreError, match="is not kept: gap of sgd is not finite"):
        store.write(cell, records)
