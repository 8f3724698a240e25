"""Networks and data that cannot be used: one clear finding, beside all that can still be said."""

import numpy as np
import pytest
import torch
from torch import nn

import ftheta as ft
from ftheta.auditing.facts import ABOUT_DATA
from ftheta.auditing.performing import perform
from ftheta.auditing.plan import plan_tasks
from ftheta.logic import Audit, Skipped, SubjectError
from ftheta.networks import Dense, Description
from ftheta.subjects import Dataset, Network

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6)).astype(np.float32)
X[:, 2] = 1.0  # a column that is constant, to be found whatever is wrong with the rest
Y = np.arange(40) % 3
FEW = ("test-error", "columns", "duplicates", "counts")


def module() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))


def broken() -> nn.Module:
    made = module()
    with torch.no_grad():
        made[0].weight[0, 0] = float("nan")
    return made


class Raising(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("there is no such table")


def audited(model, data, **options) -> Audit:
    return ft.audit(model, data, workers=0, budget=None, only=FEW, **options)


def rules(found: Audit) -> list[str]:
    return [finding.rule for finding in found.findings]


def keys(found: Audit) -> set[str]:
    return {fact.key for section in found.sections for fact in section.facts}


@pytest.mark.parametrize(
    ("labels", "part"),
    [
        (Y[:30], "40 rows, 30 labels"),
        (Y + 1, "labels from 1 to 3, 3 outputs"),
        (np.where(Y == 1, np.nan, Y), "13 such values"),
    ],
    ids=["too few", "of other outputs", "not a number"],
)
def test_rows_are_used_without_labels_that_cannot_be(labels, part):
    for model in (module(), ft.load(module())):
        found = audited(model, (X, labels))
        assert rules(found)[:2] == ["unusable-data", "constant-columns"]
        assert found.findings[0].says.startswith("The labels of the data cannot be used")
        assert part in found.findings[0].says
        assert {"duplicates", "parameters"} <= keys(found) and "accuracy" not in keys(found)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ((X[:, :5], Y), "rows of shape (5,), the network takes (6,)"),
        ((np.where(X > 2, np.nan, X), Y), "nan"),
        ((X.astype(str), Y), "real numbers"),
    ],
    ids=["of another shape", "not numbers", "words"],
)
def test_a_module_is_audited_without_rows_that_cannot_be_used(data, part):
    found = audited(module(), data)
    assert rules(found) == ["unusable-data"] and part in found.findings[0].says
    assert "parameters" in keys(found)


@pytest.mark.parametrize(
    ("make", "part"), [(broken, "not finite"), (Raising, "there is no such table")]
)
def test_of_a_network_that_cannot_be_used_the_data_are_judged(make, part):
    found = audited(make(), (X, Y))
    assert rules(found) == ["unusable-network", "constant-columns"]
    assert found.subject == type(make()).__name__
    assert found.findings[0].severity.value == "problem" and part in found.findings[0].says
    assert "parameters" not in keys(found) and "imbalance" in keys(found)
    assert {missing.id for missing in found.skipped} == {"test-error", "counts"}
    with pytest.raises(SubjectError):
        audited(make(), None)


def test_an_assertion_fails_on_a_network_that_cannot_be_used():
    from ftheta.testing import assert_audit

    with pytest.raises(AssertionError, match="The network cannot be used"):
        assert_audit(broken(), (X, Y), "constant_columns >= 0", workers=0, budget=None, only=FEW)


def test_a_function_is_audited_at_rows_of_its_data():
    found = audited(lambda x: x[:3], (X, Y))
    assert "accuracy" in keys(found)


@pytest.mark.parametrize("rows", [40, 1])
def test_no_fact_fails_on_one_row_or_an_affine_map(rows):
    affine = Network.described(Description((Dense(RNG.normal(size=(3, 6)), np.zeros(3)),)))
    net = affine.with_data(Dataset("rows", X[:rows], Y[:rows]))
    asked = ["effective-rank", "rays", "relu-symmetries-conservation", *ABOUT_DATA]
    for task in plan_tasks(asked):
        found = perform(task, (net,), 0)
        assert not (isinstance(found, Skipped) and "internal" in found.reason), found
