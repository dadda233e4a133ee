"""What the practical rule of the front ends charges, and the length of its directions."""

from . import _xp
from ._xp import Array

COST = 0.4  # of a promise that is not kept, on top of what is missing
LENGTH = 0.2  # the root mean square of a direction that has no length of its own: about that of Adam's


def losses(kept: Array, promised: Array) -> Array:
    r"""What experts are charged: $\ell_k=-\bigl(g_k-\tfrac25(p_k-g_k)\bigr)/\max_jp_j$, with $|g_k|\le|p_k|$.

    To first order expert k had promised the decrease $p_k$, and the next gradient finds that $g_k$ of it was kept. What
    was kept counts, and what was not costs two fifths of itself on top. If nobody promised anything, losses are 0.

    Args:
        kept: g, of shape (..., K).
        promised: p, of shape (..., K).

    Reference: not in the paper; `tests/reference_practical.py`.

    >>> import numpy as np
    >>> losses(np.asarray([4.0, 1.0, -9.0]), np.asarray([2.0, 4.0, 1.0])).round(3)
    array([-0.5 ,  0.05,  0.45])
    """
    xp, most = _xp.namespace(kept), _xp.largest(promised)
    bound = xp.abs(promised)
    kept = xp.minimum(xp.maximum(kept, -bound), bound)
    return -(kept - COST * (promised - kept)) * _xp.inverse(most)


def at_length(d: Array) -> Array:
    """``d`` at a root mean square of 0.2; 0 stays 0.

    Reference: Liu et al., Muon is scalable for LLM training (2025).

    >>> import numpy as np
    >>> at_length(np.asarray([3.0, -3.0, 0.0, 0.0])).round(4)
    array([ 0.2828, -0.2828,  0.    ,  0.    ])
    """
    xp = _xp.namespace(d)
    return d * (LENGTH * xp.sqrt(_xp.inverse(xp.mean(d * d))))
