"""results.nc: everything that was recorded, labelled."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from .agreement import Records
from .record import METRICS, SUMS, Record
from .store import replacing

LONG_NAMES = {
    "gap": "f(W_t) - f*",
    "instant": "squared norm of the true gradient at W_t",
    "average": "average of the squared gradient norms over 1 .. t",
    "weight": "weight of the projector P in the operator played in round t",
    "regret": "regret against the identity after round t",
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

    for metric in METRICS:
        words = LONG_NAMES[metric]
        mean, std, each = _getters(metric)
        fill(f"{metric}_mean", ("iteration",), (T,), f"{words}, mean over replications", mean)
        fill(f"{metric}_std", ("iteration",), (T,), f"{words}, standard deviation over replications", std)
        fill(metric, ("checkpoint", "replication"), (C, R), words, each)
    for name in SUMS:
        fill(name, ("replication",), (R,), LONG_NAMES[name], lambda record, name=name: record.sums.get(name))
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


def _getters(metric: str) -> tuple[Any, Any, Any]:
    def mean(record: Record) -> Any:
        return record.mean.get(metric)

    def std(record: Record) -> Any:
        return record.std(metric) if metric in record.M2 else None

    def each(record: Record) -> Any:
        return record.values.get(metric)

    return mean, std, each


def write_dataset(path: Path, records: Records, found: dict[str, Any]) -> None:
    """Write ``results.nc`` as compressed netCDF-4.

    Reference: Numerical Experiments, the evaluation protocol.
    """
    data = dataset(records, found)
    with replacing(path) as part:
        packed = {"zlib": True, "complevel": 1, "shuffle": True}
        data.to_netcdf(part, engine="netcdf4", encoding={name: packed for name in data.data_vars})
