"""What the descent lemma certifies of SGD, the method that has no tracker and no regret."""

from collections.abc import Iterable

from ..constants import SmoothConstants
from .arguments import check_size, same_length
from .certificate import Certificate
from .replications import estimated
from .theorem_1_tight import known


def tight_sgd(
    constants: SmoothConstants,
    decrease: Iterable[float],
    V_T: float | Iterable[float] | None = None,
    confidence: float = 0.95,
    *,
    rounds: int | None = None,
    measured: float | Iterable[float] | None = None,
) -> Certificate:
    r"""The bound on the average squared gradient of $x_{t+1}=x_t-\eta s_t$ with the step size of the constants.

    $$\Bigl(1-\frac{\beta\eta}2\Bigr)S\le\frac{\mathbb E[f(x_1)-f(x_{T+1})]}\eta+\frac{\beta\eta}2V_T.$$

    Proof: $f(x_{t+1})\le f(x_t)-\eta\langle g_t,s_t\rangle+\frac{\beta\eta^2}2\|s_t\|^2$ by smoothness, where
    $\mathbb E\langle g_t,s_t\rangle=\mathbb E\|g_t\|^2$ and
    $\mathbb E\|s_t\|^2=\mathbb E\|g_t\|^2+\mathbb E\|\xi_t\|^2$; sum over t. Here $\beta\eta=a/c$.

    Args:
        constants: those of the run.
        decrease: for every replication f(x_1) - f(x_{T+1}).
        V_T: the sum of the variances of the samples, or for every replication the sum of the squared noise; sigma^2
            times the rounds unless given.
        confidence: of the interval, Student's for the mean decrease and what was measured of the noise.
        rounds: how many rounds were summed; T unless given.
        measured: the average squared gradient, where it is known, or one for each replication.

    Reference: Ghadimi and Lan (2013); the paper's baseline.

    >>> from o2nc import Smooth
    >>> c = Smooth.paper(M=1.0, beta=1.0, sigma=0.5, T=100)
    >>> print(tight_sgd(c, decrease=[0.10, 0.11]))
    SGD, descent lemma: average squared gradient (a-posteriori)
      decrease         0.336526
      noise            0.000391236
      bound            0.336917
      bound, interval  [0.1333, 0.540534]
      replications     2
      the interval is Student's, of independent replications: exact for normal sums, too short if large noise is rare
    """
    T, moments = known(constants, rounds, None, V_T)
    half = constants.beta * constants.eta / 2
    step, share = constants.eta * (1 - half), half / (1 - half)
    decrease, *seen = same_length(decrease=decrease, **moments.estimated)  # of the moments at most V_T
    linear, rest = {"decrease": [d / step for d in decrease]}, dict[str, float]()
    if seen:
        linear["noise"] = [share * v for v in seen[0]]
    else:
        check_size("V_T", moments.V_T)
        rest["noise"] = share * moments.V_T
    name = "SGD, descent lemma: average squared gradient"
    return estimated(name, linear, [], lambda: rest, confidence, measured, T, constants.trivial)
