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


@dataclass(frozen=True, slots=True)
class AuditProgress:
    """How far an audit has come: so many of its `tasks` are done, after so many counted `seconds` of its `budget`
    (None: no limit). `now` are the ids of the tasks under way; `which` says of two networks which is looked at.

    It ends when all tasks are done or the budget is used up, whichever comes first.
    """

    done: int
    tasks: int
    seconds: float
    budget: float | None = None
    now: tuple[str, ...] = ()
    which: str = ""

    @property
    def share(self) -> float:
        """Of the way, between 0 and 1."""
        of_tasks = self.done / self.tasks if self.tasks else 1.0
        of_budget = self.seconds / self.budget if self.budget else 0.0
        return min(1.0, max(of_tasks, of_budget))

    @property
    def seconds_left(self) -> float | None:
        """Until it ends if it goes on at the pace so far: never more than the budget has left. None at the start."""
        share = self.share
        return self.seconds * (1 - share) / share if share > 0 and self.seconds > 0 else None

    def __str__(self) -> str:
        which = f"{self.which}: " if self.which else ""
        return f"{which}{self.done} of {self.tasks}: {', '.join(self.now) or 'starting'}"


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
