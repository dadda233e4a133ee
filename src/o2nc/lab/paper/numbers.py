"""All numbers of a reproduction as plain data: what `tables.json` holds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ... import certificates
from ..._xp import Array
from ...certificates import Certificate
from ...certificates.replications import beside
from ...constants import PaperSmooth, Smooth
from ...conversions import SmoothConversion
from ..objectives import objective
from ..runner.paired import HORIZON, Method
from ..runner.records import Record, Records
from ..runner.statistics import CONFIDENCE, mean, paired_interval
from . import published
from .agreement import Entry, agreement, constants
from .methods import METHODS, PRIOR, SGD_GRID, SHARP

TIGHT = 1.2  # how many times the measured average the tight certificate may be
LEARNERS = {"hedge": "", "learned": "_learned"}  # and the ends of the keys under which their tables are


def numbers(records: Records, iterations: int, further: Mapping[int, Sequence[Entry]] | None = None) -> dict[str, Any]:
    r"""The numbers of all tables at iteration 3000, or at the last one of a shorter run.

    Args:
        records: by objective and method.
        iterations: the rounds of the run.
        further: the agreement of further seeds.

    Reference: Numerical Experiments, and the controls that it lacks.

    >>> from o2nc.lab.runner.paired import play
    >>> records = {"f4": play(objective("f4"), list(METHODS.values()), range(3), iterations=20)}
    >>> parts = numbers(records, 20)["decomposition"]["f4"]
    >>> abs(parts["tracker"] + parts["prior"] + parts["learning"] - parts["total"]) < 1e-15
    True
    """
    t, entries = min(published.ITERATIONS, iterations), agreement(records)
    grid = {name: sgd_averages(methods, t) for name, methods in records.items()}
    records = {name: _with_best(methods, grid[name]) for name, methods in records.items()}
    estimates = {
        name: {method: {k: mean(r.at(k, t)) for k in published.METRICS} for method, r in methods.items()}
        for name, methods in records.items()
    }
    found: dict[str, Any] = {
        "sgd_grid": grid,
        "constants": {name: constants(name) for name in published.RESULTS},
        "iteration": t,
    }
    for key, part in (("results", 0), ("errors", 1)):  # of an estimate: its value, its error
        found[key] = {
            name: {method: {k: e[part] for k, e in row.items()} for method, row in methods.items()}
            for name, methods in estimates.items()
        }
    found["paired"] = {
        name: {k: list(paired_interval(m["hedge"].at(k, t), m["sgd"].at(k, t))) for k in published.METRICS}
        for name, m in records.items()
    }
    found |= {"agreement": entries, "summary": summary(entries)}
    for learner, end in LEARNERS.items():
        for metric in published.METRICS:
            key = f"decomposition{end}" + ("" if metric == "gap" else f"_{metric}")
            found[key] = {name: decomposition(m, metric, t, learner) for name, m in records.items()}
        found[f"learner{end}"] = {name: learned(m[learner], m["frozen"], t) for name, m in records.items()}
    every = {
        name: {method: certify(METHODS[method], name, m[method], iterations) for method in METHODS if method in m}
        for name, m in records.items()
    }
    found["certificates"] = {name: kinds["hedge"] | _stated(kinds) for name, kinds in every.items()}
    return found | {"certificates_by_method": every, "further_seeds": further_seeds(further or {})}


def sgd_averages(methods: Mapping[str, Record], t: int) -> dict[str, float]:
    """The average squared gradient of SGD after ``t`` rounds by step size of its grid, where it was run.

    Reference: not in the paper; the controls of this library.
    """
    return {method: float(methods[method].at("average", t).mean()) for method in SGD_GRID if method in methods}


def _with_best(methods: Mapping[str, Record], averages: Mapping[str, float]) -> dict[str, Record]:
    """The records without those of SGD's grid, and the best of these by its average squared gradient as "sgd_best"."""
    kept = {method: record for method, record in methods.items() if method not in SGD_GRID}
    return kept | {"sgd_best": methods[min(averages, key=averages.__getitem__)]} if averages else kept


def _stated(kinds: Mapping[str, Any]) -> dict[str, Any]:
    """The a-priori certificates of the columns with sharp constants, and that of one run."""
    stated = {f"a_priori_{method}": found["a_priori"] for method, found in kinds.items() if "a_priori" in found}
    single = kinds.get("one_run", {}).get("one_run")
    return stated | ({} if single is None else {"one_run": single})


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


def learned(record: Record, frozen: Record, t: int) -> dict[str, float]:
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


def certify(method: Method, name: str, record: Record, rounds: int) -> dict[str, Any]:
    r"""The certificates of a method over its ``rounds``; theorems need the whole horizon of its constants.

    The recorded regret is that on the revealed loss, which the theorems take. The variance of the noise is estimated by
    its squares, whose interval enters that of the bound. For samples elsewhere than at the start they are those of the
    segment. SGD, which has no tracker, has that of the descent lemma.

    Reference: Theorem 1, and the sharp theorem in the theory pages.
    """
    f, R = objective(name), record.R
    measured = record.at("average", rounds)
    compared: dict[str, Any] = {"rounds": rounds, "measured": measured, "confidence": CONFIDENCE}
    V_T = record.sums["noise"]  # the squares of the noise that was drawn, one number for each replication
    noise = {"declared": f.sigma**2, "measured": float(V_T.mean()) / rounds}
    decrease = record.at("gap", 1) - record.sums["final_gap"]
    if method.oracle is None:
        sgd = certificates.tight_sgd(f.constants(HORIZON), decrease, V_T, **compared)
        return {"tight": sgd.to_dict(), "rounds": rounds, "noise_variance": noise}
    like = np.zeros(1)
    conversion = method.around(method.oracle(f, like), f, rounds)
    c, kappa, sums = conversion.constants, conversion.kappa, record.sums
    regret, squares = record.at("regret", rounds), (sums["Q"], sums["N"], sums["W"])
    first = float(record.mean["instant"][0])  # the first iterate is not random
    shared: dict[str, Any] = {"first": first, "V_T": V_T} | compared
    if method.r != 0:
        found = {"tight": certificates.tight_segment(c, *squares, r=method.r, **shared)}
    else:
        found = {
            "tight": certificates.tight(c, *squares, **shared),
            "tight_regret": certificates.tight_regret(
                c, regret, *squares[1:], decrease=decrease, kappa=kappa, **shared
            ),
        }
    if rounds == c.T:
        found |= _theorems(conversion, float(regret.mean()), f.start(like), beside(measured, CONFIDENCE), R)
    return {
        **{kind: certificate.to_dict() for kind, certificate in found.items()},
        **({} if c.noise is None else {"one_run": _one_run(conversion, record, rounds)}),
        "rounds": rounds,
        "noise_variance": noise,
        "clipped_rounds": float(sums["clipped"].mean()),
    }


def _one_run(conversion: SmoothConversion, record: Record, rounds: int) -> dict[str, Any]:
    """The certificate of the first run, and over all runs the mean and the largest ratio, and how many do not hold."""
    every = [
        conversion.one_run(Q=Q, N=N, W=W, T=rounds, measured=measured)
        for Q, N, W, measured in np.stack([record.sums[k] for k in "QNW"] + [record.at("average", rounds)]).T.tolist()
    ]
    ratios = [one.bound / measured for one in every if (measured := one.measured)]
    failed = sum(not one.holds for one in every)
    return every[0].to_dict() | {"mean_ratio": float(np.mean(ratios)), "largest_ratio": max(ratios), "failed": failed}


def _theorems(conversion: SmoothConversion, regret: float, x: Array, measured: Any, R: int) -> dict[str, Certificate]:
    """The theorem with the measured regret, Theorem 1 also before rounding; for sharp constants the a-priori one."""
    c, details = conversion.constants, measured | {"replications": R}
    theorem = conversion.proved(regret, c.T, **details)
    if isinstance(c, PaperSmooth) and theorem.name.startswith("Theorem 1:"):
        return {"theorem1": theorem, "theorem1_sharp": certificates.theorem1_sharp(c, regret, **details)}
    stated = conversion.a_priori(x) if isinstance(c, Smooth) else ""
    a_priori = {} if isinstance(stated, str) else {"a_priori": replace(stated, **measured)}
    return {"theorem": theorem, **a_priori}


def tight_ratios(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """By objective and method, the tight certificate over the measured average; of those with the paper's constants.

    Reference: Theorem 1, tight.
    """
    return {
        name: {
            m: kinds["tight"]["bound"] / kinds["tight"]["measured"] for m, kinds in methods.items() if m not in SHARP
        }
        for name, methods in found["certificates_by_method"].items()
    }


def further_seeds(further: Mapping[int, Sequence[Entry]]) -> dict[str, Any]:
    """In how many further seeds every cell agrees, and which cells did not.

    >>> further_seeds({1: [{"table": "results", "cell": "f1", "agrees": False}]})["agree"]
    0
    """
    every = {
        str(seed): [f"{e['table']}: {e['cell']}" for e in entries if e["agrees"] is not True]
        for seed, entries in further.items()
    }
    disagreeing = {seed: cells for seed, cells in every.items() if cells}
    return {"seeds": len(every), "agree": len(every) - len(disagreeing), "disagreeing": disagreeing}
