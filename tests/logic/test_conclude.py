"""How hypotheses and judgements become one verdict."""

from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import Basis, Enclosure, Finding, Judgement, Status, Verdict
from ftheta.logic.result import conclude
from ftheta.logic.verdict import weaken_to, weakest

verdicts = st.sampled_from([v for v in Verdict if v is not Verdict.INAPPLICABLE])
judgements = st.lists(st.builds(Judgement, verdicts, st.just("")), max_size=5)
findings = st.lists(
    st.builds(Finding, st.sampled_from(Status), st.just(""), st.none(), st.sampled_from(Basis)),
    max_size=4,
)


@given(findings, judgements)
def test_the_verdict_is_never_stronger_than_the_weakest_claim(checks, judged):
    assert conclude(checks, judged).rank >= weakest(j.verdict for j in judged).rank


@given(findings, judgements)
def test_a_hypothesis_below_proved_caps_the_verdict_at_consistent(checks, judged):
    if any(f.status is not Status.PROVED for f in checks):
        assert conclude(checks, judged).rank >= Verdict.CONSISTENT.rank


@given(findings, judgements)
def test_a_hypothesis_proved_only_in_float64_caps_the_verdict_at_certified(checks, judged):
    if any(f.basis is not Basis.EXACT for f in checks):
        assert conclude(checks, judged) is not Verdict.PROVED


@given(findings, judgements)
def test_a_failed_hypothesis_leaves_only_inapplicable_or_refuted(checks, judged):
    if any(f.status is Status.FAILED for f in checks):
        refuted = any(j.verdict is Verdict.REFUTED for j in judged)
        assert conclude(checks, judged) is (Verdict.REFUTED if refuted else Verdict.INAPPLICABLE)


@given(findings)
def test_no_claim_means_nothing_was_shown(checks):
    assert conclude(checks, []) in (Verdict.INCONCLUSIVE, Verdict.INAPPLICABLE)


@given(st.lists(verdicts, min_size=1))
def test_combining_takes_the_weakest(many):
    assert weakest(many) in many and all(weakest(many).rank >= v.rank for v in many)


@given(verdicts, verdicts)
def test_a_cap_never_strengthens(verdict, cap):
    assert weaken_to(verdict, cap).rank == max(verdict.rank, cap.rank)


def test_the_order_of_verdicts_is_that_of_the_design():
    words = ["proved", "certified", "consistent", "inconclusive", "inapplicable", "refuted"]
    assert [str(v) for v in Verdict] == words


def test_a_finding_carries_its_number():
    assert Finding.decide(True, "λ = 3", "counted", Enclosure.equal(3.0)).number == Enclosure.equal(
        3.0
    )
