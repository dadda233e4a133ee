"""A step of `o2nc.optax.hedge` with momentum and adam against `optax.adamw`, jitted, on 25 million float32 parameters.

State and parameters are donated, as in a training loop. Printed are medians of interleaved repetitions, and the ratio
in CPU time and in wall time. Run: python benchmarks/optax_step.py
"""

import statistics
import time

import jax
import jax.numpy as jnp
import optax

from o2nc.optax import hedge

WIDTH, LAYERS, REPEATS = 1024, 24, 25


def trees():
    keys = iter(jax.random.split(jax.random.key(0), 4 * LAYERS))
    shapes = {f"layer{k}": {"kernel": (WIDTH, WIDTH), "bias": (WIDTH,)} for k in range(LAYERS)}
    is_shape = lambda node: isinstance(node, tuple)
    make = lambda scale: jax.tree.map(lambda s: scale * jax.random.normal(next(keys), s), shapes, is_leaf=is_shape)
    return make(0.02), make(1.0)


def trainer(tx):
    def step(params, state, gradients):
        updates, state = tx.update(gradients, state, params)
        return optax.apply_updates(params, updates), state

    return jax.jit(step, donate_argnums=(0, 1))


def main():
    params, gradients = trees()
    rivals = {"hedge": hedge(1e-3, ["momentum", "adam"], weight_decay=1e-4), "adamw": optax.adamw(1e-3)}
    runs, cpu, wall = {}, {name: [] for name in rivals}, {name: [] for name in rivals}
    for name, tx in rivals.items():
        runs[name] = [trainer(tx), jax.tree.map(jnp.copy, params), tx.init(params)]
    for repeat in range(REPEATS + 2):
        for name, run in runs.items():
            step, x, state = run
            start = time.perf_counter(), time.process_time()
            x, state = jax.block_until_ready(step(x, state, gradients))
            run[1:] = x, state
            if repeat >= 2:  # compiled, and the memory is there
                wall[name].append(time.perf_counter() - start[0])
                cpu[name].append(time.process_time() - start[1])
    count = sum(p.size for p in jax.tree.leaves(params))
    for kind, times in {"CPU": cpu, "wall": wall}.items():
        ours, theirs = (1e3 * statistics.median(times[name]) for name in ("hedge", "adamw"))
        print(
            f"{count / 1e6:.1f}M parameters, {kind} time a step: hedge {ours:.0f} ms, adamw {theirs:.0f} ms: "
            f"ratio {ours / theirs:.2f} (goal 1.5)"
        )


if __name__ == "__main__":
    main()
