"""What claims, witnesses and audits say, in words that every view uses."""

from collections.abc import Mapping

from ftheta.catalogue.bibliography import references
from ftheta.languages import later, t
from ftheta.logic import AtMost, Check, Exists, Finding, Identity, Judged, Result, Status, Verdict
from ftheta.logic.result import Audit
from ftheta.logic.witness import Coordinate, Witness

from .letters import letters
from .numbers import enclosure, number
from .verdicts import look

STATUSES = {  # of a hypothesis
    Status.PROVED: later("proved", "hypothesis"),
    Status.SAMPLED: later("sampled", "hypothesis"),
    Status.ASSUMED: later("assumed", "hypothesis"),
    Status.FAILED: later("failed", "hypothesis"),
}


def headline(result: Result) -> Judged | None:
    """The claim that decides the verdict: the first of the weakest."""
    return max(result.claims, key=lambda judged: judged.judgement.verdict.rank, default=None)


def failing_checks(result: Result) -> list[Check]:
    """The hypotheses that fail; one that cannot be decided while another fails is left out."""
    failed = [c for c in result.checks if c.finding.status is Status.FAILED]
    return [c for c in failed if not c.finding.awaits] or failed


def describe_status(finding: Finding) -> str:
    """How well a hypothesis is known, in brackets after its note: why it is proved, or that it is not."""
    if finding.status is not Status.PROVED:
        return f" ({t(STATUSES[finding.status], 'hypothesis')})"
    return f" ({t('proved: {why}', why=finding.why)})" if finding.why else ""


def unmet_requirements(result: Result) -> str:
    """The hypotheses that fail, by name."""
    return ", ".join(c.name for c in failing_checks(result))


def count_verdicts(audit: Audit) -> list[tuple[str, int, str]]:
    """How many theorems hold, are not applicable, were not checked, are violated; with the family each belongs to.

    Inconclusive ones are counted only where there are any.
    """
    families = [look(r.verdict).family for r in audit.results]
    rows = [
        ("holds", families.count("holds"), "hold" if families.count("holds") != 1 else "holds"),
        ("fails", families.count("fails"), "not applicable"),
        ("unchecked", len(audit.skipped), "not checked"),
        (
            "refuted",
            families.count("refuted"),
            "violations" if families.count("refuted") != 1 else "violation",
        ),
    ]
    unclear = ("open", families.count("open"), "inconclusive")
    return [rows[0], unclear, *rows[1:]] if unclear[1] else rows


def describe_counts(audit: Audit) -> str:
    """`44 held · 0 violated · 19 not applicable · 2 not checked`."""
    families = [look(r.verdict).family for r in audit.results]
    words = [f"{families.count('holds')} held", f"{families.count('refuted')} violated"]
    unclear = families.count("open")
    words += [f"{unclear} inconclusive"] if unclear else []
    words += [f"{families.count('fails')} not applicable"] if "fails" in families else []
    words += [f"{len(audit.skipped)} not checked"] if audit.skipped else []
    return " · ".join(words)


def describe_witness(judged: Judged) -> list[str]:
    """The witness of a claim, or the object that it says exists."""
    claim = judged.claim
    words = []
    if isinstance(claim, Exists) and claim.found:
        words.append(t("found: {point}", point=coordinates(claim.found)))
    if isinstance(claim, (AtMost, Identity)) and claim.witness is not None:
        refuted = judged.judgement.verdict is Verdict.REFUTED
        point = _witness(claim.witness)
        words.append(
            t("witness: {point}", point=point)
            if refuted
            else t("checked again at {point}", point=point)
        )
    return words


def _witness(witness: Witness) -> str:
    return t(
        "{point}; there {left} against {right} ({how})",
        point=coordinates(witness.at),
        left=enclosure(witness.left),
        right=enclosure(witness.right),
        how=letters(witness.how),
    )


def coordinates(at: Mapping[str, Coordinate]) -> str:
    """`x = 1, w = (1, 2, 3)`, long tuples cut."""
    return ", ".join(f"{letters(name)} = {_coordinate(value)}" for name, value in at.items())


def _coordinate(value: Coordinate) -> str:
    if isinstance(value, tuple):
        rest = f", … {t('{n} in all', n=f'{len(value):,}')}" if len(value) > 6 else ""
        return f"({', '.join(number(v) for v in value[:6])}{rest})"
    return letters(value) if isinstance(value, str) else number(value)


def source(key: str) -> str:
    """A source as one line: authors, title, year; its key where the bibliography has none."""
    return references().get(key, key)
