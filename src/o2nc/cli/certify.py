"""``o2nc certify``: a theorem, term by term."""

import math
from typing import Annotated

import typer

from .. import certificates
from ..constants import Nonsmooth, Smooth
from .console import command


@command("certify")
def certify(
    M: Annotated[float, typer.Option("--M", help="Range of the objective.")],
    sigma: Annotated[float, typer.Option("--sigma", help="Root of the variance of a sample.")],
    T: Annotated[int, typer.Option("--T", help="Rounds.")],
    regret: Annotated[float, typer.Option("--regret", help="Expected static regret against the identity.")],
    beta: Annotated[float | None, typer.Option("--beta", help="Smoothness, for Theorem 1.")] = None,
    nonsmooth: Annotated[bool, typer.Option("--nonsmooth", help="Theorem 2 instead of Theorem 1.")] = False,
    L: Annotated[float | None, typer.Option("--L", help="Bound on the gradient, for Theorem 2.")] = None,
    lam: Annotated[float | None, typer.Option("--lam", help="The paper's lambda, for Theorem 2.")] = None,
) -> None:
    """Print Theorem 1 term by term, or Theorem 2 with --nonsmooth."""
    if not all(map(math.isfinite, (M, sigma, regret))):
        raise ValueError("`M`, `sigma` and `regret` must be finite.")
    if nonsmooth:
        if L is None or lam is None:
            raise ValueError("`--nonsmooth` needs `--L` and `--lam`.")
        if beta is not None:
            raise ValueError(f"`--beta` must not be given with `--nonsmooth`: Theorem 2 has none; got {beta:g}.")
        constants = Nonsmooth(L=L, M=M, sigma=sigma, lam=lam, T=T)
        found = [certificates.theorem2(constants, regret), certificates.theorem2_tuned(constants, regret)]
    else:
        if beta is None:
            raise ValueError("Theorem 1 needs `--beta`; use `--nonsmooth --L --lam` for Theorem 2.")
        if L is not None or lam is not None:
            raise ValueError("`--L` and `--lam` must not be given without `--nonsmooth`: Theorem 1 has neither.")
        smooth = Smooth(M=M, beta=beta, sigma=sigma, T=T)
        found = [certificates.theorem1(smooth, regret), certificates.theorem1_sharp(smooth, regret)]
    for certificate in found:
        typer.echo(str(certificate))
