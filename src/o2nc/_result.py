"""What `minimize` answers with."""

import math
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from . import _xp
from .certificates import Certificate
from .conversions import Conversion
from .vectors import Blocks, Vector


@dataclass(frozen=True, eq=False)
class Result:
    """What `minimize` found, and what is guaranteed of it.

    The theorems bound expectations. Of one run a certificate is a plug-in estimate, or, if its noise is declared, a
    bound with high probability. Of several replications, which must be independent, it has Student's interval.

    Reference: Theorems 1 and 2.

    >>> import numpy as np
    >>> import o2nc
    >>> constants = o2nc.Smooth(gap=2.0, beta=1.0, sigma=0.0, T=10)
    >>> result = o2nc.minimize(
    ...     lambda x, rng: np.sin(x), np.asarray([3.0]), oracle=o2nc.oracles.Constant(), constants=constants
    ... )
    >>> print(result.certificate)
    Sharp theorem: average squared gradient (plug-in)
      start         0.4
      gap           0.8
      noise         0
      regret        0
      bound         1.2
      replications  1
      the regret of one run stands for its expectation
    """

    x: Vector  # what the theorem is about: an iterate drawn uniformly (Algorithm 1), y_bar_tau (Algorithm 2)
    last: Vector  # the point after the last round
    regret: Any  # sum of L_t(U_t) - L_t(I), one number for each replication; None for a conversion without an oracle
    certificate: Certificate | None  # the theorem with the measured regret
    a_priori: Certificate | None  # the theorem with the regret bound that the oracle states
    tight: Certificate | None  # the tight certificate from the sums of the run and its first sample
    reasons: dict[str, str]  # why there is no "certificate", "a_priori" or "tight", for those that are None
    trajectory: Vector | None  # the points where samples were taken, time first, if recorded
    state: Any  # the state of the conversion after the last round
    conversion: Conversion
    rounds: int
    seed: int
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Why there is no certificate with the measured regret; empty if there is one."""
        return self.reasons.get("certificate", "")

    @property
    def replications(self) -> str:
        """How the starting point was read, if it had several rows; empty for one run."""
        batch = () if isinstance(self.last, Blocks) else self.last.shape[:-1]
        if not batch:
            return ""
        return (
            f"{math.prod(batch)} replications: each row of x1 is a run of its own in {self.last.shape[-1]} coordinates"
        )

    @property
    def clipped(self) -> float:
        """The share of rounds in which the tracker's projection was active: large means wrong constants."""
        counts = self.conversion.sums(self.state).get("clipped")
        return 0.0 if counts is None else fmean(_xp.floats(counts)) / self.rounds

    def __str__(self) -> str:
        parts = [self.replications or None, self.reason or None, self.certificate, self.tight, self.a_priori]
        return "\n\n".join(str(part) for part in parts if part is not None)
