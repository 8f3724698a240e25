"""The outcome of one run, as data: what every view reads and what is written to JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .chart import Chart, Diagram
from .claim import Claim
from .enclosure import Enclosure
from .hypotheses import Finding, Status
from .knob import Value
from .severity import AuditFinding, Requirement
from .table import Table
from .verdict import Judgement, Verdict, weaken_to, weakest

SCHEMA = 3  # raised when the JSON form changes in a way that older readers cannot read


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
    theorem's own, its negative control, or one handed in; `given`, `with_data` and `against` are the words it was
    named by. `data_warnings` say what is worth knowing of data that were handed in."""

    versions: Mapping[str, str]
    seed: int
    knobs: Mapping[str, Value]
    subject: str
    subject_kind: str
    subject_hash: str
    forced: bool
    wall_seconds: float
    origin: Literal["built-in", "breaker", "given"] = "built-in"
    given: str = ""
    with_data: str = ""
    against: str = ""
    data_warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """Verdict, evidence and provenance of one theorem on one subject. `examples` are claims about other things, and
    `example_numbers` are numbers of them."""

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
    examples: tuple[Judged, ...] = ()
    example_numbers: Mapping[str, Enclosure] = field(default_factory=dict)
    gist: str = ""
    see_also: tuple[str, ...] = ()
    schema: int = SCHEMA

    def __repr__(self) -> str:
        """Id, verdict and summary; claims and charts are not written out."""
        return f"Result({self.id!r}, {self.verdict}: {self.summary})"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is known of a network: a number with how well it is known, or words. `note` says what it is of;
    `key` is the name that thresholds know it by."""

    name: str
    value: Enclosure | str
    note: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A question about a network: what was computed to answer it, the best chart first, and the theorems (by id) that
    belong here."""

    id: str
    title: str
    facts: tuple[Fact, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    theorems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not checked: why, and how it can be. `unfinished` if time, not the network, was the reason;
    `stopped_after` so many seconds if it had begun."""

    id: str
    reason: str
    remedy: str = ""
    unfinished: bool = False
    stopped_after: float | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What an audit was asked for, in the words of the command line; `budget` is in seconds, `lr` a learning rate."""

    model: str = ""
    data: str = ""
    labels: str = ""
    until: str = ""
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    budget: float | None = None
    train: str = ""
    lr: float | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    """Every theorem that takes a network, on one network, with what else is known of it.

    `findings` are what it has to say, worst first. `facts` say in words what the network is; `sections` hold the
    numbers, question by question; `skipped` names what was not checked, `requirements` which thresholds are met.
    """

    subject: str
    kind: str
    hash: str
    facts: tuple[tuple[str, str], ...]
    diagram: Diagram | None
    results: tuple[Result, ...]
    skipped: tuple[Skipped, ...]
    seed: int
    date: str
    version: str
    data: str = ""
    sections: tuple[Section, ...] = ()
    asked: Request = Request()
    seconds: float = 0.0
    interrupted: bool = False
    findings: tuple[AuditFinding, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class Change:
    """One fact, or the verdict of one theorem, of two networks; `note` says so where they are not of the same rows."""

    section: str
    name: str
    before: Enclosure | str
    after: Enclosure | str
    same: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two audits with the same data and seed, fact by fact; `difference` is what is known of the two functions, and
    `findings` say what became better or worse."""

    before: Audit
    after: Audit
    difference: Section
    changes: tuple[Change, ...]
    findings: tuple[AuditFinding, ...] = ()
    requirements: tuple[Requirement, ...] = ()
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
    return weaken_to(claims, weakest([Verdict.PROVED, *(f.cap for f in findings)]))
