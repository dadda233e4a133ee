"""All numbers of a reproduction as plain data: what `tables.json` holds."""

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from .. import __version__, certificates
from . import paper
from .agreement import Entry, Records, agreement
from .methods import METHODS, PRIOR, hedge_rate
from .objectives import OBJECTIVES, objective
from .record import Record
from .settings import Settings
from .statistics import mean, paired_interval

TIGHT = 1.2  # how many times the measured average the tight certificate may be


def tables(records: Records, settings: Settings, further: Sequence[list[Entry]] = ()) -> dict[str, Any]:
    r"""The numbers of all tables at iteration 3000, or at the last one of a shorter run.

    Args:
        records: by objective and method.
        settings: of the run.
        further: the agreement of further seeds.

    Reference: Numerical Experiments, and the controls that it lacks.

    >>> from o2nc.experiments.methods import METHODS
    >>> from o2nc.experiments.protocol import Cell, run
    >>> records = {"f4": run(Cell("f4", tuple(METHODS), 0, 3, iterations=20))}
    >>> parts = tables(records, Settings(replications=3, iterations=20))["decomposition"]["f4"]
    >>> abs(parts["tracker"] + parts["prior"] + parts["learning"] - parts["total"]) < 1e-15
    True
    """
    t = min(paper.ITERATIONS, settings.iterations)
    entries = agreement(records)
    return {
        "settings": settings.to_dict(),
        "versions": versions(),
        "constants": constants(),
        "iteration": t,
        "results": {
            name: {method: _at(record, t) for method, record in methods.items()} for name, methods in records.items()
        },
        "errors": {
            name: {method: _at(record, t, stderr=True) for method, record in methods.items()}
            for name, methods in records.items()
        },
        "paired": {
            name: {k: list(paired_interval(m["hedge"].at(k, t), m["sgd"].at(k, t))) for k in paper.METRICS}
            for name, m in records.items()
        },
        "agreement": entries,
        "summary": summary(entries),
        "decomposition": {name: decomposition(m, "gap", t) for name, m in records.items()},
        "decomposition_average": {name: decomposition(m, "average", t) for name, m in records.items()},
        "decomposition_instant": {name: decomposition(m, "instant", t) for name, m in records.items()},
        "decomposition_learned": {name: decomposition(m, "gap", t, "learned") for name, m in records.items()},
        "decomposition_learned_average": {
            name: decomposition(m, "average", t, "learned") for name, m in records.items()
        },
        "decomposition_learned_instant": {
            name: decomposition(m, "instant", t, "learned") for name, m in records.items()
        },
        "learner": {name: learner(m["hedge"], m["frozen"], t) for name, m in records.items()},
        "learner_learned": {name: learner(m["learned"], m["frozen"], t) for name, m in records.items()},
        "certificates": {name: certify(name, m["hedge"], settings.iterations) for name, m in records.items()},
        "certificates_by_method": {
            name: {
                method: certify(name, record, settings.iterations, METHODS[method].kappa)
                for method, record in m.items()
            }
            for name, m in records.items()
        },
        "further_seeds": further_seeds(settings.seed, further),
    }


def _at(record: Record, t: int, *, stderr: bool = False) -> dict[str, float]:
    estimates = {metric: mean(record.at(metric, t)) for metric in paper.METRICS}
    return {metric: e.stderr if stderr else e.value for metric, e in estimates.items()}


def summary(entries: Sequence[Entry]) -> dict[str, int]:
    """How many cells agree, disagree, and were not reached.

    >>> summary([{"agrees": True}, {"agrees": None}])
    {'agree': 1, 'disagree': 0, 'not_reached': 1}
    """
    verdicts = [entry["agrees"] for entry in entries]
    return {"agree": verdicts.count(True), "disagree": verdicts.count(False), "not_reached": verdicts.count(None)}


def decomposition(methods: Any, metric: str, t: int, last: str = "hedge") -> dict[str, Any]:
    r"""The gain over SGD in three steps that add up, each with a paired 95% interval.

    $$\underbrace{SGD-I}_{tracker}+\underbrace{I-(I+P)/2}_{prior}+\underbrace{(I+P)/2-learner}_{learning}=SGD-learner.$$

    The learner is ``last``: the paper's Hedge or "learned". Positive is better. Percentages are of SGD's mean.

    Reference: not in the paper; the controls of this library.
    """
    at = {name: record.at(metric, t) for name, record in methods.items()}
    steps = {
        "tracker": ("sgd", "identity"),
        "prior": ("identity", "frozen"),
        "learning": ("frozen", last),
        "total": ("sgd", last),
    }
    gains = {step: mean(at[before] - at[after]) for step, (before, after) in steps.items()}
    return {
        **{step: gain.value for step, gain in gains.items()},
        "intervals": {step: list(paired_interval(at[a], at[b])) for step, (a, b) in steps.items()},
        "percent": {step: 100 * gain.value / float(at["sgd"].mean()) for step, gain in gains.items()},
    }


def learner(record: Record, frozen: Record, t: int) -> dict[str, float]:
    """What a learner did: the weight of P, how far it was from the prior, the regret, and its twin without learning.

    Reference: not in the paper; the controls of this library.
    """
    gap, twin = record.at("gap", t), frozen.at("gap", t)
    return {
        "weight": float(record.at("weight", t).mean()),
        "largest_move": float(np.abs(record.values["weight"] - PRIOR).max()),  # at all checkpoints of the run
        "weight_at_the_end": float(record.mean["weight"][-1]),
        "regret_at_the_end": float(record.mean["regret"][-1]),
        "regret": float(record.at("regret", t).mean()),
        "regret_stderr": mean(record.at("regret", t)).stderr,
        "gap_relative_to_frozen": float(gap.mean() / twin.mean() - 1),
    }


def certify(name: str, record: Record, rounds: int, kappa: float = 0.0, r: float | None = 0.0) -> dict[str, Any]:
    r"""The certificates of a method over its ``rounds``; those of Theorem 1 need the whole horizon.

    The recorded regret is that on the revealed loss, which Theorem 1 takes; its printed constants are for
    $\kappa\le1$. The tight certificate with the regret takes the linear one, which is less by
    $\frac{\kappa\beta\eta}{2G}(W-N)$. For samples elsewhere than at the start, ``r`` not 0, they are those of the
    segment. SGD, which has no tracker, has that of the descent lemma.

    Reference: Theorem 1.
    """
    f, R = objective(name), record.R
    c = f.constants(paper.T_RUN)
    measured = float(record.mean["average"][-1])
    V_T = float(record.sums["noise"].mean())  # the variance of the noise that was drawn, at most the declared one
    noise = {"declared": f.sigma**2, "measured": V_T / rounds}
    decrease = record.at("gap", 1) - record.sums["final_gap"]
    if "regret" not in record.mean:
        sgd = certificates.tight_sgd(c, decrease, V_T, rounds=rounds, measured=measured)
        return {"tight": sgd.to_dict(), "rounds": rounds, "noise_variance": noise}
    regret = record.at("regret", rounds)
    first = float(record.mean["instant"][0])  # the first iterate is not random
    sums = record.sums
    linear = regret - kappa * c.beta * c.eta / (2 * c.G) * (sums["W"] - sums["N"])
    shared: dict[str, Any] = {"first": first, "V_T": V_T, "rounds": rounds, "measured": measured}
    details: dict[str, Any] = {"measured": measured, "replications": R}
    if r != 0:
        found = {"tight": certificates.tight_segment(c, sums["Q"], sums["N"], sums["W"], r=r, **shared)}
        if rounds == paper.T_RUN:
            found["theorem1_segment"] = certificates.theorem1_segment(
                c, float(regret.mean()), r=r, kappa=kappa, **details
            )
    else:
        found = {
            "tight": certificates.tight(c, sums["Q"], sums["N"], sums["W"], **shared),
            "tight_regret": certificates.tight_regret(c, linear, sums["N"], sums["W"], decrease=decrease, **shared),
        }
    if r == 0 and rounds == paper.T_RUN:
        if kappa <= 1:
            found["theorem1"] = certificates.theorem1(c, float(regret.mean()), **details)
        found["theorem1_sharp"] = certificates.theorem1_sharp(c, float(regret.mean()), kappa=kappa, **details)
    return {
        **{kind: certificate.to_dict() for kind, certificate in found.items()},
        "rounds": rounds,
        "noise_variance": noise,
        "clipped_rounds": float(sums["clipped"].mean()),
    }


def tight_ratios(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """By objective and method, the tight certificate over the measured average.

    Reference: Theorem 1, tight.
    """
    return {
        name: {method: kinds["tight"]["bound"] / kinds["tight"]["measured"] for method, kinds in methods.items()}
        for name, methods in found["certificates_by_method"].items()
    }


def constants() -> dict[str, dict[str, float]]:
    """The constants of the run by objective.

    >>> round(constants()["f3"]["a"], 6)
    0.861684
    """
    found = {}
    for name, f in OBJECTIVES.items():
        c = f.constants(paper.T_RUN)
        found[name] = {
            "d": f.d, "M": f.M, "beta": f.beta, "sigma": f.sigma, "S": f.S, "T": paper.T_RUN,
            "G": c.G, "G0": c.G0, "a": c.a, "eta": c.eta, "gamma": hedge_rate(f),
        }  # fmt: skip
    return found


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries that enter the numbers.

    >>> versions()["o2nc"] == __version__
    True
    """
    found = {"o2nc": __version__, "python": platform.python_version()}
    for package in ("numpy", "torch", "jax", "array-api-compat"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def further_seeds(seed: int, further: Sequence[list[Entry]]) -> dict[str, Any]:
    """In how many further seeds every cell agrees, and which cells did not.

    >>> further_seeds(0, [[{"table": "results", "cell": "f1", "agrees": False}]])["agree"]
    0
    """
    disagreeing = {
        str(seed + 1 + i): [f"{e['table']}: {e['cell']}" for e in entries if e["agrees"] is not True]
        for i, entries in enumerate(further)
    }
    return {
        "seeds": len(further),
        "agree": sum(not cells for cells in disagreeing.values()),
        "disagreeing": {key: cells for key, cells in disagreeing.items() if cells},
    }
