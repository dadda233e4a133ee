"""The reproduction's cost, as ratios within one run. Run: python benchmarks/reproduce.py [--quick]

1. A run of all methods against evaluating values and gradients alone at as many points (CPU time, interleaved).
2. `o2nc reproduce` end to end, seven methods and the report, against a plain vectorised NumPy loop over the same
   4 x 128 x 3000 with the paper's two methods (wall time).
3. Time and memory as replications and iterations grow.
"""

import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np

from o2nc import _xp
from o2nc.lab.objectives import double_well, objective
from o2nc.lab.paper.experiment import ReproductionCell
from o2nc.lab.paper.methods import METHODS, hedge_rate
from o2nc.lab.paper.published import RESULTS
from o2nc.lab.runner import backends

OBJECTIVES = {name: objective(name) for name in RESULTS}

R, T = 128, 3000
QUICK = "--quick" in sys.argv


# 1. ---------------------------------------------------------------------------------------------------------------


def evaluate(name, rounds, backend):
    f = OBJECTIVES[name]
    with backends.mode(backend, "float64") as like:
        x = f.start(like) + _xp.from_numpy(0.01 * np.random.default_rng(0).standard_normal((R, f.d)), like)
        function = f.gap_and_gradient
        if backend == "jax":
            import jax

            function = jax.jit(function)
            jax.block_until_ready(function(x))
        start = time.process_time()
        for _ in range(rounds):
            result = function(x)
        if backend == "jax":
            jax.block_until_ready(result)
        return time.process_time() - start


def against_evaluation(backend="numpy", rounds=300, repeats=5):
    print(f"\nrun of {len(METHODS)} methods / bare evaluation at as many points, {backend}, CPU time")
    total = np.zeros(2)
    for name in OBJECTIVES:
        pairs = []
        for _ in range(repeats):
            bare = len(METHODS) * evaluate(name, rounds, backend)
            start = time.process_time()
            ReproductionCell(name, tuple(METHODS), 0, R, iterations=rounds, backend=backend).run()
            pairs.append((time.process_time() - start, bare))
        best = np.min(pairs, axis=0)
        total += best
        print(f"  {name}  {best[0] / best[1]:.2f}   ({1e6 * best[1] / rounds / len(METHODS):.0f} us an evaluation)")
    print(f"  all {total[0] / total[1]:.2f}   (at most 2.0 is wanted)")


# 2. ---------------------------------------------------------------------------------------------------------------


def plain_objectives():
    """The four objectives as one would type them from the paper: (start, value and gradient, projector, noise)."""
    rng = np.random.default_rng(0)

    def f1(W):
        z, x, y = W[:, :1], W[:, 1:65], W[:, 65:]
        r, s = (x + y) / math.sqrt(2), (y - x) / math.sqrt(2)
        value = (1 - np.cos(z))[:, 0] + 8 * (1 - np.cos(r) + 0.1 * (1 - np.cos(s))).sum(1)
        gr, gs = 8 * np.sin(r), 0.8 * np.sin(s)
        return value, np.hstack([np.sin(z), (gr - gs) / math.sqrt(2), (gr + gs) / math.sqrt(2)])

    g_star, l, s_c = double_well.G_STAR, double_well.LENGTH, double_well.SCALE

    def f2(W):
        c, u, v, z = W[:, 0], W[:, 1], W[:, 2], W[:, 3:]
        D = lambda s: 1 - np.exp(-((s**2 - 1) ** 2) / 2)
        dD = lambda s: 2 * s * (s**2 - 1) * np.exp(-((s**2 - 1) ** 2) / 2)
        q, w = u / l, (v - 0.3 * u) / l
        bowl = np.exp(-(w**2) / 2)
        inner = D(q) - 0.1 * np.tanh(q) - g_star + 4 * (1 - bowl)
        wells = np.exp(-(z**2) / 2)
        value = D(c) + s_c * inner + 40 * (1 - wells).sum(1)
        du = s_c / l * (dD(q) - 0.1 / np.cosh(q) ** 2 - 1.2 * w * bowl)
        return value, np.column_stack([dD(c), du, s_c / l * 4 * w * bowl, 40 * z * wells])

    def f3(W):
        after = np.roll(W, -1, axis=1) - W
        bond = np.sin(after)
        value = (1 - np.cos(after)).sum(1) + 32 * (1 - np.cos(W)).sum(1)
        return value, np.roll(bond, 1, axis=1) - bond + 32 * np.sin(W)

    def f4(W):
        e = np.exp(-(W**2).sum(1) / 2)
        return 1 - e + 32 * (1 - np.cos(W)).sum(1), e[:, None] * W + 32 * np.sin(W)

    def signs(d):
        return 2.0 * rng.integers(0, 2, (R, d)) - 1

    P3 = np.stack([OBJECTIVES["f3"].projector(np.zeros(1)) @ e for e in np.eye(64)])
    on_x, on_z = np.repeat([0, 0.1, 0], [1, 64, 64]), np.repeat([0, 0.4], [3, 64])
    noise = {
        "f1": lambda: on_x * signs(129),
        "f2": lambda: on_z * signs(67),
        "f3": lambda: 0.4 * signs(64) @ (np.eye(64) - P3),
        "f4": lambda: np.repeat([0, 0.4], [1, 63]) * signs(64),
    }
    return {"f1": f1, "f2": f2, "f3": f3, "f4": f4}, noise


def plain_loop(rounds):
    """SGD and Black-box + Hedge with the same noise, gap and squared gradient at every iteration; wall time."""
    functions, noise = plain_objectives()
    start = time.perf_counter()
    finals = {}
    for name, function in functions.items():
        f = OBJECTIVES[name]
        G, G0, a, eta = f.constants(20000).values
        gamma = hedge_rate(f)
        P = np.stack([f.projector(np.zeros(1)) @ e for e in np.eye(f.d)])
        W = np.tile(f.start(np.zeros(1)), (R, 1))
        X, m, C = W.copy(), np.zeros_like(W), np.zeros((R, 2))
        gaps, squares = np.empty((2, rounds, R)), np.empty((2, rounds, R))
        for t in range(rounds):
            xi = noise[name]()
            gaps[0, t], g = function(X)
            squares[0, t] = (g**2).sum(1)
            X = X - eta * (g + xi)
            gaps[1, t], g = function(W)
            squares[1, t] = (g**2).sum(1)
            s = g + xi
            p = np.exp(-gamma * (C - C.min(1, keepdims=True)))
            p /= p.sum(1, keepdims=True)
            Pm = m @ P
            C = C - np.column_stack([(s * m).sum(1), (s * Pm).sum(1)]) / G
            W = W - eta * (p[:, :1] * m + p[:, 1:] * Pm)
            m = (1 - a) * m + a * s
            m = m * np.minimum(1, G0 / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-300))
        averages = np.cumsum(squares, axis=1) / np.arange(1, rounds + 1)[:, None]
        finals[name] = gaps[:, -1].mean(1), averages[:, -1].mean(1), squares[:, -1].mean(1)
    return time.perf_counter() - start, finals


def end_to_end(rounds=T, repeats=3):
    print(
        f"\no2nc reproduce, 2 processes, seven methods, tables, figures, report / plain loop with two methods, {rounds}"
    )
    ratios, before = [], 0.0
    for _ in range(repeats):
        plain_cpu = -time.process_time()
        plain, finals = plain_loop(rounds)
        plain_cpu += time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "o2nc", "reproduce", "--out", f"{folder}/out", "--jobs", "2"]
            start = time.perf_counter()
            result = subprocess.run([*command, "--iterations", str(rounds)], capture_output=True, check=False)
            ours = time.perf_counter() - start
            cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert result.returncode in (0, 1), result.stderr.decode()
        ratios.append(ours / plain)
        spent, before = cpu.ru_utime + cpu.ru_stime - before, cpu.ru_utime + cpu.ru_stime
        print(
            f"  {ratios[-1]:.2f}   ({ours:.1f} s / {plain:.1f} s wall; {spent:.1f} s / {plain_cpu:.1f} s CPU, half "
            f"{spent / plain_cpu / 2:.2f}; plain gap of f4 {finals['f4'][0][1]:.3e})"
        )
    print(f"  median {np.median(ratios):.2f}   (at most 1.5 is wanted, 1.0 is the goal)")


# 3. ---------------------------------------------------------------------------------------------------------------


def growth():
    print("\ngrowth: all methods on f4, NumPy, CPU time; peak memory of Python's allocations less what is recorded")
    print("  replications  iterations  seconds  us a round and replication  MB")
    for replications, iterations in ((128, 500), (256, 500), (512, 500), (128, 1000), (128, 2000), (128, 4000)):
        cell = ReproductionCell("f4", tuple(METHODS), 0, replications, iterations=iterations)
        start = time.process_time()
        records = cell.run()
        seconds = time.process_time() - start
        kept = sum(a.nbytes for r in records.values() for k in (r.mean, r.M2, r.values, r.sums) for a in k.values())
        tracemalloc.start()
        cell.run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        each = 1e6 * seconds / replications / iterations
        print(f"  {replications:12d}  {iterations:10d}  {seconds:7.2f}  {each:27.2f}  {(peak - kept) / 1e6:.1f}")


if __name__ == "__main__":
    against_evaluation(repeats=2 if QUICK else 5)
    if not QUICK:
        against_evaluation("torch", rounds=100, repeats=3)
        against_evaluation("jax", rounds=2000, repeats=2)
    end_to_end(300 if QUICK else T, repeats=1 if QUICK else 3)
    growth()
