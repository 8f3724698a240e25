"""Networks trained in PyTorch with a fault planted: it is the first finding, and a healthy twin does not show it."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "examples" / "faults.py"
FEW = ("test-error", "calibration", "baselines", "label-errors", "shared-rows", "active-units")


@pytest.fixture(scope="module")
def faults():
    spec = importlib.util.spec_from_file_location("faults", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["faults"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["faults"]


@pytest.mark.parametrize("name", ["dead_layer", "leaked_rows", "mislabelled", "overconfident"])
def test_a_planted_fault_is_the_first_finding(faults, name):
    case = getattr(faults, name)()
    first = faults.audit(case, FEW).findings[0]
    assert first.rule == case.rule and first.severity.value in ("problem", "warning"), first.says


@pytest.mark.parametrize("name", ["healthy", "noisy"])
def test_a_healthy_twin_shows_no_problem(faults, name):
    found = faults.audit(getattr(faults, name)(), FEW).findings
    rules = {"dead-layer", "shared-rows", "label-errors", "miscalibration"}
    assert not [f for f in found if f.rule in rules and f.severity.value in ("problem", "warning")]
    assert not [f for f in found if f.severity.value == "problem"]
