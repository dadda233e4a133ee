"""The certificate itself, the corollaries, and the sentences of the errors."""

import json
import math
from fractions import Fraction

import pytest

import o2nc.certificates as certificates
from o2nc.certificates import (
    Certificate,
    exact_oracle,
    law_of_tau,
    localization,
    mean_interval,
    minimum_over_iterates,
    output_gradient,
    output_weight,
    projection,
    reading,
    sqrt_regret,
    student_quantile,
    theorem1,
    theorem1_sharp,
    theorem2,
    theorem2_tuned,
    tight,
    tracker_error,
    tracker_error_at,
    witness,
    young,
)
from o2nc.constants import Nonsmooth, Smooth

C = Smooth.paper(M=2.0, beta=8.0, sigma=0.5, T=400)  # sqrt(M beta) = 4, a = 4/10, eta = 1/1280
TERMS = {"noise": 2.0, "regret": -0.5, "range": 0.25}


def test_the_public_names():
    assert certificates.__all__ == sorted(certificates.__all__)
    assert all(hasattr(certificates, name) for name in certificates.__all__)


def test_bound_holds_ratio():
    certificate = Certificate("name", "a-priori", TERMS)
    assert (certificate.bound, certificate.holds, certificate.ratio) == (1.75, None, None)
    assert list(certificate.terms) == ["noise", "regret", "range"]
    for measured, holds in ((1.75, True), (1.7500001, False), (math.nan, False), (math.inf, False)):
        assert Certificate("name", "a-priori", TERMS, measured=measured).holds is holds
    assert Certificate("name", "a-priori", TERMS, measured=0.875).ratio == 0.5
    assert Certificate("name", "a-priori", {"regret": -1.0}, measured=0.5).ratio is None


def test_the_terms_are_a_copy():
    terms = dict(TERMS)
    certificate = Certificate("name", "a-priori", terms)
    terms["noise"] = 0.0
    assert certificate.bound == 1.75


def test_the_table():
    certificate = Certificate("Some bound", "plug-in", TERMS, 0.7, (1.5, math.inf), 8, "From one run.")
    assert str(certificate).splitlines() == [
        "Some bound (plug-in)",
        "  noise             2",
        "  regret            -0.5",
        "  range             0.25",
        "  bound             1.75",
        "  bound, interval   [1.5, inf]",
        "  measured          0.7",
        "  measured / bound  0.4",
        "  replications      8",
        "  From one run.",
        "  the interval is Student's, of independent replications: exact for normal sums, "
        "too short if large noise is rare",
    ]


def test_a_bound_below_0_is_explained():
    below, above = (Certificate("name", "a-posteriori", {"regret": regret}) for regret in (-0.1, 0.0))
    assert str(below).splitlines()[-1] == (
        "  a bound below 0 on what is never negative: an estimate is too low by chance, or a constant too small"
    )
    assert above.remarks == []
    sharp = certificates.theorem_sharp(gap=0.5, beta=2.0, sigma=1.0, T=100, regret=-1e4)
    assert "a bound below 0" in str(sharp)


def test_a_bound_that_is_not_below_the_trivial_one_is_vacuous():
    """|grad f|^2 <= M beta = 16 for C, and the local stationarity is at most L."""
    for trivial, vacuous in ((None, False), (1.75, True), (1.7500001, False), (0.0, True)):
        assert Certificate("name", "a-priori", TERMS, trivial=trivial).vacuous is vacuous
    found = [theorem1(C, 1e3), theorem1_sharp(C, 1e3), tight(C, [1e6], [1.0], [1.0]), exact_oracle(2.0, 8.0, 400, 1e5)]
    assert [str(certificate).splitlines()[-1] for certificate in found] == ["  vacuous: every point has at most 16"] * 4
    assert certificates.theorem1_doubling(C, 0.0, rounds=10).vacuous
    assert not tight(C, [1.0], [1.0], [1.0]).vacuous
    assert not tight(Smooth(gap=1.0, beta=8.0, sigma=0.5, T=400), [1e6], [1.0], [1.0]).vacuous  # no range, no bound
    c = Nonsmooth(L=1.5, M=1.0, sigma=0.5, lam=1.0, T=1000, a=0.25, eta=0.125, rho=0.5)
    assert theorem2(c, 5.0).trivial == certificates.tight_nonsmooth(c, [0.3], [0.1]).trivial == 1.5
    assert theorem2(c, 5.0).vacuous
    assert not certificates.theorem2_sharp(c, 5.0).vacuous
    assert certificates.theorem2_sharp(c, 500.0).vacuous
    with pytest.raises(ValueError, match="`trivial` must be finite and nonnegative; got -1"):
        Certificate("name", "a-priori", TERMS, trivial=-1.0)
    with_trivial = Certificate("name", "a-priori", TERMS, trivial=1.0)
    assert Certificate.from_json(with_trivial.to_json()) == with_trivial


@pytest.mark.parametrize("bound", [None, (1.0, 2.0), (1.6, 1.8)])
@pytest.mark.parametrize("ends", [None, (1.9, 2.1), (2.1, 2.3), (1.0, 3.0)])
def test_what_holds_is_what_the_printed_intervals_say(bound, ends):
    """The bound is 1.75 and the measured value 2.2: what was measured contradicts it if the intervals are apart."""
    certificate = Certificate("name", "a-posteriori", TERMS, 2.2, bound, measured_interval=ends)
    low, high = (ends or (2.2,))[0], (bound or (1.75,))[-1]
    assert certificate.holds == (low <= high)
    assert ("measured, interval" in str(certificate)) == (ends is not None)
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert json.loads(certificate.to_json())["holds"] == certificate.holds


@pytest.mark.parametrize("measured", [None, 0.0, 1.5, math.inf])
@pytest.mark.parametrize("interval", [None, (1.0, 2.0), (-math.inf, 2.0), (1.0, math.inf)])
@pytest.mark.parametrize("noise", [2.0, math.inf])
def test_json_round_trip(measured, interval, noise):
    certificate = Certificate("näme", "a-posteriori", TERMS | {"noise": noise}, measured, interval, 3, 'a "note"')
    text = certificate.to_json()
    assert Certificate.from_json(text) == certificate
    fields = json.loads(text, parse_constant=pytest.fail)
    assert fields == certificate.to_dict()
    assert (fields["holds"], fields["bound"] is None) == (certificate.holds, noise == math.inf)


def test_fractions_become_floats_in_json():
    certificate = Certificate("name", "a-priori", {"range": Fraction(1, 4)}, measured=Fraction(1, 8))
    assert certificate.bound == Fraction(1, 4)
    assert '"range": 0.25' in certificate.to_json()
    assert "0.5" in str(certificate)


def test_a_measurement_that_is_not_a_number_reads_back_as_a_failure():
    certificate = Certificate("name", "a-priori", TERMS, measured=math.nan)
    assert Certificate.from_json(certificate.to_json()).holds is False


def test_the_corollaries_of_theorem_1():
    bound = theorem1(C, regret=7.0).bound
    assert minimum_over_iterates(C, regret=7.0).bound == bound
    root = sqrt_regret(C, C_A=7.0 / 20)
    assert (root.bound, root.label) == (pytest.approx(bound), "a-priori")
    exact = exact_oracle(2.0, 8.0, 400, regret=7.0)
    assert exact.bound == pytest.approx(bound - 101 * 0.5 * 4 / 20)
    names = {theorem1(C, 0.0).name, minimum_over_iterates(C, 0.0).name, root.name, exact.name}
    assert len(names) == 4


def test_details_are_passed_on():
    details = {"measured": 1.0, "interval": (0.0, 2.0), "replications": 4, "note": "here"}
    c2 = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000)
    for certificate in (
        theorem1(C, 1.0, label="a-priori", **details),
        theorem1_sharp(C, 1.0, label="a-priori", **details),
        minimum_over_iterates(C, 1.0, label="a-priori", **details),
        sqrt_regret(C, 1.0, **details),
        exact_oracle(1.0, 1.0, 10, 1.0, label="a-priori", **details),
        theorem2(c2, 1.0, label="a-priori", **details),
        theorem2_tuned(c2, 1.0, label="a-priori", **details),
    ):
        assert {name: getattr(certificate, name) for name in details} == details
        assert certificate.label == "a-priori"


@pytest.mark.parametrize(
    ("regret", "stderr", "words"),
    [
        (-1.0, 0.0, "outperforms the identity on the induced losses."),
        (0.0, 0.0, "Regret 0: the identity-preconditioned baseline."),
        (1.0, 0.0, "pays an adaptation cost."),
        (-1.0, 0.4, "outperforms"),
        (-1.0, 0.6, "not told from 0"),
        (0.0, 0.1, "not told from 0"),
        (1.0, 0.5, "not told from 0"),
        (1.0, 0.49, "(standard error 0.49): the learned preconditioner pays"),
    ],
)
def test_reading(regret, stderr, words):
    assert words in reading(regret, stderr)
    assert reading(regret) == reading(regret, 0.0)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: Certificate("name", "certain", {}),
            "`label` must be one of 'a-priori', 'a-posteriori', 'plug-in', 'high-probability'; got 'certain'.",
        ),
        (
            lambda: Certificate("name", "a-priori", {"noise": math.nan}),
            "`terms['noise']` must be a number or infinity; got nan.",
        ),
        (
            lambda: Certificate("name", "a-priori", {}, interval=(2.0, 1.0)),
            "`interval` must be (low, high) with low <= high; got (2.0, 1.0).",
        ),
        (
            lambda: Certificate("name", "a-priori", TERMS, 1.0, measured_interval=(2.0, 1.0)),
            "`measured_interval` must be (low, high) with low <= high; got (2.0, 1.0).",
        ),
        (
            lambda: Certificate("name", "a-priori", TERMS, measured_interval=(1.0, 2.0)),
            "`measured_interval` must not be given without `measured`.",
        ),
        (lambda: Certificate("name", "a-priori", {}, replications=0), "`replications` must be at least 1; got 0."),
        (lambda: theorem1(C, math.nan), "`regret` must be finite; got nan."),
        (
            lambda: theorem1(C, 1.0, label="sure"),
            "`label` must be one of 'a-priori', 'a-posteriori', 'plug-in', 'high-probability'; got 'sure'.",
        ),
        (lambda: theorem1_sharp(C, 1.0, V_T=-1.0), "`V_T` must be finite and nonnegative; got -1.0."),
        (lambda: theorem1_sharp(C, 1.0, kappa=50.0), "`kappa` must be less than 6080/129; got 50.0."),
        (lambda: sqrt_regret(C, -1.0), "`C_A` must be finite and nonnegative; got -1.0."),
        (lambda: exact_oracle(1.0, 1.0, 0, 0.0), "`T` must be at least 1; got 0."),
        (lambda: young(0.0, 1.0, 1.0), "`a` must be finite and positive; got 0.0."),
        (lambda: young(Fraction(3, 2), 1, 1), "`a` must lie in (0, 1]; got 3/2."),
        (lambda: tracker_error(1.0, 2.0, 1.0, 1.0), "`a` must lie in (0, 1]; got 2.0."),
        (lambda: projection([1.0], [1.0, 2.0]), "`z` and `y` must have the same length; got 1 and 2."),
        (lambda: law_of_tau(0.5, 0, 4), "`t` must lie in 1..T with T = 4; got 0."),
        (lambda: law_of_tau(0.5, 1, 0), "`T` must be at least 1; got 0."),
        (lambda: output_weight(0.5, 2, 3), "`s` must lie in 1..t with t = 2; got 3."),
        (
            lambda: output_gradient(-1.0, 0.5, 0.0, 1.0, 5),
            "`mean_tracker_norm` must be finite and nonnegative; got -1.0.",
        ),
        (lambda: localization(0.5, -1.0), "`eta` must be finite and nonnegative; got -1.0."),
        (lambda: witness(1.0, 0.5, 0.0, 1.0, 5, -1.0, 1.0), "`lam` must be finite and nonnegative; got -1.0."),
        (
            lambda: tracker_error_at(1.0, 0.1, 1.0, 1.0, 1.0),
            "`l` must be less than 1/(1 - a)^2 - 1 for a = 0.1; got 1.0.",
        ),
        (lambda: tight(C, [], [], []), "`Q` must hold at least 1 replication; got 0."),
        (lambda: tight(C, [1.0], [1.0], [math.inf]), "`W` must be finite; got inf."),
        (
            lambda: tight(C, [1.0], [1.0], [1.0], confidence=95),
            "`confidence` must lie strictly between 0 and 1; got 95.",
        ),
        (lambda: tight(C, [1.0], [1.0], [1.0], rounds=0), "`T` must be at least 1; got 0."),
        (
            lambda: tight(C, [1.0], [1.0, 2.0], [1.0]),
            "All sums must hold the same number of replications; got `Q` 1, `N` 2, `W` 1.",
        ),
        (lambda: mean_interval([1.0]), "`values` must hold at least 2 replications for an interval; got 1."),
        (lambda: student_quantile(1.0, 1), "`confidence` must lie strictly between 0 and 1; got 1.0."),
        (lambda: student_quantile(0.9, 0), "`df` must be at least 1; got 0."),
    ],
)
def test_errors_are_sentences(call, sentence):
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == sentence


def test_wrong_types():
    with pytest.raises(TypeError, match=r"`regret` must be a number; got '1'\."):
        theorem1(C, "1")
    with pytest.raises(TypeError, match=r"`Q` must hold one number for each replication; got 1\.0\."):
        tight(C, 1.0, [1.0], [1.0])


def test_theorem_2_tuned_wants_tuned_constants():
    c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000, a=0.25)
    with pytest.raises(ValueError, match=r"must have the tuned `a`, `eta` and `rho` of Theorem 2; got a=0\.25, "):
        theorem2_tuned(c, 0.0)
    assert theorem2(c, 0.0).bound > 0
