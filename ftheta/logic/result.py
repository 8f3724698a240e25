"""The outcome of one run, as data: what every view reads and what is written to JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .chart import Chart, Diagram, Table
from .claim import Claim
from .enclosure import Enclosure
from .hypothesis import Finding, Status
from .knob import Value
from .verdict import Judgement, Verdict, capped, weakest

SCHEMA = 1  # raised when the JSON form changes in a way that older readers cannot read


@dataclass(frozen=True, slots=True)
class Check:
    """A hypothesis with what was found."""

    name: str
    says: str
    remedy: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with its judgement."""

    claim: Claim
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Provenance:
    """All that is needed to run it again, and how long it took. `origin` says where the subject came from: the
    theorem's own, its negative control, or one handed in."""

    versions: Mapping[str, str]
    seed: int
    knobs: Mapping[str, Value]
    subject: str
    subject_kind: str
    subject_hash: str
    forced: bool
    wall_seconds: float
    origin: Literal["built-in", "breaker", "given"] = "built-in"


@dataclass(frozen=True, slots=True)
class Result:
    """Verdict, evidence and provenance of one theorem on one subject."""

    id: str
    chapter: str
    title: str
    statement: str
    sources: tuple[str, ...]
    errata: str
    verdict: Verdict
    vacuous: bool
    summary: str
    checks: tuple[Check, ...]
    claims: tuple[Judged, ...]
    as_printed: tuple[Judged, ...]
    numbers: Mapping[str, Enclosure]
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...]
    provenance: Provenance
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class Audit:
    """Every theorem that takes a network, on one network. `facts` say what it is; `skipped` names the theorems
    that were not run, with the reason."""

    subject: str
    kind: str
    hash: str
    facts: tuple[tuple[str, str], ...]
    diagram: Diagram | None
    results: tuple[Result, ...]
    skipped: tuple[tuple[str, str], ...]
    seed: int
    date: str
    version: str
    data: str = ""
    schema: int = SCHEMA


def conclude(findings: Sequence[Finding], judgements: Sequence[Judgement]) -> Verdict:
    """The verdict of a run: the weakest judgement, capped by the weakest hypothesis.

    A failed hypothesis makes the theorem inapplicable whatever was measured, unless (in a forced run) the
    claim was refuted: then that is what was shown.
    """
    claims = weakest(j.verdict for j in judgements)
    if claims is Verdict.REFUTED:
        return claims
    if any(f.status is Status.FAILED for f in findings):
        return Verdict.INAPPLICABLE
    return capped(claims, weakest([Verdict.PROVED, *(f.cap for f in findings)]))
