"""Findings made of values by the table of rules: which are worth saying, how their numbers are known, their order."""

from dataclasses import replace

from ftheta.logic import AuditFinding, Basis, Enclosure, Severity

from .rules import BY_ID, ORDER


def judge(
    id: str,
    value: Enclosure,
    says: str,
    basis: str = "",
    *,
    judged_by: float | None = None,
    means: str = "",
    remedy: str = "",
) -> tuple[AuditFinding, ...]:
    """The finding that the rule makes of a value, or none: what is good and not worth saying.

    `judged_by` is the number that the limits are compared with, where it is not the value itself (the certain end of
    an interval). What is good asks for nothing.
    """
    rule = BY_ID[id]
    severity = rule.severity(value.middle if judged_by is None else judged_by)
    if severity is Severity.GOOD and not rule.praises:
        return ()
    advice = "" if severity is Severity.GOOD else remedy or rule.remedy
    known = basis or describe_knowledge(value)
    why = rule.describe(severity)
    return (
        AuditFinding(
            severity, rule.question, says, value, known, means, advice, rule.theorem, id, why
        ),
    )


def weigh_without_data(findings: tuple[AuditFinding, ...]) -> tuple[AuditFinding, ...]:
    """What was seen at standard normal inputs where there are no data: worth knowing at most, and nothing to praise, as
    nobody may ever feed the network with such inputs."""
    return tuple(
        replace(
            finding,
            severity=Severity.NOTE,
            means=f"There are no data: the rows are standard normal inputs. {finding.means}".strip(),
            because=f"{finding.because}; a note at most, as there are no data",
        )
        for finding in findings
        if finding.severity is not Severity.GOOD
    )


def describe_knowledge(value: Enclosure) -> str:
    """How a number is known, in the words of a finding: exact, certified, or measured on so many rows."""
    if value.basis is Basis.SAMPLED:
        sure = "" if value.confidence is None else f", {100 * value.confidence:.6g} % confidence"
        rows = "row" if value.samples == 1 else "rows"
        return f"measured, {value.samples:,} {rows}{sure}"
    return "exact" if value.basis is Basis.EXACT else "computed in float64"


def sort_findings(findings: tuple[AuditFinding, ...]) -> tuple[AuditFinding, ...]:
    """Worst first; of one severity in the order of the table."""
    return tuple(
        sorted(findings, key=lambda found: (found.severity.rank, ORDER.get(found.rule, len(ORDER))))
    )


def percent(share: float, digits: int = 1) -> str:
    """97.2 %, as a sentence says it."""
    return f"{100 * share:.{digits}f} %"
