"""What is kept of a run, and how the records of different replications become one."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Record:
    r"""One method on one objective: moments over the replications at every iteration, each replication at some.

    The metrics are gap, the true $\|\nabla f(W_t)\|^2$ ("instant"), its average over 1 .. t, the weight of P played in
    round t and the regret against I after it. A metric that a method does not have is missing. "sums" are over
    all rounds: $Q=\sum\langle s_t,m_t\rangle$, $N=\sum\|m_t\|^2$, $W=\sum\|U_tm_t\|^2$, the rounds
    in which the tracker was clipped, the noise $\sum\|\xi_t\|^2$; and the gap of the iterate after the last round.

    Args:
        replications: their numbers, (R,).
        mean: by metric, the mean over the replications, (T,).
        M2: by metric, the sum of the squared deviations from it, (T,).
        checkpoints: the iterations at which every replication is kept, (C,), counted from 1.
        values: by metric, every replication at the checkpoints, (C, R).
        sums: by name, (R,).

    Reference: Numerical Experiments, the evaluation protocol.

    >>> one = np.ones(1)
    >>> record = Record(np.asarray([0]), {"gap": one}, {"gap": 0 * one}, np.asarray([1]), {"gap": one[:, None]}, {})
    >>> record.R
    1
    """

    replications: NDArray[np.int64]
    mean: dict[str, Floats]
    M2: dict[str, Floats]
    checkpoints: NDArray[np.int64]
    values: dict[str, Floats]
    sums: dict[str, Floats]

    @property
    def R(self) -> int:
        """The number of replications."""
        return len(self.replications)

    def std(self, metric: str) -> Floats:
        """The standard deviation over the replications, with the denominator R - 1; NaN for R = 1."""
        return np.sqrt(self.M2[metric] / (self.R - 1)) if self.R > 1 else np.full_like(self.M2[metric], np.nan)

    def at(self, metric: str, t: int) -> Floats:
        """Every replication at the checkpoint ``t``, (R,)."""
        return self.values[metric][int(np.flatnonzero(self.checkpoints == t)[0])]


Records = Mapping[str, Mapping[str, Record]]  # by objective and method
Runs = Mapping[Hashable, Records]  # by group of cells


def moments(values: Floats) -> tuple[Floats, Floats]:
    """Mean and sum of squared deviations over the last axis.

    >>> moments(np.asarray([[1.0, 3.0]]))
    (array([2.]), array([2.]))
    """
    mean = values.mean(axis=-1)
    deviation = values - mean[..., None]
    return mean, np.vecdot(deviation, deviation)


def merge(records: Sequence[Record]) -> Record:
    r"""The record of all replications of ``records``, whose replications are disjoint.

    $$\bar x=\frac{n_1\bar x_1+n_2\bar x_2}{n_1+n_2},\qquad
      M_2=M_{2,1}+M_{2,2}+\frac{n_1n_2}{n_1+n_2}(\bar x_2-\bar x_1)^2.$$

    Reference: Chan, Golub and LeVeque, updating formulae for sample variances (1979).

    >>> def single(r, v):
    ...     return Record(np.asarray([r]), {"gap": np.asarray([v])}, {"gap": np.zeros(1)}, np.asarray([1]), {}, {})
    >>> both = merge([single(0, 1.0), single(1, 3.0)])
    >>> float(both.mean["gap"][0]), float(both.M2["gap"][0])
    (2.0, 2.0)
    """
    first, *rest = sorted(records, key=lambda record: int(record.replications[0]))
    mean, M2, n = dict(first.mean), dict(first.M2), first.R
    for record in rest:
        total = n + record.R
        for metric in mean:
            shift = record.mean[metric] - mean[metric]
            mean[metric] = mean[metric] + shift * (record.R / total)
            M2[metric] = M2[metric] + record.M2[metric] + shift**2 * (n * record.R / total)
        n = total
    parts = [first, *rest]
    return Record(
        replications=np.concatenate([part.replications for part in parts]),
        mean=mean,
        M2=M2,
        checkpoints=first.checkpoints,
        values={k: np.concatenate([part.values[k] for part in parts], axis=1) for k in first.values},
        sums={k: np.concatenate([part.sums[k] for part in parts]) for k in first.sums},
    )
