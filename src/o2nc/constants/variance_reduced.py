"""The constants of variance reduction, derived from what is known of the problem."""

from dataclasses import dataclass
from functools import cached_property

from ..checks import check_horizon, check_number
from .rates import check_rate, storm_batch, storm_rate, storm_step


@dataclass(frozen=True)
class VarianceReduced:
    r"""The constants of `StormConversion` for samples that are smooth in mean square.

    $$\mathbb E\|\nabla F(x,\xi)-\nabla F(y,\xi)\|^2\le\beta^2\|x-y\|^2,\qquad
      \mathbb E\|\nabla F(x,\xi)-\nabla f(x)\|^2\le\sigma^2,\qquad f=\mathbb E F(\cdot,\xi).$$

    $$a=\min\Bigl\{1,\Bigl(\frac{\beta D}{\sigma^2T}\Bigr)^{2/3}\Bigr\},\quad\eta=\frac{\sqrt a}{c\beta},\quad
      b=\Bigl\lceil\frac1{2a^2T}\Bigr\rceil,$$

    with the c of `o2nc.certificates.storm_step`, at most 1.1. A run takes $2T+b-1$ gradients: the last sample is
    not taken again. `o2nc.minimize` takes the first one once more, to see that it is the same.

    Args:
        gap: D, the first value of f less its infimum, or a bound on it.
        beta: the constant of mean-square smoothness. It is one of the samples; that of f may be smaller.
        sigma: root of the variance of a sample.
        T: horizon, the number of rounds.
        batch: b, the samples of the first tracker; that above if not given, and 1 with decreasing weights.
        a: tracking rate in (0, 1]; that above if not given.
        decreasing: whether the tracker has the weights $\max\{a,\frac1t\}$, which need no first batch.

    Reference: variance reduction, step 5, in the theory pages.

    >>> c = VarianceReduced(gap=0.5, beta=2.0, sigma=1.0, T=1000)
    >>> print(f"{c.a:.4f} {c.eta:.5f} {c.batch}")
    0.0100 0.04790 5
    >>> VarianceReduced(gap=0.5, beta=2.0, sigma=1.0, T=1000, decreasing=True).batch
    1
    """

    gap: float
    beta: float
    sigma: float
    T: int
    batch: int = None  # type: ignore[assignment]  # filled below
    a: float = None  # type: ignore[assignment]
    decreasing: bool = False

    def __post_init__(self) -> None:
        check_number("gap", self.gap, positive=True)
        check_number("beta", self.beta, positive=True)
        check_number("sigma", self.sigma)
        check_horizon(self.T)
        if not isinstance(self.decreasing, bool):
            raise TypeError(f"`decreasing` must be True or False; got {self.decreasing!r}.")
        if self.a is None:
            object.__setattr__(self, "a", storm_rate(self.gap, self.beta, self.sigma, self.T))
        check_rate(self.a)
        if self.batch is None:
            batch = 1 if self.decreasing else storm_batch(self.a, self.T)
            if batch > self.T:
                raise ValueError(
                    f"`batch` must be given, or decreasing=True: T = {self.T} is too short, b would be {batch}."
                )
            object.__setattr__(self, "batch", batch)
        check_horizon(self.batch, "batch")

    @cached_property
    def eta(self) -> float:
        """The step size, sqrt(a) / (c beta)."""
        return storm_step(self.beta, self.a)[1]

    @property
    def practical(self) -> str:
        """Empty: these constants are given, never estimated."""
        return ""

    def energy(self) -> float:
        """inf: the tracker is not projected, so nothing bounds the energy of the losses before the run."""
        return float("inf")
