"""What the command `o2nc` does in every installation: certify, list, and its version."""

import argparse
import inspect
import sys
from collections.abc import Callable
from typing import Any

from .. import __version__, certificates
from .. import rivals as rivals  # whose conversions are in the registry then
from ..checks import check_size
from ..constants import Nonsmooth, Smooth
from ..conversions import SmoothConversion
from ..conversions.base import registry as conversions
from ..directions import registry as directions
from ..oracles import Constant
from ..registry import Registry
from .compare.oracles import learners, operator_sets, words
from .objectives import registry as objectives
from .paper.methods import METHODS

KINDS = Registry("kind")  # each makes its things: words by name
KINDS.add("objectives", lambda: described(objectives), "what is minimised")
KINDS.add("methods", lambda: {name: words(name) for name in METHODS}, "oracles with set, loss and constants")
KINDS.add("oracles", lambda: {name: words(name) for name in learners()}, "online learners over a set of operators")
KINDS.add("sets", lambda: described(operator_sets()), "operators to learn over")
KINDS.add("directions", lambda: described(directions), "experts for networks")
KINDS.add("conversions", lambda: described(conversions), "algorithms that use an oracle, and rivals")


def described(registry: Registry) -> dict[str, str]:
    """The things of a registry in words, by name in order.

    >>> described(directions)["sign"]
    'its sign, entry by entry'
    """
    return {name: entry.words for name, entry in sorted(registry.items())}


def listed(kind: str | None = None) -> list[str]:
    """The names of all things, or of those of one kind, each with what it is.

    >>> listed("directions")[0].split()[0]
    'adam'
    """
    found = {each.name: each.make() for each in (KINDS.values() if kind is None else [KINDS[kind]])}
    width = max(len(name) for things in found.values() for name in things)
    lines = []
    for each, things in found.items():
        lines += [f"{each}: {KINDS[each].words}"] if kind is None else []
        lines += [f"  {name:{width}}  {what}" for name, what in things.items()]
    return lines


def certified(
    sigma: float,
    T: int,
    regret: float,
    gap: float | None = None,
    M: float | None = None,
    beta: float | None = None,
    nonsmooth: bool = False,
    L: float | None = None,
    lam: float | None = None,
) -> list[certificates.Certificate]:
    """The theorems with these constants, term by term; an argument is named as its option is.

    >>> certified(sigma=0.5, T=100, regret=1.0, gap=1.0, beta=1.0)[0].name
    'Sharp theorem: average squared gradient'
    """
    given = {"sigma": sigma, "T": T, "regret": regret, "gap": gap, "M": M, "beta": beta, "L": L, "lam": lam}
    for name, number in given.items():
        if number is not None:
            check_size(f"--{name}", number)
    if nonsmooth:
        if L is None or lam is None or M is None:
            raise ValueError("`--nonsmooth` needs `--M`, `--L` and `--lam`.")
        if beta is not None or gap is not None:
            raise ValueError("`--beta` and `--gap` must not be given with `--nonsmooth`: Theorem 2 has neither.")
        constants = Nonsmooth(L=L, M=M, sigma=sigma, lam=lam, T=T)
        return [certificates.theorem2(constants, regret), certificates.theorem2_tuned(constants, regret)]
    if beta is None:
        raise ValueError("Algorithm 1 needs `--beta`; use `--nonsmooth --M --L --lam` for Theorem 2.")
    if L is not None or lam is not None:
        raise ValueError("`--L` and `--lam` must not be given without `--nonsmooth`: Theorem 1 has neither.")
    c = Smooth(gap=gap, M=M, beta=beta, sigma=sigma, T=T)
    found = [SmoothConversion(Constant(), c).sharp(regret)]  # on losses that are scaled as those of the conversion are
    if M is not None:
        paper = Smooth.paper(M, beta, sigma, T)
        found += [certificates.theorem1(paper, regret), certificates.theorem1_sharp(paper, regret)]
    return found


def add_options(parser: argparse.ArgumentParser, function: Callable[..., Any]) -> None:
    """An option for each argument of a function, required if it has no default.

    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser, certified)
    >>> parser.parse_args(["--sigma", "1", "--T", "9", "--regret", "0"]).T
    9
    """
    for name, argument in inspect.signature(function).parameters.items():
        if argument.annotation is bool:
            parser.add_argument(f"--{name}", action="store_true")
        else:
            is_required = argument.default is inspect.Parameter.empty
            kind = int if argument.annotation is int else float
            parser.add_argument(f"--{name}", type=kind, required=is_required)


def main(arguments: list[str], missing: str) -> int:
    """The command where the package ``missing`` of the extra is not installed; returns the exit code.

    >>> main(["--version"], missing="typer") == 0
    o2nc ...
    True
    >>> main(["reproduce"], missing="typer")
    3
    """
    parser = argparse.ArgumentParser(
        "o2nc", description=f"Without the extra, o2nc knows certify and list: {needed(missing)}"
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command")
    add_options(commands.add_parser("certify", help="print a theorem, term by term"), certified)
    names = commands.add_parser("list", help="name the oracles, sets, directions, conversions, objectives and methods")
    names.add_argument("kind", nargs="?")
    first = next((each for each in arguments if not each.startswith("-")), None)
    if first not in (None, "certify", "list"):
        print(f"o2nc: {needed(missing)}", file=sys.stderr)
        return 3  # as `Code.FAILED`
    given = vars(parser.parse_args(arguments))
    is_version, command = given.pop("version"), given.pop("command")
    if is_version:
        print(f"o2nc {__version__}")
    elif command is None:
        parser.print_help()
    else:
        try:
            print(*(certified(**given) if command == "certify" else listed(given["kind"])), sep="\n")
        except ValueError as error:
            print(f"o2nc: {error}", file=sys.stderr)
            return 2  # as `Code.USAGE`
    return 0


def needed(missing: str) -> str:
    """What to install for all commands.

    >>> needed("rich")
    "this needs the package 'rich': pip install 'o2nc[lab]'."
    """
    return f"this needs the package {missing!r}: pip install 'o2nc[lab]'."
