"""An audit for build servers: read again by parsers that are not ours."""

import json
from dataclasses import replace
from xml.etree import ElementTree

from ftheta.report.ci import annotations, junit, markdown, sarif
from ftheta.report.save import save_audit

from . import samples


def test_junit_fails_for_problems_and_missed_thresholds_and_skips_what_is_unknown() -> None:
    suite = ElementTree.fromstring(junit(samples.audit()).encode())
    assert suite.tag == "testsuite" and (
        suite.get("tests"),
        suite.get("failures"),
        suite.get("skipped"),
    ) == ("4", "2", "1")
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == ["accuracy >= 0.95", "Predictions flip easily: 7 of 24 rows."]


def test_sarif_has_a_rule_for_every_result() -> None:
    log = json.loads(sarif(samples.audit()))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0" and run["tool"]["driver"]["name"] == "ftheta"
    assert {result["ruleId"] for result in run["results"]} <= {
        rule["id"] for rule in run["tool"]["driver"]["rules"]
    }
    assert [result["level"] for result in run["results"]] == ["error", "none", "error", "warning"]
    places = {
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]
    }
    assert places == {"mnist_mlp.onnx"}


def test_markdown_has_the_thresholds_and_the_findings_in_tables() -> None:
    text = markdown(samples.audit("a|b"))
    assert "## Audit of a\\|b: needs attention" in text
    assert "| `accuracy >= 0.95` | missed | 0.91 |" in text
    assert "| problem | Predictions flip easily: 7 of 24 rows. | train with `robust=` |" in text


def test_annotations_cannot_be_forged_by_a_name() -> None:
    evil = replace(samples.FINDINGS[0], says="x\n::error::forged 100%")
    lines = annotations(replace(samples.audit(), findings=(evil,)))
    assert len(lines) == 3 and all("\n" not in line for line in lines) and "100%25" in lines[0]


def test_each_form_is_a_file(tmp_path) -> None:
    for name, part in (("r.md", "##"), ("r.xml", "<testsuite"), ("r.sarif", "2.1.0")):
        (path,) = save_audit(samples.audit(), tmp_path / name)
        assert part in path.read_text()
