"""The picture of the README: the same noise, with the identity and with a learned preconditioner.

Run: python benchmarks/idea.py [--out FILE]

A valley with noise across it. Both runs have the constants of the sharp theorem; one plays the identity, the other
learns a matrix by online least squares from the prediction loss. It prints what the caption says.
"""

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

import o2nc
from o2nc.lab.runner.charts import BLUE, ORANGE, canvas
from o2nc.operators import act
from o2nc.oracles import Constant, FullLeastSquares

OUT = Path(__file__).parents[1] / "docs" / "assets" / "idea.png"
ANGLE = math.radians(25)
ALONG, ACROSS = np.asarray([math.cos(ANGLE), math.sin(ANGLE)]), np.asarray([-math.sin(ANGLE), math.cos(ANGLE)])
FLAT, STEEP, NOISE, T = 0.5, 4.0, 2.5, 400
START = 4.6 * ALONG + 0.8 * ACROSS
RUNS = 64


def height(x):
    """f, its minimum 0 at the origin: cosines, flat along the valley and steep across it."""
    return 4 * FLAT * (1 - np.cos(x @ ALONG / 2)) + STEEP * (1 - np.cos(x @ ACROSS))


def gradient(x, rng):
    """A sample: the noise is across the valley."""
    exact = 2 * FLAT * np.sin(x @ ALONG / 2)[..., None] * ALONG + STEEP * np.sin(x @ ACROSS)[..., None] * ACROSS
    return exact + NOISE * rng.choice([-1.0, 1.0], size=(*x.shape[:-1], 1)) * ACROSS


class Run(NamedTuple):
    """What is drawn."""

    points: np.ndarray  # of the first replication, (T, 2)
    gaps: np.ndarray  # means over the replications, (T,)
    U: np.ndarray  # the last operator of the first replication
    certificate: o2nc.certificates.Certificate


def run(oracle):
    """All replications with the same noise for every oracle."""
    constants = o2nc.Smooth(gap=float(height(START)), beta=STEEP, sigma=NOISE, T=T)
    conversion = o2nc.PredictionConversion(oracle, constants)
    found = o2nc.minimize(gradient, np.tile(START, (RUNS, 1)), conversion, record=True)
    state = found.state
    U = np.stack([act(oracle.play(state.oracle, state.m), np.tile(e, (RUNS, 1)))[0] for e in np.eye(2)], axis=-1)
    return Run(found.trajectory[:, 0], height(found.trajectory).mean(1), U, found.certificate)


def draw(runs, out):
    """The landscape with the points and the last operators, and the gaps."""
    figure, (land, gaps) = canvas(("points of one run", "gap, mean of 64 runs"))
    X = np.stack(np.meshgrid(np.linspace(-2.2, 5.2, 200), np.linspace(-1.6, 3.6, 200)), axis=-1)
    land.contourf(X[..., 0], X[..., 1], height(X), levels=16, cmap="Blues", alpha=0.4)
    angles = np.linspace(0, 2 * math.pi, 100)
    ring = np.stack([np.cos(angles), np.sin(angles)])
    for (name, found), colour in zip(runs.items(), ("#555555", ORANGE), strict=True):
        land.plot(*found.points.T, color=colour, linewidth=0.9, label=name)
        gaps.plot(np.arange(1, T + 1), found.gaps, color=colour, linewidth=1.4, label=name)
        land.plot(*(0.5 * found.U @ ring + np.asarray([[-1.2], [2.6]])), color=colour, linewidth=1.4)
    land.text(-1.2, 1.75, "$U_T$ of the circle", fontsize=7, ha="center")
    land.plot(*START, "o", color=BLUE, markersize=4)
    land.plot(0, 0, "+", color="black", markersize=6)
    land.set_aspect("equal")
    land.set_xlabel("")
    gaps.set_yscale("log")
    gaps.set_xlabel("round")
    gaps.legend(frameon=False, fontsize=8)
    figure.savefig(out, dpi=150)


def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(given)
    runs = {"identity": run(Constant()), "learned": run(FullLeastSquares())}
    draw(runs, options.out)
    for name, found in runs.items():
        print(f"{name}: last gap {found.gaps[-1]:.4f}; average squared gradient at most {found.certificate.bound:.3f}")


if __name__ == "__main__":
    main()
