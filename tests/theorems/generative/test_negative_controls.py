"""What breaks a theorem on generative models, through its knobs: inapplicable, and refuted when forced."""

import pytest

import ftheta as ft
from ftheta.logic import Verdict


@pytest.mark.parametrize(
    ("id", "knobs"),
    [("girsanov", {"process": "probability flow"}), ("sampler-orders", {"shift": 1})],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_broken_hypothesis_is_refuted_when_forced(id, knobs):
    assert ft.check(id, **knobs).verdict is Verdict.INAPPLICABLE
    assert ft.check(id, force=True, **knobs).verdict is Verdict.REFUTED


@pytest.mark.parametrize("id", ["straight-is-not-optimal", "trace-estimators", "guidance-is-not-tilting"])
def test_a_common_belief_is_refuted(id):
    printed = ft.check(id).as_printed
    assert [claim.judgement.verdict for claim in printed] == [Verdict.REFUTED]


def test_on_the_line_and_for_commuting_covariances_straight_is_optimal():
    result = ft.check("straight-is-not-optimal", tilt=0.0)
    assert result.verdict is Verdict.CERTIFIED
    assert not result.as_printed


def test_reverse_sde_of_a_gaussian_is_proved():
    assert ft.check("girsanov", spread=0.25).verdict is Verdict.PROVED
