"""Certificates for Algorithm 2 that are tight: what a run can observe in place of worst cases."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ..constants import Nonsmooth
from .arguments import replicated, same_length
from .certificate import Certificate
from .lemmas.nonsmooth import tracker_noise
from .replications import estimated


def output_mass(constants: Nonsmooth, blocks: int = 1) -> list[float]:
    r"""The sums over ``blocks`` blocks of rounds of the weights $w_t=\Pr(\tau=t)/c_t$: $1/T$, and $1/(aT)$ for t = T.

    Round t is in the block $\lfloor(t-1)\cdot\text{blocks}/T\rfloor$.

    Reference: Algorithm 2, line 12.

    >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.5, lam=1.0, T=4, a=0.5, eta=0.1, rho=0.5)
    >>> output_mass(c), output_mass(c, blocks=2)
    ([1.25], [0.5, 0.75])
    """
    T = constants.T
    if not 1 <= blocks <= T:
        raise ValueError(f"`blocks` must be at least 1 and at most T = {T}; got {blocks}.")
    firsts = [-(-block * T // blocks) for block in range(blocks + 1)]  # of each block, counted from 0
    sizes = [(after - first) / T for first, after in pairwise(firsts)]
    return [*sizes[:-1], sizes[-1] + (1 / constants.a - 1) / T]


def tight_nonsmooth(
    constants: Nonsmooth,
    tracker: Iterable[float],
    spread: Iterable[float],
    energy: Iterable[float] | None = None,
    confidence: float = 0.95,
    *,
    measured: float | Iterable[float] | None = None,
) -> Certificate:
    r"""The bound on the local stationarity of the output from what a run can observe: no range, no regret, no L.

    $$\mathbb E\|\nabla f(\bar y_\tau)\|^{[\lambda]}\le\sum_tw_t\,\mathbb E\|m_{t+1}\|+\sqrt{W\sum_tw_t\hat e_{t+1}}
      +\lambda\,\mathbb E[v_\tau],\qquad w_t=\frac{\Pr(\tau=t)}{c_t},\quad W=\sum_tw_t,$$

    $\hat e_{t+1}=b^2\hat e_t+a^2\,\mathbb E\|\xi_t\|^2$ and $v_t$ the spread of the points that $\bar y_t$ averages.
    The proof is in the page on nonsmooth problems, steps 1 to 5. The tracker and the points are observed; the variance
    of the samples is declared, or estimated inside a minibatch. The interval is that of `tight`.

    Args:
        constants: those of the run.
        tracker: for every replication the sum of w_t ||m_{t+1}||.
        spread: for every replication the sum of Pr(tau = t) v_t, or v_tau.
        energy: for every replication the sum of w_t e_{t+1} with measured squares of the noise; the bound
            W a sigma^2 / (2 - a) unless given.
        confidence: of the interval.
        measured: the measure of the run's witness, where it is known, or one for each replication.

    Reference: Theorem 2 and Lemma 15 (from the weighted output to local stationarity).

    >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.5, lam=2.0, T=1000, a=0.25, eta=0.125, rho=0.5)
    >>> print(tight_nonsmooth(c, tracker=[0.3, 0.34], spread=[0.01, 0.02]))
    Theorem 2, tight: local stationarity of the output (a-posteriori)
      tracker          0.32
      spread           0.03
      noise            0.189549
      bound            0.539549
      bound, interval  [-0.224002, 1.3031]
      replications     2
      the interval is Student's, of independent replications: exact for normal sums, too short if large noise is rare
    """
    (W,) = output_mass(constants)
    tracker = replicated("tracker", tracker)
    energy = [W * tracker_noise(constants.a, constants.sigma)] * len(tracker) if energy is None else energy
    tracker, spread, energy = same_length(tracker=tracker, spread=spread, energy=energy)
    return estimated(
        "Theorem 2, tight: local stationarity of the output",
        {"tracker": tracker, "spread": [constants.lam * v for v in spread]},
        [energy],
        lambda e: {"noise": math.sqrt(W * e)},
        confidence,
        measured,
        trivial=constants.trivial,
    )


def held_out_nonsmooth(
    constants: Nonsmooth,
    products: Sequence[Iterable[float]],
    spread: Iterable[float],
    confidence: float = 0.95,
    *,
    measured: float | Iterable[float] | None = None,
) -> Certificate:
    r"""The bound from two further samples a round that the algorithm does not see: no variance is needed either.

    $$\mathbb E\|\nabla f(\bar y_\tau)\|^{[\lambda]}
      \le\sum_B\sqrt{W_B\sum_{t\in B}w_t\,\mathbb E\langle m'_{t+1},m''_{t+1}\rangle}
      +\lambda\,\mathbb E[v_\tau],\qquad W_B=\sum_{t\in B}w_t.$$

    m' and m'' follow line 9 without the projection, each with its own samples at $y_t$. Given the run they are
    independent with mean $h_{t+1}$, so their inner product has the mean $\|h_{t+1}\|^2$; steps 6 and 7 of the page. The
    interval is a Bonferroni one: Student's intervals of all block sums and of the spread hold together.

    Args:
        constants: those of the run.
        products: for every block of rounds, in order, and every replication the sum of w_t <m'_{t+1}, m''_{t+1}>.
        spread: for every replication the sum of Pr(tau = t) v_t, or v_tau.
        confidence: of the interval.
        measured: the measure of the run's witness, where it is known, or one for each replication.

    Reference: Theorem 2 and Lemma 13 (weighted output-gradient bound).

    >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.5, lam=2.0, T=1000, a=0.25, eta=0.125, rho=0.5)
    >>> terms = held_out_nonsmooth(c, products=[[0.04, 0.05], [0.01, 0.02]], spread=[0.01, 0.02]).terms
    >>> print(f"{terms['gradient']:.4f} {terms['spread']:.2f}")
    0.2369 0.03
    """
    named = {f"products[{i}]": block for i, block in enumerate(products)}
    *blocks, spread = same_length(**named, spread=spread)
    masses = output_mass(constants, len(blocks))

    def rest(*means: float) -> dict[str, float]:
        roots = (math.sqrt(mass * max(mean, 0.0)) for mass, mean in zip(masses, means[:-1], strict=True))
        return {"gradient": sum(roots), "spread": constants.lam * means[-1]}

    name = "Theorem 2, held out: local stationarity of the output"
    return estimated(name, {}, [*blocks, spread], rest, confidence, measured, trivial=constants.trivial)
