"""Whether a change of the house changed a number: fixed seeds, bit by bit, on one machine.

Run: python benchmarks/unchanged.py --write FOLDER   (before the change: numbers and checkpoints)
     python benchmarks/unchanged.py --check FOLDER   (after it: says what differs, and ends with 1)

Bits differ between CPUs and versions of libraries, so nothing is stored in the repository: write with the commit
before, check with the commit after. Checkpoints of the commit before must load and go on as they did there.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch

import o2nc
import o2nc.optax
import o2nc.torch
from o2nc import Nonsmooth, Smooth
from o2nc.operators import Identity, Projector

SMOOTH = Smooth(gap=4.0, M=8.0, beta=1.0, sigma=0.5, T=200)
MASK = np.asarray([True, False, True])
ORACLES = {
    "hedge": lambda: o2nc.oracles.Hedge([Identity(), Projector.from_mask(MASK)]),
    "adahedge": lambda: o2nc.oracles.AdaHedge([Identity(), Projector.from_mask(MASK)]),
    "ogd": lambda: o2nc.oracles.OGD(o2nc.sets.Box(0.0, 1.0), eta=0.1),
    "least-squares": lambda: o2nc.oracles.LeastSquares([Identity(), Projector.from_mask(MASK)]),
}
EXPERTS = {
    "default": None,
    "light": ["momentum", "adam"],
    "matrix": ["muon", "adam"],
    "soap": ["soap"],
    "shampoo": ["shampoo", "sign"],
}


def digest(*arrays) -> str:
    """The bits of arrays."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def minimized() -> dict[str, str]:
    """Runs of `o2nc.minimize`, with what is guaranteed of them."""

    def gradient(x, rng):
        return np.sin(x) + 0.5 * rng.choice([-1.0, 1.0], size=x.shape) / np.sqrt(3)

    def kinked(x, rng):
        return np.sign(x) / np.sqrt(3) + 0.1 * rng.choice([-1.0, 1.0], size=x.shape)

    found, x1 = {}, np.ones((4, 3)) * [2.0, 0.5, -1.0]
    rounds = [(f"smooth {name}", o2nc.SmoothConversion(make(), SMOOTH), gradient) for name, make in ORACLES.items()]
    rounds += [
        (f"segment {name}", o2nc.SegmentConversion(ORACLES[name](), SMOOTH, r=None), gradient)
        for name in ("hedge", "ogd")
    ]
    rounds += [("prediction", o2nc.PredictionConversion(ORACLES["least-squares"](), SMOOTH), gradient)]
    constants = Nonsmooth(L=1.0, M=2.0, sigma=0.2, lam=1.0, T=200)
    rounds += [
        (f"nonsmooth {name}", o2nc.NonsmoothConversion(ORACLES[name](), constants), kinked) for name in ("hedge", "ogd")
    ]
    for name, conversion, f in rounds:
        result = o2nc.minimize(f, x1, conversion, seed=3)
        found[name] = digest(result.x, result.last, *(np.asarray(a) for a in (result.regret,) if a is not None))
        for kind in ("certificate", "a_priori", "tight"):
            certificate = getattr(result, kind)
            found[f"{name} {kind}"] = "none" if certificate is None else f"{certificate.bound!r}"
    return found


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(10, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)
    )


def trained(model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> str:
    for t in steps:
        draw = torch.Generator().manual_seed(t)
        x = torch.randn(8, 10, generator=draw)
        optimizer.zero_grad()
        (model(x) - torch.sin(3 * x[:, :4])).square().mean().backward()
        optimizer.step()
    return digest(*(p.detach().numpy() for p in model.parameters()))


def on_torch(folder: Path, is_check: bool) -> dict[str, str]:
    """`Hedged` and `Converted`, and their checkpoints."""
    found = {}
    for name, experts in EXPERTS.items():
        for kind, groups in (("groups", o2nc.torch.groups), ("parameters", lambda m: m.parameters())):
            options = {} if experts is None else {"experts": experts}
            build = lambda model, groups=groups, options=options: o2nc.torch.Hedged(groups(model), **options)
            found |= run_torch(f"Hedged {name} {kind}", build, folder, is_check)
    constants = Smooth(gap=4.0, M=8.0, beta=10.0, sigma=0.5, T=60)
    conversion = o2nc.SmoothConversion(ORACLES["ogd"](), constants)
    found |= run_torch("Converted", lambda m: o2nc.torch.Converted(m.parameters(), conversion), folder, is_check)
    return found


def run_torch(name: str, build, folder: Path, is_check: bool) -> dict[str, str]:
    model = network()
    optimizer = build(model)
    path = folder / f"{name.replace(' ', '-')}.pt"
    found = {f"{name}, 30 steps": trained(model, optimizer, range(30))}
    if not is_check:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    found[f"{name}, 60 steps"] = trained(model, optimizer, range(30, 60))
    saved, resumed = torch.load(path, weights_only=True), network()
    optimizer = build(resumed)
    resumed.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    found[f"{name}, resumed"] = trained(resumed, optimizer, range(30, 60))
    return found


def on_jax() -> dict[str, str]:
    """`o2nc.optax.hedge`."""
    found = {}
    for name, experts in EXPERTS.items():
        options = {} if experts is None else {"experts": experts}
        tx = o2nc.optax.hedge(0.01, **options)
        draw = np.random.default_rng(0)
        params = {
            "w": jnp.asarray(draw.normal(size=(6, 5)), jnp.float32),
            "b": jnp.asarray(draw.normal(size=5), jnp.float32),
        }
        state = tx.init(params)

        @jax.jit
        def step(params, state, x, tx=tx):
            slopes = jax.grad(lambda p: jnp.mean((jnp.tanh(x @ p["w"] + p["b"]) - x[:, :5]) ** 2))(params)
            updates, state = tx.update(slopes, state, params)
            return optax.apply_updates(params, updates), state

        for _ in range(30):
            params, state = step(params, state, jnp.asarray(draw.normal(size=(7, 6)), jnp.float32))
        found[f"optax {name}"] = digest(*map(np.asarray, jax.tree.leaves(params)))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path)
    what.add_argument("--check", type=Path)
    given = parser.parse_args()
    folder, is_check = given.write or given.check, given.check is not None
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    found = minimized() | on_torch(folder, is_check) | on_jax()
    path = folder / "numbers.json"
    if not is_check:
        path.write_text(json.dumps(found, indent=1))
        print(f"{len(found)} numbers of o2nc {o2nc.__version__} in {path}")
        return 0
    before = json.loads(path.read_text())
    differ = [name for name in before | found if before.get(name) != found.get(name)]
    print(*(f"{name}: {before.get(name)} before, {found.get(name)} now" for name in differ), sep="\n")
    print(f"{len(before) - len(differ)} of {len(before)} are the same bit by bit")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
