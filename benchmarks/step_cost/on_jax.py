"""Steps of gradient transformations under ``jit``: what is timed, and where the time goes."""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from o2nc.optax import hedge

from .shapes import Shape
from .timing import PATIENCE, WARM, Costs, interleaved, often, repeat, summary, timed

LR, DECAY = 1e-3, 1e-4
PERIOD = 10  # steps in which "soap" turns all of its bases
ADAMW = "AdamW of Optax"
PAIR, PLAIN = ("momentum", "adam"), {"scale": "fixed", "sight": None}


class Transformation(NamedTuple):
    """A gradient transformation; one of matrices may be slow on large ones, and a period is timed as a whole."""

    make: Callable[[], optax.GradientTransformation]
    is_of_matrices: bool = False
    period: int = 1


def hedged(*experts: str, **options: Any) -> Callable[[], optax.GradientTransformation]:
    """`hedge` with equal weights for ever (c = 0), unless options say otherwise: no expert sleeps."""
    return lambda: hedge(LR, experts, weight_decay=DECAY, **{"c": 0.0, **options})


TRANSFORMATIONS = {
    ADAMW: Transformation(lambda: optax.adamw(LR)),
    "hedge momentum+adam": Transformation(hedged(*PAIR)),
    "hedge momentum+adam plain": Transformation(hedged(*PAIR, **PLAIN)),
    "hedge adam": Transformation(hedged("adam")),
    "Muon of Optax": Transformation(lambda: optax.contrib.muon(LR), True),
    "hedge muon+adam": Transformation(hedged("muon", "adam"), True),
    "hedge muon+soap": Transformation(hedged("muon", "soap"), True, PERIOD),
}
if not hasattr(optax.contrib, "muon"):
    del TRANSFORMATIONS["Muon of Optax"]


def arrays(shapes: Sequence[Shape], seed: int, size: float) -> list[jax.Array]:
    """Normal numbers in these shapes."""
    keys = jax.random.split(jax.random.key(seed), len(shapes))
    return [size * jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True)]


class Training:
    """Steps that donate parameters and state, each waited for."""

    def __init__(self, tx: optax.GradientTransformation, shapes: Sequence[Shape]):
        def step(x: Any, state: Any, s: Any) -> Any:
            updates, state = tx.update(s, state, x)
            return optax.apply_updates(x, updates), state

        self.x, self.s = arrays(shapes, 0, 0.02), arrays(shapes, 1, 1.0)
        self.state = tx.init(self.x)
        self.compiled = jax.jit(step, donate_argnums=(0, 1)).lower(self.x, self.state, self.s).compile()

    def step(self) -> None:
        self.x, self.state = jax.block_until_ready(self.compiled(self.x, self.state, self.s))


def measured(
    transformations: Mapping[str, Transformation], shapes: Sequence[Shape], repeats: int, patience: float = PATIENCE
) -> Costs:
    """The cost of a step of each; those with a period go through whole ones."""
    steps = {name: Training(each.make(), shapes).step for name, each in transformations.items()}
    repeat(steps, WARM)
    count = often(repeats, timed(lambda: repeat(steps, 1)).wall / 1e3, patience)
    rounds = {name: -(-count // each.period) * each.period for name, each in transformations.items()}
    found = interleaved(steps, rounds)
    return {name: summary(costs, transformations[name].period) for name, costs in found.items()}


def temporaries(training: Training) -> int:
    """The bytes that a step takes besides what it keeps."""
    found: int = training.compiled.memory_analysis().temp_size_in_bytes
    return found


def events(training: Training, steps: int) -> dict[str, tuple[float, float]]:
    """The loops and calls of XLA by the stem of their names: how many there are in a step, and their milliseconds."""
    training.step()
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(steps):
                training.step()
        (path,) = Path(folder).rglob("*.xplane.pb")
        data = jax.profiler.ProfileData.from_file(str(path))
    times, calls = Counter[str](), Counter[str]()
    for event in (event for plane in data.planes for line in plane.lines for event in line.events):
        name = event.name.split(".")[0]
        if name.endswith("fusion") or name.startswith(("while", "copy", "wrapped", "dot", "custom-call")):
            times[name] += event.duration_ns / 1e6 / steps
            calls[name] += 1
    return {name: (calls[name] / steps, ms) for name, ms in times.most_common()}


def profile(name: str, shapes: Sequence[Shape], steps: int = 5, most: int = 12) -> list[str]:
    """What XLA makes of a step: its results, its temporary memory, and what takes most time."""
    training = Training(TRANSFORMATIONS[name].make(), shapes)
    kept = [a for a in jax.tree.leaves((training.x, training.state)) if jnp.size(a) > 1]
    size = sum(jnp.size(a) for a in training.x)
    text = [
        f"{name} on {len(shapes)} leaves: {len(kept)} arrays are kept, {sum(map(jnp.size, kept)) / size:.1f} x the "
        f"parameters; temporary memory {temporaries(training) / 4 / size:.2f} x the parameters"
    ]
    found = list(events(training, steps).items())[:most]
    return text + [f"  {stem:28s}{calls:7.0f} a step{ms:9.2f} ms" for stem, (calls, ms) in found]
