"""A learning rate is held against the largest stable step: below, at or beyond the edge of stability."""

import numpy as np
import pytest

import ftheta as ft
from ftheta.auditing.learning_rate import hold_against
from ftheta.auditing.part import Part
from ftheta.logic import Enclosure, Fact, Severity, UsageError
from ftheta.networks import random_mlp
from ftheta.report.reproduce import audit_command, audit_snippet


@pytest.mark.parametrize(
    ("lr", "severity", "where"),
    [
        (0.05, Severity.GOOD, "below"),
        (0.095, Severity.NOTE, "at the edge"),
        (0.2, Severity.WARNING, "beyond"),
    ],
)
def test_where_a_learning_rate_lies(lr, severity, where):
    step = Fact("step", Enclosure.between(0.099, 0.1), "", "stable_step")
    (found,) = hold_against(Part((step,)), lr).findings
    assert found.severity is severity and where in found.says and found.question == "training"
    assert found.value.lo == pytest.approx(lr / 0.1)


def test_a_step_that_is_only_bounded_from_above_says_beyond_what_it_is_certain_of():
    step = Fact("step", Enclosure.between(0.0, 0.1), "", "stable_step")
    (found,) = hold_against(Part((step,)), 0.3).findings
    assert found.severity is Severity.WARNING and "at least 3 times" in found.says


def test_an_audit_says_it_and_can_be_had_again():
    rng = np.random.default_rng(0)
    net = ft.Network.described(random_mlp(rng, (2, 3, 1), "relu", bias=0.5))
    rows = ft.Dataset("rows", rng.normal(size=(12, 2)), rng.normal(size=12))
    found = ft.audit(net, rows, only=["curvature-of-the-loss"], lr=1000.0, workers=0, budget="10m")
    assert "The learning rate 1000 is beyond" in found.findings[0].says
    assert found.findings[0].basis == "computed in float64"
    assert "--lr 1000.0" in audit_command(found) and "lr=1000.0" in audit_snippet(found)


@pytest.mark.parametrize("lr", [0.0, -1.0, float("nan"), float("inf")])
def test_a_learning_rate_is_a_positive_number(lr):
    with pytest.raises(UsageError, match="positive"):
        ft.audit("digits-mlp", only=["counts"], lr=lr, workers=0)
