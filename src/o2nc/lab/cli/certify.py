"""``o2nc certify``: a theorem, term by term."""

from typing import Annotated

import typer

from ..basics import certified
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
    for certificate in certified(sigma, T, regret, gap, M, beta, nonsmooth, L, lam):
        typer.echo(str(certificate))
