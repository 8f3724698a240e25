"""Verdicts are ordered from strongest, and the first three of them hold."""

from ftheta.logic import Verdict
from ftheta.logic.verdict import weakest


def test_what_was_proved_certified_or_measured_holds():
    assert [v for v in Verdict if v.holds] == [
        Verdict.PROVED,
        Verdict.CERTIFIED,
        Verdict.CONSISTENT,
    ]


def test_several_verdicts_are_as_weak_as_the_weakest():
    assert weakest([Verdict.PROVED, Verdict.CONSISTENT, Verdict.CERTIFIED]) is Verdict.CONSISTENT
    assert weakest([Verdict.PROVED, Verdict.REFUTED]) is Verdict.REFUTED
    assert weakest([]) is Verdict.INCONCLUSIVE
