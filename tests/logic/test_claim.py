"""The verdict rules, each as a property."""

from dataclasses import replace
from fractions import Fraction
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import (
    AtMost,
    Basis,
    Converges,
    Enclosure,
    Exists,
    Identity,
    Rate,
    Verdict,
    Witness,
)

from .strategies import compared, enclosures, finite

STRONG = (Verdict.PROVED, Verdict.CERTIFIED, Verdict.REFUTED)
exact = enclosures(bases=(Basis.EXACT,))


def claim_with(claim, side, enclosure):
    return replace(claim, **{side: enclosure})


@given(compared)
def test_sampled_evidence_never_judges_to_proved_or_certified(claim):
    if Basis.SAMPLED in (claim.left.basis, claim.right.basis):
        assert claim.judge().verdict not in (Verdict.PROVED, Verdict.CERTIFIED)


@given(compared)
def test_a_sample_without_a_witness_never_refutes(claim):
    if Basis.SAMPLED in (claim.left.basis, claim.right.basis):
        assert claim.judge().verdict is not Verdict.REFUTED


@given(compared)
def test_float64_never_judges_to_proved(claim):
    if Basis.EXACT not in (claim.left.basis,) or claim.right.basis is not Basis.EXACT:
        assert claim.judge().verdict is not Verdict.PROVED


@given(compared, st.sampled_from(["left", "right"]), st.floats(0, 1e6), st.floats(0, 1e6))
def test_widening_an_enclosure_can_only_weaken_the_judgement(claim, side, down, up):
    before = claim.judge()
    old = getattr(claim, side)
    wider = (
        replace(old, lo=old.lo - down, hi=old.hi + up)
        if old.hi < inf and old.lo > -inf
        else replace(old, lo=-inf, hi=inf)
    )
    after = claim_with(claim, side, wider).judge()
    if after.verdict in STRONG:
        assert before.verdict is after.verdict or (before.verdict, after.verdict) == (
            Verdict.PROVED,
            Verdict.CERTIFIED,
        )
    if after.contradicted:
        assert before.contradicted
    if after.verdict is Verdict.CONSISTENT and before.verdict is Verdict.INCONCLUSIVE:
        assert before.contradicted  # a contradiction that melts away says less, not more


@given(compared, st.sampled_from(["left", "right"]))
def test_a_weaker_basis_never_gives_a_stronger_verdict(claim, side):
    old = getattr(claim, side)
    if old.basis is Basis.EXACT:
        after = claim_with(claim, side, Enclosure(old.lo, old.hi, Basis.FLOAT)).judge()
        assert after.verdict is not Verdict.PROVED


@given(exact, exact)
def test_at_most_is_proved_exactly_when_every_pair_obeys_it_and_refuted_when_none_does(left, right):
    verdict = AtMost("x", left, right).judge().verdict
    assert (verdict is Verdict.PROVED) == (left.hi <= right.lo)
    assert (verdict is Verdict.REFUTED) == (left.lo > right.hi)


@given(finite, finite, st.floats(1e-12, 1e-3))
def test_float64_contradicts_only_strictly_beyond_the_tolerance_and_never_refutes(a, b, rtol):
    judged = AtMost("x", Enclosure.equal(a), Enclosure.equal(b), rtol=rtol).judge()
    slack = rtol * (abs(a) + abs(b))
    assert judged.verdict is not Verdict.REFUTED
    if judged.contradicted:
        assert a - b > slack * (1 - 1e-9)
    if a <= b:
        assert judged.verdict is Verdict.CERTIFIED
    if a - b > slack * (1 + 1e-9) + 1e-300:
        assert judged.contradicted and judged.verdict is Verdict.INCONCLUSIVE


@given(
    compared,
    enclosures(bases=(Basis.EXACT, Basis.FLOAT)),
    enclosures(bases=(Basis.EXACT, Basis.FLOAT)),
)
def test_what_refutes_is_exact_on_both_sides_and_apart(claim, left, right):
    claim = replace(claim, witness=Witness({}, left, right, "again"))
    judged = claim.judge()
    fails = (
        (lambda a, b: a.lo > b.hi)
        if isinstance(claim, AtMost)
        else (lambda a, b: a.lo > b.hi or b.lo > a.hi)
    )
    exactly = lambda a, b: a.basis is b.basis is Basis.EXACT and fails(a, b)
    if judged.verdict is Verdict.REFUTED:
        assert exactly(claim.left, claim.right) or exactly(left, right)
    if exactly(claim.left, claim.right):
        assert judged.verdict is Verdict.REFUTED


def test_a_witness_in_float64_contradicts_and_one_in_rationals_refutes():
    above = Enclosure.at_least(3.0, samples=10)
    bound = Enclosure.equal(2.0)
    noise = Witness({"x": 1.0}, Enclosure.equal(3.0), Enclosure.exact(2), "in float64")
    judged = AtMost("x", above, bound, witness=noise).judge()
    assert judged.verdict is Verdict.INCONCLUSIVE and judged.contradicted
    sure = Witness({"x": 1.0}, Enclosure.exact(3), Enclosure.exact(2), "in rationals")
    assert AtMost("x", above, bound, witness=sure).judge().verdict is Verdict.REFUTED
    unknown = Witness({"x": 1.0}, Enclosure.unknown(), Enclosure.exact(2), "without rules")
    judged = AtMost("x", above, bound, witness=unknown).judge()
    assert judged.verdict is Verdict.INCONCLUSIVE and judged.contradicted


def test_a_witness_has_to_exceed_the_tolerance_of_a_claim_that_has_one():
    tiny = Witness(
        {"x": 1.0}, Enclosure.exact(Fraction(1, 10**12)), Enclosure.exact(0), "in rationals"
    )
    far = Identity("x", Enclosure.equal(1.0), Enclosure.exact(0), tiny, atol=1e-9)
    assert far.judge().verdict is Verdict.INCONCLUSIVE and not far.judge().contradicted
    large = replace(tiny, left=Enclosure.exact(Fraction(1, 10**8)))
    assert replace(far, witness=large).judge().verdict is Verdict.REFUTED


def test_equality_attained_in_float64_is_certified_within_the_tolerance_and_proved_in_rationals():
    third = Fraction(1, 3)
    assert (
        AtMost("x", Enclosure.equal(1 + 1e-13), Enclosure.equal(1.0)).judge().verdict
        is Verdict.CERTIFIED
    )
    assert AtMost("x", Enclosure.exact(1), Enclosure.exact(1)).judge().verdict is Verdict.PROVED
    assert (
        AtMost("x", Enclosure.exact(third), Enclosure.exact(third)).judge().verdict
        is Verdict.INCONCLUSIVE
    )


def test_a_sampled_supremum_below_the_bound_is_consistent_and_above_it_needs_a_witness():
    bound = Enclosure.at_most(2.0)
    sampled = Enclosure.at_least(3.0, samples=10)
    assert (
        AtMost("x", Enclosure.at_least(1.0, samples=10), bound).judge().verdict
        is Verdict.CONSISTENT
    )
    judged = AtMost("x", sampled, Enclosure.equal(2.0)).judge()
    assert judged.verdict is Verdict.INCONCLUSIVE and judged.contradicted
    good = Witness({"x": 1.0}, Enclosure.exact(3), Enclosure.exact(2), "again, in rationals")
    assert (
        AtMost("x", sampled, Enclosure.equal(2.0), witness=good).judge().verdict is Verdict.REFUTED
    )
    gone = Witness({"x": 1.0}, Enclosure.exact(1), Enclosure.exact(2), "again, in rationals")
    assert (
        AtMost("x", sampled, Enclosure.equal(2.0), witness=gone).judge().verdict
        is Verdict.INCONCLUSIVE
    )


def test_a_witness_cannot_itself_be_sampled():
    with pytest.raises(ValueError, match="sampled"):
        Witness({}, Enclosure.measured(3, samples=2), Enclosure.exact(2), "by sampling")


def test_a_bound_above_the_trivial_value_is_marked_vacuous_but_holds():
    judged = AtMost(
        "error", Enclosure.exact(Fraction(1, 4)), Enclosure.exact(7), trivial=1.0
    ).judge()
    assert judged.verdict is Verdict.PROVED and judged.vacuous
    assert (
        not AtMost("error", Enclosure.exact(0), Enclosure.exact(Fraction(1, 2)), trivial=1.0)
        .judge()
        .vacuous
    )


@given(exact, exact)
def test_an_identity_is_proved_only_for_equal_exact_points_and_refuted_only_when_apart(left, right):
    verdict = Identity("x", left, right).judge().verdict
    assert (verdict is Verdict.PROVED) == (left.is_point and right.is_point and left.lo == right.lo)
    assert (verdict is Verdict.REFUTED) == (left.lo > right.hi or right.lo > left.hi)


def test_an_identity_of_wide_overlapping_enclosures_is_inconclusive():
    assert (
        Identity("x", Enclosure.between(0, 1), Enclosure.between(0.5, 2)).judge().verdict
        is Verdict.INCONCLUSIVE
    )
    narrow = Enclosure.between(1, 1 + 1e-12)
    assert Identity("x", narrow, narrow).judge().verdict is Verdict.CERTIFIED


@given(enclosures(), st.floats(0.1, 4), st.booleans())
def test_a_finite_run_neither_proves_nor_refutes_a_rate(slope, order, sharp):
    rate = Rate("x", order, slope, (1.0, 2.0, 4.0), (1.0, 0.5, 0.25), sharp=sharp)
    assert rate.judge().verdict in (Verdict.CONSISTENT, Verdict.INCONCLUSIVE)


def test_a_rate_is_consistent_when_the_whole_interval_is_steep_enough():
    steep = Enclosure(-1.05, -0.98, Basis.SAMPLED, 5, 0.99)
    assert Rate("x", 1.0, steep, (1,), (1,)).judge().verdict is Verdict.CONSISTENT
    assert Rate("x", 1.5, steep, (1,), (1,)).judge().verdict is Verdict.INCONCLUSIVE
    assert Rate("x", 0.5, steep, (1,), (1,), sharp=True).judge().verdict is Verdict.INCONCLUSIVE


@given(enclosures(), enclosures(), st.floats(0, 10))
def test_a_limit_is_never_proved_or_refuted(limit, last, within):
    assert Converges("x", limit, (last,), (1.0,), within).judge().verdict in (
        Verdict.CONSISTENT,
        Verdict.INCONCLUSIVE,
    )


@given(enclosures(), enclosures())
def test_not_finding_something_never_refutes_that_it_exists(achieved, wanted):
    assert Exists("x", {}, achieved, wanted).judge().verdict is not Verdict.REFUTED


@pytest.mark.parametrize("kind", [AtMost, Identity])
def test_a_sample_of_which_nothing_is_known_is_consistent_with_nothing(kind):
    nothing = Enclosure(basis=Basis.SAMPLED, samples=3)
    for sides in ((nothing, Enclosure.exact(1)), (Enclosure.measured(1, samples=3), nothing)):
        assert kind("x", *sides).judge().verdict is Verdict.INCONCLUSIVE
