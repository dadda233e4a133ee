"""The average squared gradient against the number of gradients: Algorithm 1, and variance reduction in three versions.

$f(x)=\\sum_i(1-\\cos x_i)$ in 5 dimensions from $(1,...,1)$, and $F(x,\\xi)=f(x)+\\sum_i\\cos(x_i+\\xi_i)$ with uniform
phases: the variance is 5/2 at every point, and beta^2 = 3/2 in mean square. The page "Variance reduction" has the
tables and the figure. Run: python benchmarks/variance_reduction.py [--quick] [--replications 64] [--seed 0]
[--figure docs/assets/variance-reduction.png]
"""

import argparse
import math
import os
from collections.abc import Callable
from dataclasses import dataclass

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np

import o2nc
from o2nc.certificates import theorem_storm
from o2nc.constants import VarianceReduced
from o2nc.conversions import PredictionConversion, SmoothConversion, StormConversion
from o2nc.lab.runner.charts import COLOURS, Legend, canvas
from o2nc.operators import Identity, Projector
from o2nc.oracles import Constant, Hedge, PredictionHedge

DIMENSION = 5
START = np.ones(DIMENSION)
GAP, SIGMA = DIMENSION * (1 - math.cos(1.0)), math.sqrt(DIMENSION / 2)
BETA_F, BETA = 1.0, math.sqrt(1.5)  # of f, and of the samples in mean square
HORIZONS = [2**k for k in range(8, 17)]


def gradient(x, rng):
    """A sample: the phases are drawn, and are the same when it is taken again."""
    return np.sin(x) - np.sin(x + 2 * np.pi * rng.random(x.shape))


@dataclass(frozen=True)
class Found:
    """What a method needed and reached at a horizon."""

    T: int
    gradients: int
    average: float  # of the squared gradient, over rounds and replications
    error: float  # its standard error
    bound: float  # a-priori, or with the measured regret
    regret: float  # a round


def play(conversion, gradient, x1, T, args, gradients):
    """A run of some replications from x1."""
    squares = np.zeros(args.replications)

    def add(t, x, state):
        if t < T:
            squares[:] += (np.sin(x) ** 2).sum(axis=1) / T

    x = np.tile(x1, (args.replications, 1))
    add(0, x, None)
    result = o2nc.minimize(gradient, x, conversion, seed=args.seed + T, callback=add, show_progress=False)
    error = float(squares.std(ddof=1) / math.sqrt(len(squares)))
    bound = result.certificate if result.a_priori is None else result.a_priori
    return Found(T, gradients, float(squares.mean()), error, bound.bound, float(np.mean(result.regret)) / T)


def algorithm_1(T, args):
    """Algorithm 1 with the constants of the sharp theorem and U = I."""
    constants = o2nc.Smooth(gap=GAP, beta=BETA_F, sigma=SIGMA, T=T)
    return play(SmoothConversion(Constant(), constants), gradient, START, T, args, T)


def storm(T, args, **options):
    """Variance reduction with U = I."""
    constants = VarianceReduced(gap=GAP, beta=BETA, sigma=SIGMA, T=T, **options)
    return play(StormConversion(Constant(), constants), gradient, START, T, args, 2 * T + constants.batch - 1)


def best_rate_of_one_sample(T):
    """The a that makes the bound with one first sample smallest."""
    bound = lambda a: theorem_storm(gap=GAP, beta=BETA, sigma=SIGMA, T=T, regret=0.0, a=a, batch=1).bound
    return float(min(np.geomspace(1e-6, 1, 4001), key=bound))


METHODS: dict[str, Callable] = {
    "Algorithm 1": algorithm_1,
    "first batch": storm,
    "decreasing weights": lambda T, args: storm(T, args, decreasing=True),
    "one first sample": lambda T, args: storm(T, args, batch=1),
    "one first sample, its best a": lambda T, args: storm(T, args, batch=1, a=best_rate_of_one_sample(T)),
}


def with_experts(args, T=4096, quiet=5, noisy=15):
    """Noise in 15 of 20 coordinates, which start at their minimum, and P, which removes them."""
    is_noisy = np.arange(quiet + noisy) >= quiet
    gradient = lambda x, rng: np.sin(x) - is_noisy * np.sin(x + 2 * np.pi * rng.random(x.shape))
    P, gap, sigma = Projector.from_mask(~is_noisy), quiet * (1 - math.cos(1.0)), math.sqrt(noisy / 2)
    smooth = o2nc.Smooth(gap=gap, beta=BETA_F, sigma=sigma, T=T)
    reduced = VarianceReduced(gap=gap, beta=BETA, sigma=sigma, T=T)
    hedge, predicting = Hedge([Identity(), P]), PredictionHedge([Identity(), P])
    rows = {
        "the identity": (SmoothConversion(Constant(), smooth), StormConversion(Constant(), reduced)),
        "P, known": (SmoothConversion(Constant(P), smooth), StormConversion(Constant(P), reduced)),
        "I and P, Hedge, linear loss": (SmoothConversion(hedge, smooth), StormConversion(hedge, reduced)),
        "I and P, Hedge, prediction loss": (
            PredictionConversion(predicting, smooth), StormConversion(predicting, reduced, None),
        ),
    }  # fmt: skip
    print("| | Algorithm 1 | regret a round | variance reduction | regret a round |\n|---|---|---|---|---|")
    for name, pair in rows.items():
        found = [play(conversion, gradient, np.where(is_noisy, 0.0, 1.0), T, args, T) for conversion in pair]
        print(f"| {name} | " + " | ".join(f"{f.average:.4f} ± {f.error:.4f} | {f.regret:.1e}" for f in found) + " |")
    for conversion in rows["the identity"]:
        means = in_noise(conversion, gradient, np.where(is_noisy, 0.0, 1.0), is_noisy, T, args)
        print(f"{type(conversion).__name__}, |m|^2, |g|^2, |m - g|^2 in the noise:", *(f"{mean:.4f}" for mean in means))


def in_noise(conversion, gradient, x1, is_noisy, T, args, after=100):
    """The means of |m|^2, |g|^2 and |m - g|^2 in the noisy coordinates, over the rounds after some."""
    sums, tracked = np.zeros(3), isinstance(conversion, StormConversion)
    before = [np.tile(x1, (args.replications, 1))]  # the point of the round: Algorithm 1 has tracked it for the next

    def add(t, x, state):
        m, g = (state.run.m, np.sin(before[0])) if tracked else (state.m, np.sin(x))
        before[0] = x
        if t > after:
            for k, v in enumerate((m, g, m - g)):
                sums[k] += (v[:, is_noisy] ** 2).sum(axis=1).mean() / (T - after)

    o2nc.minimize(gradient, before[0], conversion, seed=args.seed + T, callback=add, show_progress=False)
    return sums


def slope(found, value):
    """Of the line through the last five points, on logarithmic axes."""
    last = found[-5:]
    return float(np.polyfit(np.log([f.gradients for f in last]), np.log([value(f) for f in last]), 1)[0])


def draw(results, path):
    """What was measured, and the bounds, against the gradients taken."""
    figure, panels = canvas(["average squared gradient", "a-priori bound"], "gradients taken")
    for (name, found), colour in zip(results.items(), COLOURS, strict=False):
        for panel, value in zip(panels, (lambda f: f.average, lambda f: f.bound), strict=True):
            label = f"{name}: {slope(found, value):.2f}" if panel is panels[0] else None
            at = [f.gradients for f in found]
            panel.plot(at, [value(f) for f in found], "o-", color=colour, markersize=3, linewidth=1.6, label=label)
    for panel in panels:
        panel.set(xscale="log", yscale="log")
    lines = panels[0].get_lines()
    words = {"title": "slope of the last five points", "title_fontsize": 8}
    Legend.of([line.get_label() for line in lines]).draw(figure, lines, **words)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--replications", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", default="")
    args = parser.parse_args()
    horizons = HORIZONS[:5] if args.quick else HORIZONS
    results = {name: [play(T, args) for T in horizons] for name, play in METHODS.items()}
    print("| T | " + " | ".join(results) + " |\n|---|" + "---|" * len(results))
    for k, T in enumerate(horizons):
        cells = [
            f"{f.average:.4f} ± {f.error:.4f} (bound {f.bound:.4f})" for f in (found[k] for found in results.values())
        ]
        print(f"| {T} | " + " | ".join(cells) + " |")
    for words, value in (("slope", lambda f: f.average), ("slope of the bound", lambda f: f.bound)):
        print(f"| {words} | " + " | ".join(f"{slope(found, value):.2f}" for found in results.values()) + " |")
    c = VarianceReduced(gap=GAP, beta=BETA, sigma=SIGMA, T=horizons[-1])
    print(f"D = {GAP:.3f}, sigma^2 = {SIGMA**2}, beta = {BETA:.4f}; at T = {c.T}: a = {c.a:.3g}, b = {c.batch}")
    with_experts(args)
    if args.figure:
        draw(results, args.figure)


if __name__ == "__main__":
    main()
