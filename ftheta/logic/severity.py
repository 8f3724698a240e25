"""What an audit has to say of a network, and how much it matters."""

from dataclasses import dataclass
from enum import StrEnum

from .enclosure import Enclosure


class Severity(StrEnum):
    """How much a finding matters, from worst."""

    PROBLEM = "problem"  # what the network is used for suffers; do something
    WARNING = "warning"  # likely to matter; look at it
    NOTE = "note"  # worth knowing
    GOOD = "good"  # looked for and not found, or better than it had to be

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One sentence with its number, and what to do.

    `question` is the id of the section it belongs to, `rule` the id of the rule that gave its severity
    (`ftheta.auditing.rules`), `because` that rule in words. `basis` says how the `value` is known: exact, certified, or
    measured with the number of rows and the confidence. `means` says in a sentence what follows, `remedy` what to do.
    `theorem` is the id of the theorem, or of the fact, that it comes from.
    """

    severity: Severity
    question: str
    says: str
    value: Enclosure
    basis: str
    means: str = ""
    remedy: str = ""
    theorem: str = ""
    rule: str = ""
    because: str = ""


class Met(StrEnum):
    """Whether a requirement is met."""

    MET = "met"
    MISSED = "missed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A threshold such as `accuracy >= 0.95`, whether it is met, and what was found."""

    text: str
    met: Met
    says: str
