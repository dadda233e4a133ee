"""The theorems and lemmas of the paper as functions: numbers in, numbers out.

``theorem1``, ``theorem2`` and their variants return a ``Certificate``, a bound term by term beside what was measured;
``theorem_sharp`` and its variants do the same with readable constants; ``tight``, ``tight_regret`` and
``tight_nonsmooth`` are much smaller bounds from a run's own sums. Every lemma is a function of its right side.
Where a formula needs no root, exact fractions go in and come out. Lemmas are counted in the order in which the paper
states them.
"""

from ..constants.rates import (
    decreasing_rate,
    least_squares_rate,
    one_run_rate,
    sharp_rate,
    storm_batch,
    storm_rate,
    storm_step,
)
from .certificate import Certificate
from .hedge import hedge_constant, hedge_self_tuned, hedge_tuned
from .leaders import augmented_leader, perturbed_leader
from .lemmas.nonsmooth import (
    identity_correlation,
    law_of_tau,
    localization,
    output_gradient,
    output_weight,
    segment_identity,
    tracker_noise,
    tracker_noise_root,
    tracker_norm,
    witness,
)
from .lemmas.nonsmooth_sharp import localization_sharp, smoothing_sharp, tracker_norm_sharp
from .lemmas.sharp import decreasing_weight, segment_growth, sharp_alignment, tracker_error_convex
from .lemmas.smooth import (
    comparator,
    descent_lower_bound,
    gradient_bound,
    gradient_bound_sharp,
    projection,
    smoothness,
    tracker_error,
    young,
)
from .lemmas.tracking import (
    segment_moments,
    segment_tracker_error,
    tracker_error_at,
    tracker_error_best,
    tracker_error_parts,
)
from .replications import labelled
from .sgd import tight_sgd
from .sharp_theorem import (
    least_squares_regret,
    sharp_step,
    theorem_sharp,
    theorem_sharp_decreasing,
    theorem_sharp_least_squares,
)
from .sharp_theorem_clipped import clipped_step, theorem_sharp_clipped
from .sharp_theorem_inner import InnerFactors, inner_factors, theorem_sharp_inner
from .single_run import OneRunFactors, one_run, one_run_factors, tracking_root
from .storm_theorem import theorem_storm, theorem_storm_decreasing
from .student import mean_interval, student_quantile
from .theorem_1 import (
    exact_oracle,
    minimum_over_iterates,
    reading,
    sharp_factors,
    sqrt_regret,
    theorem1,
    theorem1_sharp,
)
from .theorem_1_doubling import phases, theorem1_doubling
from .theorem_1_segment import segment_factors, theorem1_segment
from .theorem_1_tight import tight, tight_regret, tight_segment
from .theorem_2 import theorem2, theorem2_tuned
from .theorem_2_sharp import theorem2_sharp
from .theorem_2_tight import held_out_nonsmooth, output_mass, tight_nonsmooth

__all__ = [
    "Certificate", "InnerFactors", "OneRunFactors", "augmented_leader", "clipped_step", "comparator",
    "decreasing_rate", "decreasing_weight", "descent_lower_bound", "exact_oracle", "gradient_bound",
    "gradient_bound_sharp", "hedge_constant", "hedge_self_tuned", "hedge_tuned", "held_out_nonsmooth",
    "identity_correlation", "inner_factors", "labelled", "law_of_tau", "least_squares_rate", "least_squares_regret",
    "localization", "localization_sharp", "mean_interval", "minimum_over_iterates", "one_run", "one_run_factors",
    "one_run_rate", "output_gradient", "output_mass", "output_weight", "perturbed_leader", "phases", "projection",
    "reading", "segment_factors", "segment_growth", "segment_identity", "segment_moments", "segment_tracker_error",
    "sharp_alignment", "sharp_factors", "sharp_rate", "sharp_step", "smoothing_sharp", "smoothness", "sqrt_regret",
    "storm_batch", "storm_rate", "storm_step", "student_quantile", "theorem1", "theorem1_doubling",
    "theorem1_segment", "theorem1_sharp", "theorem2", "theorem2_sharp", "theorem2_tuned", "theorem_sharp",
    "theorem_sharp_clipped", "theorem_sharp_decreasing", "theorem_sharp_inner", "theorem_sharp_least_squares",
    "theorem_storm", "theorem_storm_decreasing", "tight", "tight_nonsmooth", "tight_regret", "tight_segment",
    "tight_sgd", "tracker_error", "tracker_error_at", "tracker_error_best", "tracker_error_convex",
    "tracker_error_parts", "tracker_noise", "tracker_noise_root", "tracker_norm", "tracker_norm_sharp",
    "tracking_root", "witness", "young",
]  # fmt: skip
