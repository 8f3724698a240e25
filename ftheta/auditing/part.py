"""What goes between processes: how a worker begins, what one fact contributes to its section, what a network is."""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ftheta.logic import AuditFinding, Basis, Chart, Diagram, Enclosure, Fact, SubjectError, Table

RADII_TABLE = "radii of the rows tried, in ℓ∞"  # the title of the table that thresholds on robustness are read from
NOT_COMPUTED = "–"  # in that table


DataErrors: TypeAlias = tuple[tuple[str, SubjectError], ...]  # which data cannot be used, and why
NETWORK = "network"  # among these words: the network itself, which only its data stand for


@dataclass(frozen=True, slots=True)
class Setup:
    """How to get the networks (`subjects.unpickle_networks`), the seed, whether this worker says what the networks are,
    and the open file into which it writes how long it compiles kernels."""

    recipe: Any
    seed: int
    describes: bool = False
    record: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Facts with tables and charts, and what there is to say of them."""

    facts: tuple[Fact, ...]
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    findings: tuple[AuditFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class Portrait:
    """What a network is: all that an audit says of it beside what it finds, and why data that came with it could not
    be used."""

    name: str
    kind: str
    fingerprint: str
    facts: tuple[tuple[str, str], ...]
    diagram: Diagram | None
    data: str
    data_errors: DataErrors = ()


def no_better(e: Enclosure, basis: Basis) -> Enclosure:
    """The enclosure, known no better than `basis`, exact or float."""
    return replace(e, basis=basis) if e.basis.rank < basis.rank else e
