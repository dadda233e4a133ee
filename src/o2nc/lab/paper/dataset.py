"""results.nc: everything that was recorded, labelled."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..runner.records import Record, Records
from ..runner.store import replacing

Kept = Callable[[Record, str], Any]  # what is kept of a record under a key

METRICS = {
    "gap": "f(W_t) - f*",
    "instant": "squared norm of the true gradient at W_t",
    "average": "average of the squared gradient norms over 1 .. t",
    "weight": "weight of the projector P in the operator played in round t",
    "regret": "regret against the identity after round t",
}
SUMS = {
    "Q": "sum of <s_t, m_t> over all rounds",
    "N": "sum of |m_t|^2 over all rounds",
    "W": "sum of |U_t m_t|^2 over all rounds",
    "clipped": "rounds in which the projection of the tracker was active",
    "noise": "sum of |xi_t|^2 over all rounds",
    "final_gap": "f - f* at the iterate after the last round",
}


def dataset(records: Records, found: dict[str, Any]) -> Any:
    """An `xarray.Dataset` of all records; what a method does not have is NaN.

    ``<metric>_mean`` and ``<metric>_std`` are over the replications at every iteration, ``<metric>`` is every
    replication at the checkpoints, the sums are over all rounds.

    Args:
        records: by objective and method.
        found: the tables, from which settings, versions and constants become attributes.

    Reference: Numerical Experiments, the evaluation protocol.
    """
    import xarray

    methods = list(next(iter(records.values())))
    first = next(iter(records.values()))[methods[0]]
    T, C, R = len(first.mean["gap"]), len(first.checkpoints), first.R
    variables: dict[str, Any] = {}

    def fill(key: str, end: str, dims: Sequence[str], shape: Sequence[int], words: str, kept: Kept) -> None:
        rows = [[kept(runs[method], key) for method in methods] for runs in records.values()]
        array = np.asarray([[np.full(shape, np.nan) if one is None else one for one in row] for row in rows])
        variables[key + end] = (("objective", "algorithm", *dims), array, {"long_name": words})

    for key, words in METRICS.items():
        fill(key, "_mean", ["iteration"], [T], f"{words}, mean over replications", lambda r, k: r.mean.get(k))
        std = f"{words}, standard deviation over replications"
        fill(key, "_std", ["iteration"], [T], std, lambda r, k: r.std(k) if k in r.M2 else None)
        fill(key, "", ["checkpoint", "replication"], [C, R], words, lambda r, k: r.values.get(k))
    for key, words in SUMS.items():
        fill(key, "", ["replication"], [R], words, lambda r, k: r.sums.get(k))
    return xarray.Dataset(
        variables,
        coords={
            "objective": list(records),
            "algorithm": methods,  # not "method", which is an argument of xarray's sel
            "iteration": np.arange(1, T + 1),
            "checkpoint": first.checkpoints,
            "replication": first.replications,
        },
        attrs={
            **found["settings"],
            "title": "Reproduction of the numerical section, with controls",
            "versions": json.dumps(found["versions"]),
            "constants": json.dumps(found["constants"]),
        },
    )


def write_dataset(path: Path, records: Records, found: dict[str, Any]) -> None:
    """Write ``results.nc`` as compressed netCDF-4.

    Reference: Numerical Experiments, the evaluation protocol.
    """
    data = dataset(records, found)
    with replacing(path) as part:
        packed = {"zlib": True, "complevel": 1, "shuffle": True}
        try:
            data.to_netcdf(part, engine="netcdf4", encoding={name: packed for name in data.data_vars})
        except RuntimeError as error:  # how netCDF tells of a full disk
            raise OSError(f"{error} (the disk may be full)") from error
