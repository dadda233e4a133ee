"""A bound, term by term, beside what was measured."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

LABELS = ("a-priori", "a-posteriori", "plug-in", "high-probability")
STUDENT = (
    "the interval is Student's, of independent replications: exact for normal sums, too short if large noise is rare"
)
NEGATIVE = "a bound below 0 on what is never negative: an estimate is too low by chance, or a constant too small"


class Details(TypedDict, total=False):
    """The fields of a certificate that a theorem passes on unchanged."""

    label: str
    measured: float | None
    measured_interval: tuple[float, float] | None
    interval: tuple[float, float] | None
    replications: int | None
    note: str
    trivial: float | None


@dataclass(frozen=True)
class Certificate:
    r"""An upper bound that is a sum of named terms, $\text{measured}\le\sum_i\text{term}_i$.

    Args:
        name: what is bounded, and by which statement.
        label: "a-priori" if every number was known before the run; "a-posteriori" if some are expectations
            estimated from several replications, or exact; "plug-in" if expectations were replaced by one run;
            "high-probability" if it is about one run, and fails with the small probability that the note gives.
        terms: the terms by name, in the order in which they are printed; infinity is allowed and says nothing.
        measured: the left side, where it is known.
        interval: a confidence interval of the *bound*, where that was estimated: Student's, from independent
            replications. It is exact for sums that are normal. With rare large noise and few replications it misses far
            more often than it says.
        replications: how many runs the estimates are made of.
        note: one line for the reader.
        trivial: what the left side is at most at every point, whatever was run, where that is known.
        measured_interval: a confidence interval of the left side, where ``measured`` is an estimate too.

    Reference: Theorems 1 and 2; the labels are explained in the theory pages.

    >>> print(Certificate("Theorem 1", "a-priori", {"noise": 2.0, "range": 0.5}, measured=1.0, replications=8))
    Theorem 1 (a-priori)
      noise             2
      range             0.5
      bound             2.5
      measured          1
      measured / bound  0.4
      replications      8
    >>> print(Certificate("Theorem 1", "a-priori", {"noise": 2.0, "range": 0.5}, trivial=2.0))
    Theorem 1 (a-priori)
      noise  2
      range  0.5
      bound  2.5
      vacuous: every point has at most 2
    """

    name: str
    label: str = "a-posteriori"
    terms: dict[str, float] = field(default_factory=dict)
    measured: float | None = None
    interval: tuple[float, float] | None = None
    replications: int | None = None
    note: str = ""
    trivial: float | None = None
    measured_interval: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.label not in LABELS:
            raise ValueError(f"`label` must be one of {', '.join(map(repr, LABELS))}; got {self.label!r}.")
        object.__setattr__(self, "terms", dict(self.terms))
        for name, term in self.terms.items():
            if not term > -math.inf:
                raise ValueError(f"`terms[{name!r}]` must be a number or infinity; got {term}.")
        for name in ("interval", "measured_interval"):
            if (ends := getattr(self, name)) is not None:
                low, high = ends
                if not low <= high:
                    raise ValueError(f"`{name}` must be (low, high) with low <= high; got {ends}.")
                object.__setattr__(self, name, (low, high))
        if self.measured_interval is not None and self.measured is None:
            raise ValueError("`measured_interval` must not be given without `measured`.")
        if self.replications is not None and self.replications < 1:
            raise ValueError(f"`replications` must be at least 1; got {self.replications}.")
        if self.trivial is not None and not 0 <= self.trivial < math.inf:
            raise ValueError(f"`trivial` must be finite and nonnegative; got {self.trivial}.")
        if not self.terms:
            raise ValueError("`terms` must hold at least one term; got none.")

    @property
    def bound(self) -> float:
        """The sum of the terms."""
        return sum(self.terms.values())

    @property
    def holds(self) -> bool | None:
        """Whether the measured value is at most the bound, within the errors of both; None where nothing was measured.

        An inequality between expectations is not contradicted by estimates whose intervals overlap.

        >>> estimates = {"measured": 1.02, "measured_interval": (0.97, 1.07), "interval": (0.98, 1.0)}
        >>> Certificate("a bound", "a-posteriori", {"noise": 0.99}, **estimates).holds
        True
        >>> Certificate("a bound", "a-priori", {"noise": 0.99}, measured=1.02).holds
        False
        """
        if self.measured is None:
            return None
        low = self.measured if self.measured_interval is None else min(self.measured, self.measured_interval[0])
        return low <= (self.bound if self.interval is None else max(self.bound, self.interval[1]))

    @property
    def ratio(self) -> float | None:
        """Measured value over bound; None where nothing was measured or the bound is not positive."""
        return None if self.measured is None or self.bound <= 0 else self.measured / self.bound

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than what holds at every point."""
        return self.trivial is not None and self.bound >= self.trivial

    @property
    def remarks(self) -> list[str]:
        """The lines below the table: the note, what the interval assumes, a bound below 0, a bound that says nothing.

        >>> Certificate("Theorem 1", "a-posteriori", {"regret": -1.0}).remarks == [NEGATIVE]
        True
        """
        found = [
            self.note,
            STUDENT if self.interval or self.measured_interval else "",
            NEGATIVE if self.bound < 0 else "",
            f"vacuous: every point has at most {self.trivial:.6g}" if self.vacuous else "",
        ]
        return [remark for remark in found if remark]

    def __str__(self) -> str:
        rows = {name: f"{float(term):.6g}" for name, term in self.terms.items()}
        rows["bound"] = f"{float(self.bound):.6g}"
        if self.interval is not None:
            rows["bound, interval"] = f"[{self.interval[0]:.6g}, {self.interval[1]:.6g}]"
        if self.measured is not None:
            rows["measured"] = f"{float(self.measured):.6g}"
        if self.measured_interval is not None:
            rows["measured, interval"] = f"[{self.measured_interval[0]:.6g}, {self.measured_interval[1]:.6g}]"
        if self.ratio is not None:
            rows["measured / bound"] = f"{float(self.ratio):.6g}"
        if self.replications is not None:
            rows["replications"] = f"{self.replications}"
        width = max(map(len, rows))
        lines = [f"{self.name} ({self.label})", *(f"  {name:<{width}}  {text}" for name, text in rows.items())]
        return "\n".join([*lines, *(f"  {remark}" for remark in self.remarks)])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists; what is not finite becomes None.

        >>> Certificate("Theorem 1", "a-priori", {"range": 0.5}).to_dict()["bound"]
        0.5
        """
        return vars(self) | {
            "terms": {name: _finite(term) for name, term in self.terms.items()},
            "bound": _finite(self.bound),
            "measured": _finite(self.measured),
            "holds": self.holds,
            "interval": self.interval and [_finite(end) for end in self.interval],
            "measured_interval": self.measured_interval and [_finite(end) for end in self.measured_interval],
        }

    def to_json(self) -> str:
        """The certificate as strict JSON.

        >>> Certificate("Theorem 1", "a-priori", {"range": float("inf")}).to_json()[:63]
        '{"name": "Theorem 1", "label": "a-priori", "terms": {"range": n'
        """
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """The inverse of ``to_json``: null is an infinite term, an open end of the interval or a diverged measurement.

        >>> certificate = Certificate("Theorem 1", "a-priori", {"range": 0.5}, interval=(0.25, float("inf")))
        >>> Certificate.from_json(certificate.to_json()) == certificate
        True
        """
        fields = json.loads(text)
        del fields["bound"]  # the sum of the terms
        fields["terms"] = {name: math.inf if term is None else term for name, term in fields["terms"].items()}
        if fields.pop("holds") is not None and fields["measured"] is None:
            fields["measured"] = math.inf
        for name in ("interval", "measured_interval"):
            if fields.get(name):
                ends = zip(fields[name], (-math.inf, math.inf), strict=True)
                fields[name] = tuple(end if given is None else given for given, end in ends)
        return cls(**fields)


def averaged(name: str, sums: Mapping[str, float], T: float, details: Details) -> Certificate:
    """The certificate of an average over T rounds, from the terms of the bound on the sum.

    >>> averaged("a bound: average", {"start": 4.0, "noise": 2.0}, 2, {"label": "a-priori"}).terms
    {'start': 2.0, 'noise': 1.0}
    """
    return Certificate(name, terms={term: value / T for term, value in sums.items()}, **details)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
