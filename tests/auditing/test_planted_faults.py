"""Networks trained in PyTorch with a fault planted: it is the first finding, and a healthy twin does not show it."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "examples" / "faults.py"
FEW = (
    "test-error",
    "calibration",
    "baselines",
    "label-errors",
    "shared-rows",
    "active-units",
    "evaluation-mode",
)


@pytest.fixture(scope="module")
def faults():
    spec = importlib.util.spec_from_file_location("faults", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["faults"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["faults"]


def at_night(*names: str):
    return [pytest.param(name, marks=pytest.mark.nightly) for name in names]


def known(found) -> dict[str, float]:
    """The numbers of the facts that have a key."""
    facts = [fact for section in found.sections for fact in section.facts]
    return {
        fact.key: fact.value.middle
        for fact in facts
        if fact.key and not isinstance(fact.value, str)
    }


@pytest.mark.parametrize(
    "name",
    [
        "dead_layer",
        "leaked_rows",
        "mislabelled",
        "overconfident",
        "dropout_left_on",
        "exploding",
        *at_night("not_robust"),
    ],
)
def test_a_planted_fault_is_the_first_finding(faults, name):
    case = getattr(faults, name)()
    first = faults.audit(case, FEW).findings[0]
    assert first.rule == case.rule and first.severity.value in ("problem", "warning"), first.says


@pytest.mark.parametrize("name", ["healthy", "noisy", *at_night("eval_mode")])
def test_a_healthy_twin_shows_no_problem(faults, name):
    found = faults.audit(getattr(faults, name)(), FEW).findings
    rules = {
        "dead-layer",
        "shared-rows",
        "label-errors",
        "miscalibration",
        "training-mode",
        "signal-growth",
    }
    assert not [f for f in found if f.rule in rules and f.severity.value in ("problem", "warning")]
    assert not [f for f in found if f.severity.value == "problem"]


@pytest.mark.nightly
def test_every_fault_is_absent_from_the_report_of_its_twin(faults):
    for plant, twin in faults.TWINS.items():
        fault = plant()
        found = faults.audit(replace(twin(), more=fault.more)).findings
        assert not [
            f.says
            for f in found
            if f.rule == fault.rule and f.severity.value in ("problem", "warning")
        ]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name",
    ["cnn", "resnet", "gru", "transformer", "two_inputs", "regression", "autoencoder", "deep"],
)
def test_networks_of_every_kind_are_audited_with_the_numbers_of_pytorch(faults, name):
    case = getattr(faults, name)()
    found = faults.audit(case)
    numbers = known(found)
    key = "squared_error" if case.data.y.dtype.kind == "f" else "accuracy"
    assert numbers[key] == pytest.approx(faults.score(case), rel=1e-9)
    assert not [f for f in found.findings if f.severity.value == "problem"], [
        f.says for f in found.findings
    ]


def test_accuracy_is_that_of_pytorch(faults):
    case = faults.healthy()
    assert known(faults.audit(case, ("test-error",)))["accuracy"] == pytest.approx(
        faults.score(case), rel=1e-12
    )
