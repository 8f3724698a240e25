"""An audit for build servers: Markdown, JUnit XML, SARIF, and annotations of GitHub."""

import json
from typing import Any
from xml.etree import ElementTree

from ftheta.logic import Audit, AuditFinding, Comparison, Met, Severity

from .answers import accuracy_line, count_findings, describe_run, describe_subject, opening, status
from .letters import visible
from .words import describe_counts

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {
    Severity.PROBLEM: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "note",
    Severity.GOOD: "none",
}
_ANNOTATIONS = {Severity.PROBLEM: "error", Severity.WARNING: "warning"}


def audit_of(document: Audit | Comparison) -> Audit:
    """The audit of the network at hand."""
    return document.after if isinstance(document, Comparison) else document


def all_findings(document: Audit | Comparison) -> tuple[AuditFinding, ...]:
    """Those of a comparison first."""
    return document.findings + (document.after.findings if isinstance(document, Comparison) else ())


def markdown(document: Audit | Comparison) -> str:
    """A summary for a pull request: status, thresholds and findings."""
    audit = audit_of(document)
    lines = [
        f"## Audit of {_cell(audit.subject)}: {status(audit).word.lower()}",
        "",
        count_findings(audit),
    ]
    lines += ["", describe_subject(audit), "", accuracy_line(audit), ""]
    if document.requirements:
        lines += ["| threshold | | found |", "|---|---|---|"]
        lines += [
            f"| `{_cell(r.text)}` | {r.met.value} | {_cell(r.says)} |"
            for r in document.requirements
        ]
        lines.append("")
    findings = (
        document.findings + opening(audit) if isinstance(document, Comparison) else opening(audit)
    )
    if findings:
        lines += ["| severity | finding | what to do | how it is known |", "|---|---|---|---|"]
        cells = ((f.severity.value, f.says, f.remedy, f.basis) for f in findings)
        lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in cells]
        lines.append("")
    lines += [f"Checks: {describe_counts(audit)} · {describe_run(audit)}", ""]
    return "\n".join(lines)


def _cell(words: str) -> str:
    return visible(words).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def junit(document: Audit | Comparison) -> str:
    """Every threshold and finding as a test case: missed thresholds and problems fail, unknown ones are skipped."""
    audit = audit_of(document)
    suite = ElementTree.Element(
        "testsuite", name=f"ftheta audit {visible(audit.subject)}", time=f"{audit.seconds:.3f}"
    )
    failures = skipped = 0
    for requirement in document.requirements:
        case = ElementTree.SubElement(
            suite, "testcase", classname="threshold", name=requirement.text
        )
        if requirement.met is Met.MISSED:
            ElementTree.SubElement(case, "failure", message=f"missed: {requirement.says}")
            failures += 1
        elif requirement.met is Met.UNKNOWN:
            ElementTree.SubElement(case, "skipped", message=requirement.says)
            skipped += 1
    for finding in all_findings(document):
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"finding.{finding.question}", name=visible(finding.says)
        )
        if finding.severity is Severity.PROBLEM:
            ElementTree.SubElement(case, "failure", message=visible(finding.remedy)).text = visible(
                finding.because
            )
            failures += 1
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(failures))
    suite.set("skipped", str(skipped))
    suite.set("errors", "0")
    ElementTree.indent(suite)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(suite, encoding="unicode")
        + "\n"
    )


def sarif(document: Audit | Comparison) -> str:
    """SARIF 2.1.0: a rule for each kind of finding, a result for each finding and each threshold that is not met."""
    audit = audit_of(document)
    findings = all_findings(document)
    place = [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": (audit.asked.model or audit.subject).replace("\\", "/")}
            }
        }
    ]
    results: list[dict[str, Any]] = [
        {
            "ruleId": finding.rule,
            "level": _LEVELS[finding.severity],
            "message": {"text": f"{finding.says} {finding.remedy}".strip()},
            "locations": place,
        }
        for finding in findings
    ]
    for requirement in document.requirements:
        if requirement.met is not Met.MET:
            level = "error" if requirement.met is Met.MISSED else "warning"
            text = f"{requirement.text}: {requirement.met.value}, {requirement.says}"
            results.append(
                {
                    "ruleId": "threshold",
                    "level": level,
                    "message": {"text": text},
                    "locations": place,
                }
            )
    known = {finding.rule: finding.because for finding in findings} | {
        "threshold": "a threshold of the project"
    }
    rules = [
        {"id": id, "shortDescription": {"text": text or id}} for id, text in sorted(known.items())
    ]
    driver = {"name": "ftheta", "version": audit.version, "rules": rules}
    log = {
        "$schema": SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, ensure_ascii=False, indent=1) + "\n"


def annotations(document: Audit | Comparison) -> list[str]:
    """Commands that make GitHub show problems, warnings and thresholds that are not met beside a change."""
    lines = [
        f"::{_ANNOTATIONS[f.severity]} title=ftheta: {_escape(f.rule)}::{_escape(f.says)}"
        for f in all_findings(document)
        if f.severity in _ANNOTATIONS
    ]
    for requirement in document.requirements:
        if requirement.met is not Met.MET:
            level = "error" if requirement.met is Met.MISSED else "warning"
            told = f"{requirement.text}: {requirement.met.value}, {requirement.says}"
            lines.append(f"::{level} title=ftheta: threshold::{_escape(told)}")
    return lines


def _escape(words: str) -> str:
    return visible(words).replace("%", "%25").replace("\n", "%0A").replace("\r", "%0D")
