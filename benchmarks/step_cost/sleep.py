"""The default once one expert has the weight, against `Hedged` with that expert only."""

from collections.abc import Sequence

from o2nc.torch import Hedged

from .methods import PERIOD
from .shapes import Shape
from .timing import Costs, interleaved, parameters, summary, warm

EXPERTS = ("muon", "soap")
STEPS = 30  # with three in which the other expert wakes
LARGE = 1e150  # what the other has lost: the memory of it fades, and after these steps is still far above all losses
SURE = 0.999


def settle(opt: Hedged, winner: str) -> None:
    """Write into the learner that all others have lost much; R keeps its size beside it, so the weights stay."""
    (_, learner), *_ = opt.table.learners
    learner.state.C[...] = [0.0 if name == winner else LARGE for name in opt.param_groups[0]["experts"]]
    learner.state.R[...] = LARGE / 100


def weight(opt: Hedged, expert: str) -> float:
    """The least weight of an expert over the groups."""
    found: float = min(group["weights"][expert] for group in opt.report()["groups"])
    return found


def sleeping(shapes: Sequence[Shape], steps: int = STEPS) -> Costs:
    """The mean cost of a step, for every winner and for it alone; raise if the weight has not stayed where it was."""
    settled: dict[str, tuple[Hedged, str]] = {}
    alone: dict[str, Hedged] = {}
    for winner in EXPERTS:
        opt = Hedged(parameters(shapes), experts=EXPERTS)
        opt.step()
        settle(opt, winner)
        settled[default(winner)] = opt, winner
        alone[only(winner)] = Hedged(parameters(shapes), experts=(winner,))
        alone[only(winner)].step()
    opts = {**{name: opt for name, (opt, _) in settled.items()}, **alone}
    each = {name: opt.step for name, opt in opts.items()}
    warm(each)
    found = interleaved(each, dict.fromkeys(opts, steps))
    for name, (opt, winner) in settled.items():
        if not (w := weight(opt, winner)) > SURE:
            raise RuntimeError(f"The weight of {winner!r} in {name!r} must stay above {SURE}; it is {w:.3g}.")
    return {name: summary(costs, PERIOD) for name, costs in found.items()}


def default(winner: str) -> str:
    return f"Hedged {'+'.join(EXPERTS)}, {winner} has the weight"


def only(winner: str) -> str:
    return f"Hedged {winner}"
