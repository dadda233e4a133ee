"""What works with NumPy and array-api-compat only; `make wheel` runs it in an empty environment."""

import importlib
import subprocess
import sys

import numpy as np

import o2nc


def main():
    constants = o2nc.Smooth.paper(M=2.0, beta=1.0, sigma=0.0, T=20)
    oracle = o2nc.oracles.Hedge([o2nc.operators.Identity()])
    result = o2nc.minimize(lambda x, rng: np.sin(x), np.asarray([3.0]), oracle=oracle, constants=constants)
    assert result.certificate.label == "plug-in", result
    for name in o2nc.__all__:
        getattr(o2nc, name)
    for name, library in {"torch": "PyTorch", "optax": "JAX", "lab.cli": "typer"}.items():
        try:
            importlib.import_module(f"o2nc.{name}")
            sentence = ""
        except ModuleNotFoundError as error:
            sentence = str(error)
        assert library in sentence, f"o2nc.{name} must need an extra; it says {sentence!r}"
    command = [sys.executable, "-I", "-m", "o2nc"]
    for arguments, code in ((["--version"], 0), (["list"], 0), (["reproduce"], 3)):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True)
        assert done.returncode == code, done
    assert "pip install 'o2nc[lab]'" in done.stderr
    print(f"o2nc {o2nc.__version__} works without extras")


if __name__ == "__main__":
    main()
