"""What it costs not to know the constants: the gap of Algorithm 1 with known ones, and of what does without.

The same noise for all, replications paired. The page "Unknown constants" has the tables. Run:
python benchmarks/unknown.py [--quick] [--seed 2] [--replications 16] [--iterations 3000] [--oracle identity ...]
[--no-estimates] [--first 1e-3], of which the last changes the first step of `UntunedConversion`.
"""

import argparse
import os
from dataclasses import replace

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np

from o2nc import SmoothConversion, probe
from o2nc.certificates import theorem1_doubling, theorem1_sharp
from o2nc.constants import PaperSmooth
from o2nc.conversions import DoublingConversion, UntunedConversion, untuned
from o2nc.lab.objectives import objective, of_kind
from o2nc.lab.runner.paired import HORIZON, Method, play
from o2nc.lab.runner.statistics import reduction
from o2nc.operators import Identity
from o2nc.oracles import AdaGrad, AdaHedge, Constant
from o2nc.sets import Box

LIKE = np.zeros(1)
FIRST_PHASE = 100
LIMIT = 2.0  # what was asked for
ORACLES = {  # by name: the learner and the factor kappa of its loss
    "identity": (lambda f: Constant(), 0.0),
    "adahedge": (lambda f: AdaHedge([Identity(), f.projector(LIKE)]), 16.0),
    "adagrad": (lambda f: AdaGrad(Box()), 4.0),
}
ESTIMATED = {"estimated": False, "estimated, with values": True}


def probed(f, seed, with_values):
    """Estimates from samples at the start of the run, whose noise is that of the first round."""

    def gradient(x, rng):
        return f.gradient(x) + f.noise_of(rng.choice([-1.0, 1.0], size=(1, 1, f.d)), 0)[0, 0]

    value = (lambda x, rng: f.gap(x)) if with_values else None
    return PaperSmooth.estimate(probe(gradient, f.start(LIKE), value=value, seed=seed), HORIZON)


def last(f, make, metric, args, replications):
    """A metric of some replications at the last iteration, with the conversion that ``make`` makes."""
    method = Method("one", "one", None, baseline=make)
    return play(f, [method], replications, args.iterations, args.seed)["one"].at(metric, args.iterations)


def gaps(f, base, args):
    """By version, the final gaps of all replications; and the estimates, each replication with its own probes."""
    oracle, kappa = base[0](f), base[1]
    first = replace(f.constants(HORIZON), T=FIRST_PHASE)
    versions = {
        "known": lambda f, rounds: SmoothConversion(oracle, f.constants(HORIZON), kappa),
        "unknown T: doubling": lambda f, rounds: DoublingConversion(oracle, first, kappa),
        "all unknown: untuned": lambda f, rounds: UntunedConversion(oracle, kappa),
    }
    found = {name: last(f, make, "gap", args, range(args.replications)) for name, make in versions.items()}
    estimates = {}
    for name, with_values in {} if args.no_estimates else ESTIMATED.items():
        estimates[name] = [probed(f, 1000 * args.seed + r, with_values) for r in range(args.replications)]
        found[name] = np.concatenate(
            [
                last(f, lambda f, rounds, c=c: SmoothConversion(oracle, c, kappa), "gap", args, [r])
                for r, c in enumerate(estimates[name])
            ]
        )
    return found, estimates


def bound_of_doubling(f, args):
    """The average squared gradient of doubling with the identity, whose regret is 0, and its bound."""
    c = replace(f.constants(HORIZON), T=FIRST_PHASE)
    make = lambda f, rounds: DoublingConversion(Constant(), c)
    measured = float(last(f, make, "average", args, range(args.replications)).mean())
    return theorem1_doubling(c, regret=0.0, rounds=args.iterations, measured=measured)


def row(name, cells):
    print("| " + " | ".join([name, *cells]) + " |", flush=True)


def head(name, objectives):
    print()
    row(name, objectives)
    print("|---" * (1 + len(objectives)) + "|")


def ratio(own, known):
    """The ratio of the mean gaps with its standard error; bold where it is more than was asked for."""
    less = reduction(own, known)
    text = f"{1 - less.value / 100:.3g} ± {less.stderr / 100:.1g}"
    return f"**{text}**" if 1 - less.value / 100 > LIMIT else text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--replications", type=int, default=16)
    parser.add_argument("--iterations", type=int, default=3000)
    parser.add_argument("--oracle", nargs="*", default=list(ORACLES))
    parser.add_argument("--no-estimates", action="store_true")
    parser.add_argument("--first", type=float, default=untuned.FIRST)
    args = parser.parse_args()
    if args.quick:
        args.replications, args.iterations = 2, 100
    untuned.FIRST = args.first
    objectives = {name: objective(name) for name in of_kind("smooth")}
    print(f"seed {args.seed}, {args.replications} replications, {args.iterations} iterations, first {args.first:g}")
    for key in args.oracle:
        found = {name: gaps(f, ORACLES[key], args) for name, f in objectives.items()}
        head(f"gap over that of known constants, oracle `{key}`", objectives)
        row("known: the gap itself", [f"{own['known'].mean():.3g}" for own, _ in found.values()])
        for version in next(iter(found.values()))[0]:
            if version != "known":
                row(version, [ratio(own[version], own["known"]) for own, _ in found.values()])
    head("unknown T: average squared gradient with the identity", objectives)
    bounds = {name: bound_of_doubling(f, args) for name, f in objectives.items()}
    row("measured", [f"{found.measured:.3g}" for found in bounds.values()])
    row("bound of doubling", [f"{found.bound:.3g}" for found in bounds.values()])
    of_T = [theorem1_sharp(replace(f.constants(HORIZON), T=args.iterations), 0.0) for f in objectives.values()]
    row("bound of Theorem 1, T known", [f"{found.bound:.3g}" for found in of_T])
    if args.no_estimates or not args.oracle:
        return
    head("estimate over truth, median", objectives)
    for version in ESTIMATED:
        for constant in ("M", "beta", "sigma", "eta"):
            shares = [
                np.median(
                    [getattr(c, constant) / getattr(f.constants(HORIZON), constant) for c in found[name][1][version]]
                )
                for name, f in objectives.items()
            ]
            if version == "estimated" or constant in ("M", "eta"):
                row(f"{constant}, {version}", [f"{share:.3g}" for share in shares])


if __name__ == "__main__":
    main()
