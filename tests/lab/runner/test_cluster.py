"""The Dask and Ray engines against a local cluster of two workers, bound to 127.0.0.1."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from o2nc.lab.paper.experiment import Reproduction
from o2nc.lab.runner.engine import compute
from o2nc.lab.runner.store import Store

pytestmark = pytest.mark.slow

SETTINGS = Reproduction(replications=2, iterations=20)

# The cluster is started in a process of its own, and the cells are computed through its address.
SCRIPT = """
import sys
from pathlib import Path
from o2nc.lab.paper.experiment import Reproduction
from o2nc.lab.runner.engine import compute
from o2nc.lab.runner.store import Store

def main(engine, out):
    store = Store(Path(out), Reproduction(replications=2, iterations=20))
    store.open()
    cells = store.experiment.cells()
    if engine == "dask":
        from distributed import LocalCluster
        options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
        with LocalCluster(**options) as cluster:
            compute(store, cells, engine="dask", address=cluster.scheduler_address)
    else:
        compute(store, cells, engine="ray", jobs=2)

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_cluster_gives_the_same_numbers(engine, tmp_path):
    module = {"dask": "distributed", "ray": "ray"}[engine]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"needs the package {module}")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    out = tmp_path / "out"
    result = subprocess.run(
        [sys.executable, str(script), engine, str(out)], capture_output=True, text=True, timeout=170, check=False
    )
    assert result.returncode == 0, result.stderr[-3000:]
    local = Store(tmp_path / "local", SETTINGS)
    local.open()
    compute(local, SETTINGS.cells(), jobs=1)
    found, expected = (s.collect(SETTINGS.cells())[0] for s in (Store(out, SETTINGS), local))
    for name, methods in expected.items():
        for method, record in methods.items():
            for metric, values in record.values.items():
                np.testing.assert_allclose(found[name][method].values[metric], values, rtol=1e-12, atol=0)
