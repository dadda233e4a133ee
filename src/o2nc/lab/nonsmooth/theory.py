"""Theorem 2, its lemmas and the tight certificates beside what runs of Algorithm 2 measured."""

from typing import Any

import numpy as np

from ... import certificates
from ...certificates.replications import beside
from ...constants import Nonsmooth
from ...stationarity import Witness, best_mixture, lower_bound
from ..objectives.nonsmooth import NonsmoothObjective
from ..runner.noise import uniforms
from ..runner.records import Floats, Record
from ..runner.statistics import CONFIDENCE, mean
from .methods import paper_output

DRAWS = 4000  # of tau, for its law
BINS = 20
POINTS = 8  # outputs whose measure is bounded from both sides
GRID = 41  # atoms in each direction


def certify(c: Nonsmooth, record: Record) -> dict[str, Any]:
    """The certificates of a run of Algorithm 2: Theorem 2 in both forms, tight, and with samples that were held out.

    Reference: Theorem 2.
    """
    sums = record.sums
    regret, measured = float(sums["regret"].mean()), sums["measure"]
    details: Any = beside(measured, CONFIDENCE) | {"replications": record.R}
    compared: dict[str, Any] = {"measured": measured, "confidence": CONFIDENCE}
    found = {"theorem2": certificates.theorem2(c, regret, **details)}
    if c.is_tuned:
        found["theorem2_tuned"] = certificates.theorem2_tuned(c, regret, **details)
    found["tight"] = certificates.tight_nonsmooth(c, sums["tracker"], sums["spread"], sums["energy"], **compared)
    found["held_out"] = certificates.held_out_nonsmooth(c, list(sums["held_out"].T), sums["spread"], **compared)
    return {kind: certificate.to_dict() for kind, certificate in found.items()}


def ladder(c: Nonsmooth, record: Record) -> dict[str, float]:
    r"""From Theorem 2 to the measured value, one measured quantity at a time, each rung below keeping those above.

    Reference: Theorem 2; the page on nonsmooth problems.
    """
    E = {name: float(np.mean(values)) for name, values in record.sums.items() if name != "point"}
    terms = dict(certificates.theorem2(c, E["regret"]).terms)
    rungs = {"Theorem 2": sum(terms.values())}

    def rung(name: str, **measured: float) -> None:
        terms.update(measured)
        rungs[name] = sum(terms.values())

    rung("decrease of f for M", range=2 * E["decrease"] / (c.eta * c.T))
    rung("squared samples for L^2 + sigma^2", potential=c.a * E["samples"] / (c.rho * c.T))
    rung("spread for its bound", localization=c.lam * E["spread"])
    (W,) = certificates.output_mass(c)
    last = E["tracker"] - E["m_norms"] / c.T  # |m_{T+1}| / (a T), to which the noise of m_{T+1} is added
    rung("last tracker for L", output=last, noise=W * certificates.tracker_noise_root(c.a, c.sigma))
    rung("trackers for decrease, regret and rho", range=E["m_norms"] / c.T, regret=0.0, smoothing=0.0, potential=0.0)
    rung("variance for sigma^2", noise=(W * E["energy"]) ** 0.5)
    held = certificates.held_out_nonsmooth(c, list(record.sums["held_out"].T), record.sums["spread"])
    rungs["two samples held out"] = held.bound
    rungs["measured"] = E["measure"]
    return rungs


def lemmas(c: Nonsmooth, record: Record) -> dict[str, dict[str, Any]]:
    """The lemmas of the appendix on a run: the measured left side, its interval, and the right side.

    Reference: Lemmas 9 to 15.
    """
    sums = record.sums
    regret, m_norms = sums["regret"], sums["m_norms"] / c.T
    R, average = float(regret.mean()), float(m_norms.mean())
    sides: dict[str, tuple[Floats, float]] = {
        "9, identity": (sums["played"] + sums["decrease"] / c.eta, 0.0),
        "9": (-sums["played"], -certificates.segment_identity(c.M, c.eta)),
        "10": (regret - sums["played"], certificates.identity_correlation(c.M, c.eta, R)),
        "11": (m_norms, certificates.tracker_norm(c.M, c.eta, R, c.rho, c.a, c.L, c.sigma, c.T)),
        "12": (sums["squared_distance"], certificates.tracker_noise(c.a, c.sigma)),
        "12, root": (sums["distance"], certificates.tracker_noise_root(c.a, c.sigma)),
        "13": (sums["gradient"], certificates.output_gradient(average, c.a, c.sigma, c.L, c.T)),
        "14": (sums["spread"], certificates.localization(c.a, c.eta)),
        "15": (sums["measure"], certificates.witness(average, c.a, c.sigma, c.L, c.T, c.lam, c.eta)),
    }
    return {
        name: {
            "measured": mean(left).value,
            "interval": list(certificates.mean_interval(left, CONFIDENCE)),
            "bound": right,
            "identity": name.endswith("identity"),
        }
        for name, (left, right) in sides.items()
    }


def law_of_tau(c: Nonsmooth, seed: int, objective: str) -> dict[str, float]:
    r"""A chi-square test of the rounds that the first 4000 replications draw, in bins of about equal probability.

    Reference: Algorithm 2, line 12.
    """
    from scipy import stats

    output = paper_output(c)
    u = uniforms(seed, objective, "tau", range(DRAWS), 0, 1, 1)[0, :, 0]
    bins = np.minimum((BINS * (np.cumsum(output.law) - output.law / 2)).astype(int), BINS - 1)
    expected = np.bincount(bins, output.law, BINS) * DRAWS
    observed = np.bincount(bins[output.tau(u) - 1], minlength=BINS)
    used = expected > 0
    test = stats.chisquare(observed[used], expected[used])
    return {"statistic": float(test.statistic), "bins": int(used.sum()), "p": float(test.pvalue), "draws": DRAWS}


def sandwich(f: NonsmoothObjective, y: Floats, lam: float) -> tuple[float, float]:
    """A lower and an upper bound on the measure at ``y`` in the plane, from atoms on a grid and their dual variables.

    Reference: Definition 2.

    >>> from o2nc.lab.objectives import objective
    >>> low, high = sandwich(objective("bowl", "nonsmooth"), np.asarray([0.6, 0.7]), lam=10.0)
    >>> 0.8 < low < high < 0.89
    True
    """
    radius = float(np.sqrt(2 * f.L / lam))
    line = np.linspace(-radius, radius, GRID)
    points = y + np.stack([axis.ravel() for axis in np.meshgrid(line, line)], axis=1)  # the middle one is y itself
    weights = 1.0 * (np.arange(len(points)) == len(points) // 2)
    atoms = Witness(points, f.value_and_gradient(points)[1], np.zeros((len(points), 1)))
    best = best_mixture(atoms, y, lam, weights)
    return lower_bound(y, best.u, best.v, f.enclosure, f.L, lam), best.value


def sandwiches(f: NonsmoothObjective, record: Record, lam: float) -> dict[str, list[float]]:
    """The two bounds at some outputs of a run, beside those of the run's own witness.

    Reference: Definition 2.
    """
    both = [sandwich(f, y, lam) for y in record.sums["point"][:POINTS]]
    return {
        "lower": [low for low, _ in both],
        "grid": [high for _, high in both],
        "sharper": record.sums["sharper"][:POINTS].tolist(),
        "witness": record.sums["measure_tau"][:POINTS].tolist(),
    }
