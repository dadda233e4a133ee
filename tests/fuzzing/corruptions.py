"""Ways in which the checkpoint of an optimizer of torch can be spoilt; each must be found when it is loaded."""

import math

import torch


def _entry(saved, rng):
    """One of the entries of the state, and a key of it; an entry of a tensor that has numbers."""
    entries = [entry for entry in saved["state"].values() if entry]
    if not entries:
        return None, None
    entry = entries[rng.integers(len(entries))]
    keys = sorted(entry)
    return entry, keys[rng.integers(len(keys))]


def _state(change):
    """A change of one tensor of the state; there may be none that it fits."""

    def spoil(saved, rng):
        entry, key = _entry(saved, rng)
        if entry is None:
            return None
        found = change(entry[key])
        if found is None:
            return None
        entry[key] = found
        return saved

    return spoil


def _some(change):
    """... that has entries, and floating ones."""
    return _state(lambda a: change(a) if a.numel() and a.is_floating_point() else None)


def _with(a, value):
    a = a.clone(memory_format=torch.contiguous_format)
    a.view(-1)[-1] = value
    return a


def _drop(saved, rng):
    entry, key = _entry(saved, rng)
    if entry is None or key == "x":  # the point may be missing: whether there is one depends on the dtype
        return None
    del entry[key]
    return saved


def _add(saved, rng):
    entry, _ = _entry(saved, rng)
    if entry is None:
        return None
    entry["momentum_buffer"] = torch.zeros(2)
    return saved


def _negative(saved, rng):
    entry, _ = _entry(saved, rng)
    if entry is None:
        return None
    key = next(key for key in ("t", "step") if key in entry)
    entry[key] = entry[key] - 1 - entry[key].abs()
    return saved


def _group(change):
    def spoil(saved, rng):
        change(saved["param_groups"][rng.integers(len(saved["param_groups"]))])
        return saved

    return spoil


def _version(group):
    if "version" in group:
        group["version"] = 1
    else:
        group["run"] = {**group["run"], "version": 1}


def _more(saved, rng):
    saved["param_groups"][-1]["params"].append(10**6)
    return saved


def _named(saved, rng):
    if not saved["state"]:
        return None
    saved["state"] = {str(key): entry for key, entry in saved["state"].items()}
    return saved


CORRUPTIONS = {
    "a key dropped": _drop,
    "a key added": _add,
    "another shape": _state(lambda a: torch.zeros((*a.shape, 2), dtype=a.dtype)),
    "whole numbers": _state(lambda a: a.long() if a.is_floating_point() else a.double()),
    "no tensor": _state(lambda a: a.tolist()),
    "complex": _some(lambda a: a.to(torch.complex64)),
    "nan": _some(lambda a: _with(a, math.nan)),
    "text": _state(lambda a: "text"),
    "a negative count": _negative,
    "another version": _group(_version),
    "an option dropped": _group(lambda group: group.pop("weight_decay")),
    "an option added": _group(lambda group: group.update(weight_dekay=1.0)),
    "an option that cannot be": _group(lambda group: group.update(lr=math.nan)),
    "an option of another type": _group(lambda group: group.update(maximize="no")),
    "no params": _group(lambda group: group.pop("params")),
    "no such parameter": _more,
    "one group less": lambda saved, rng: {**saved, "param_groups": saved["param_groups"][1:]},
    "keys that are strings": _named,
    "no state": lambda saved, rng: {"param_groups": saved["param_groups"]},
    "a state that is no dict": lambda saved, rng: {**saved, "state": [1, 2]},
    "an entry that is no dict": lambda saved, rng: {**saved, "state": {0: torch.zeros(2)}},
    "nothing": lambda saved, rng: {},
}


def corrupted(how, saved, rng):
    """A ``state_dict`` spoilt in this way; None if it has nothing that could be."""
    return CORRUPTIONS[how](saved, rng)
