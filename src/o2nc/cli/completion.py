"""What a shell completes: the names that options take."""

from collections.abc import Callable, Iterable

from ..experiments.compare.oracles import learners
from ..experiments.objectives import of_kind
from ..experiments.objectives.registry import STOCHASTIC
from ..experiments.paper.methods import METHODS


def beginning(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """The completion that finds which of the names begin with what was typed.

    >>> beginning(lambda: ["hedge", "ogd"])("he")
    ['hedge']
    """

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


objectives = beginning(lambda: of_kind(*STOCHASTIC))
oracles = beginning(lambda: [*METHODS, *learners()])
