"""A million coordinates: a round of Algorithm 1 with the prediction loss and structured preconditioners, NumPy and JAX.

The objective is a sum of 1 - cos x_i with noise that is large in every eighth coordinate. For each oracle and each d it
prints the CPU time of a round (the best of interleaved repetitions; on JAX the update is compiled and writes into the
old state), the memory of the state and of a round beyond it (tracemalloc on NumPy, the compiler's own account on JAX),
and the exponents of d by least squares on logarithms. Run: python benchmarks/scale.py
"""

import os
import time
import tracemalloc

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np

from o2nc import PredictionConversion, Smooth
from o2nc.oracles import LeastSquares, LeftLeastSquares
from o2nc.sets import Box
from o2nc.states import leaves

SIZES, REPEATS = (10_000, 100_000, 1_000_000), 5
ORACLES = {
    "diagonal, `LeastSquares(Box())`": lambda d: LeastSquares(Box()),
    "a factor for each block of 1000, `LeftLeastSquares((1, 1000))`": lambda d: LeftLeastSquares((1, 1000)),
    "blocks of 4 x 4, `LeftLeastSquares((4, 1))`": lambda d: LeftLeastSquares((4, 1)),
    "a Kronecker factor of 16 x 16, `LeftLeastSquares((16, d / 16))`": lambda d: LeftLeastSquares((16, d // 16)),
}  # fmt: skip


def conversion(make, d):
    constants = Smooth.least_squares(gap=2.0 * d, beta=1.0, sigma=(0.25 * d) ** 0.5, T=1000)
    return PredictionConversion(make(d), constants)


def sample(x, rng):
    noise = rng.normal(size=x.shape, scale=0.2)
    noise[..., ::8] *= 5
    return np.sin(x) + noise


def on_numpy(make, d):
    """The round, the bytes of the state, and those of a round beyond what it is given."""
    rng, found = np.random.default_rng(0), conversion(make, d)
    x = np.ones(d)
    state = found.init(x)
    for _ in range(2):
        dx, state = found.update(sample(x, rng), state)
        x = x + dx
    s = sample(x, rng)
    tracemalloc.start()
    found.update(s, state)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (lambda: found.update(s, state)), sum(a.nbytes for _, a in leaves(state)), peak


def on_jax(make, d):
    """The same, compiled, in float64, with the old state given up."""
    rng, found = np.random.default_rng(0), conversion(make, d)
    s = jnp.asarray(sample(np.ones(d), rng))
    state = found.init(s)
    update = jax.jit(found.update, donate_argnums=1).lower(s, state).compile()
    account = update.memory_analysis()
    kept = sum(a.nbytes for _, a in leaves(state))
    holder = [jax.tree.map(lambda a: a + 0, state)]

    def step():
        dx, holder[0] = update(s, holder[0])
        dx.block_until_ready()

    return step, kept, account.temp_size_in_bytes + account.output_size_in_bytes - account.alias_size_in_bytes


def seconds(step):
    start = time.process_time()
    step()
    return time.process_time() - start


def exponent(values):
    return float(np.polyfit(np.log(SIZES), np.log(values), 1)[0])


def main():
    jax.config.update("jax_enable_x64", True)
    np.empty(2**26)  # as in growth.py: the pages of large arrays are not given back after this
    print(
        "| operators | library | ms a round | exponent | state | a round beyond it | exponent |",
        "|---" * 7 + "|",
        sep="\n",
    )
    for (name, make), (library, prepared) in (
        (oracle, where) for oracle in ORACLES.items() for where in (("NumPy", on_numpy), ("JAX", on_jax))
    ):
        cases = [prepared(make, d) for d in SIZES]
        steps = [step for step, _, _ in cases]
        for step in steps:
            step()
        times = np.min([[seconds(step) for step in steps] for _ in range(REPEATS)], axis=0)
        peaks = [peak for _, _, peak in cases]
        shown = ", ".join(f"{1e3 * t:.3g}" for t in times)
        kept, most = (f"{values[-1] / 2**20:.3g} MB" for values in ([kept for _, kept, _ in cases], peaks))
        print(
            f"| {name} | {library} | {shown} | {exponent(times):.2f} | {kept} | {most} | {exponent(peaks):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
