"""What breaks a theorem on generative models, through its knobs: inapplicable, and refuted when forced."""

from fractions import Fraction

import pytest

import ftheta as ft
from ftheta.catalogue import theorems
from ftheta.logic import Verdict
from ftheta.running import run

CHAPTER = [theorem for theorem in theorems().values() if theorem.chapter == "generative"]


@pytest.mark.parametrize("theorem", CHAPTER, ids=lambda theorem: theorem.id)
def test_every_theorem_of_the_chapter_has_a_negative_control(theorem):
    # the contract runs and forces it
    assert theorem.breaks_on is not None and not theorem.unbreakable


def test_a_negative_control_may_be_a_preset():
    by_name = run(theorems()["girsanov"], preset="broken on purpose", force=True)
    by_flag = run(theorems()["girsanov"], breaker=True, force=True)
    assert by_name.claims == by_flag.claims
    assert by_flag.provenance.knobs["process"] == "probability flow"


@pytest.mark.parametrize(
    "id", ["straight-is-not-optimal", "trace-estimators", "guidance-is-not-tilting"]
)
def test_a_common_belief_is_refuted(id):
    printed = ft.check(id).as_printed
    assert [claim.judgement.verdict for claim in printed] == [Verdict.REFUTED]


def test_on_the_line_and_for_commuting_covariances_straight_is_optimal():
    result = ft.check("straight-is-not-optimal", tilt=0.0)
    assert result.verdict is Verdict.CERTIFIED
    assert not result.as_printed


def test_reverse_sde_of_a_gaussian_is_proved():
    assert ft.check("girsanov", spread=0.25).verdict is Verdict.PROVED


def test_without_guidance_the_flow_and_the_tilted_law_agree():
    result = ft.check("guidance-is-not-tilting", scale=0.0)
    assert result.verdict is Verdict.CERTIFIED
    assert not result.as_printed


def test_guidance_with_another_base_says_where_the_flow_really_ends():
    numbers = ft.check("guidance-is-not-tilting", base=2.0, force=True).numbers
    assert 1 / 64 in numbers["variance of the guided flow"]  # τ⁴ s⁻², τ = ½, s = 2
    assert Fraction(4, 31) in numbers["variance of the tilted law"]  # 1/(2/τ² − 1/s²)
