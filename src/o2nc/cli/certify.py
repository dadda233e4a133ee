"""``o2nc certify``: a theorem, term by term."""

from typing import Annotated

import typer

from .. import certificates
from ..checks import check_size
from ..constants import Nonsmooth, Smooth
from ..conversions import SmoothConversion
from ..oracles import Constant
from .console import command


@command("certify")
def certify(
    sigma: Annotated[float, typer.Option("--sigma", help="Root of the variance of a sample.")],
    T: Annotated[int, typer.Option("--T", help="Rounds.")],
    regret: Annotated[
        float,
        typer.Option(
            "--regret",
            help="Expected regret against the identity, on losses divided by sqrt(M beta), by 1 without --M.",
        ),
    ],
    gap: Annotated[float | None, typer.Option("--gap", help="First gap f(x_1) - inf f, or a bound on it.")] = None,
    M: Annotated[float | None, typer.Option("--M", help="Range of the objective; a bound on the gap too.")] = None,
    beta: Annotated[float | None, typer.Option("--beta", help="Smoothness, for Algorithm 1.")] = None,
    nonsmooth: Annotated[bool, typer.Option("--nonsmooth", help="Theorem 2, of Algorithm 2.")] = False,
    L: Annotated[float | None, typer.Option("--L", help="Bound on the gradient, for Theorem 2.")] = None,
    lam: Annotated[float | None, typer.Option("--lam", help="The paper's lambda, for Theorem 2.")] = None,
) -> None:
    """Print the sharp theorem term by term, with --M also Theorem 1; Theorem 2 with --nonsmooth."""
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
        found = [certificates.theorem2(constants, regret), certificates.theorem2_tuned(constants, regret)]
    else:
        if beta is None:
            raise ValueError("Algorithm 1 needs `--beta`; use `--nonsmooth --M --L --lam` for Theorem 2.")
        if L is not None or lam is not None:
            raise ValueError("`--L` and `--lam` must not be given without `--nonsmooth`: Theorem 1 has neither.")
        found = [sharp(Smooth(gap=gap, M=M, beta=beta, sigma=sigma, T=T), regret)]
        if M is not None:
            paper = Smooth.paper(M, beta, sigma, T)
            found += [certificates.theorem1(paper, regret), certificates.theorem1_sharp(paper, regret)]
    for certificate in found:
        typer.echo(str(certificate))


def sharp(c: Smooth, regret: float) -> certificates.Certificate:
    """The sharp theorem with a regret on losses that are scaled as those of the conversion are."""
    return SmoothConversion(Constant(), c).sharp(regret)
