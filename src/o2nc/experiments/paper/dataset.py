"""results.nc: everything that was recorded, labelled."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..runner.records import Records
from ..runner.store import replacing

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

    def fill(name: str, dims: tuple[str, ...], shape: tuple[int, ...], what: str, value: Any) -> None:
        array = np.full((len(records), len(methods), *shape), np.nan)
        for i, runs in enumerate(records.values()):
            for j, method in enumerate(methods):
                values = value(runs[method])
                if values is not None:
                    array[i, j] = values
        variables[name] = (("objective", "algorithm", *dims), array, {"long_name": what})

    for key, words in METRICS.items():
        fill(f"{key}_mean", ("iteration",), (T,), f"{words}, mean over replications", lambda r, k=key: r.mean.get(k))
        std = lambda record, key=key: record.std(key) if key in record.M2 else None
        fill(f"{key}_std", ("iteration",), (T,), f"{words}, standard deviation over replications", std)
        fill(key, ("checkpoint", "replication"), (C, R), words, lambda record, key=key: record.values.get(key))
    for key, words in SUMS.items():
        fill(key, ("replication",), (R,), words, lambda record, key=key: record.sums.get(key))
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
        data.to_netcdf(part, engine="netcdf4", encoding={name: packed for name in data.data_vars})
