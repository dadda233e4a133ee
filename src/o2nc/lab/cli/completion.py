"""What a shell completes: the names that options take."""

from collections.abc import Callable, Iterable

from ..compare.oracles import learners
from ..objectives import of_kind
from ..objectives.registry import STOCHASTIC
from ..paper.methods import METHODS


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
