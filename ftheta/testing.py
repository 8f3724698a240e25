"""For the test suite of a project that trains networks: thresholds that an audit has to meet.

def test_the_model_is_fit_to_ship():
    ftheta.testing.assert_audit("model.onnx", "test.npz", "accuracy >= 0.95", "dead_neurons == 0")
"""

from pathlib import Path
from typing import Any

from ftheta.auditing import audit
from ftheta.auditing.thresholds import project_thresholds, read_thresholds, require
from ftheta.logic import Audit, Met, UsageError


def assert_audit(model: Any, data: Any = None, *thresholds: str, **options: Any) -> Audit:
    """Audit the network and raise an AssertionError that names every threshold that is missed or unknown.

    Without `thresholds` those of `[tool.ftheta.audit]` in `pyproject.toml` here are taken; one may also be the name of
    a TOML file. The `options` are those of `ft.audit`.
    """
    wanted = read_thresholds(thresholds or project_thresholds(Path.cwd()))
    if not wanted:
        remedy = 'give `"accuracy >= 0.95"`, or `require = [...]` under [tool.ftheta.audit] in pyproject.toml'
        raise UsageError("There is no threshold to assert.", remedy=remedy)
    found = require(audit(model, data, **options), wanted)
    assert isinstance(found, Audit)
    failed = [r for r in found.requirements if r.met is not Met.MET]
    if failed:
        raise AssertionError("\n".join(f"{r.text}: {r.met.value}, {r.says}" for r in failed))
    return found
