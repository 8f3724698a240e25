"""What a theorem returns: claims and what was seen on the way. No verdict: that is judged elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .chart import Chart
from .claim import Claim
from .enclosure import Enclosure
from .table import Table


@dataclass(frozen=True, slots=True)
class Examples:
    """The theorem on things other than the subject: a worked example, a random network, a function from the text.

    `numbers` are the named quantities of these things that reference values are compared with.
    """

    claims: tuple[Claim, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    numbers: Mapping[str, Enclosure | float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", _as_enclosures(self.numbers))


@dataclass(frozen=True, slots=True)
class Evidence:
    """`claims` are about the subject and alone carry the verdict.

    - `examples` illustrate the theorem on other things: judged and shown on the theorem's page, never part of the
      verdict, and not computed in an audit. That is why they are a function, called only where they are shown.
    - `as_printed` are statements as a source prints them, judged beside the theorem but never part of its verdict:
      that is where a misprint is refuted.
    - `numbers` are the named quantities of the subject that reference values are compared with.
    - `summary` is one sentence with the main numbers.
    """

    claims: tuple[Claim, ...]
    charts: tuple[Chart, ...] = ()
    numbers: Mapping[str, Enclosure | float] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    as_printed: tuple[Claim, ...] = ()
    summary: str = ""
    examples: Callable[[], Examples] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", _as_enclosures(self.numbers))


def _as_enclosures(numbers: Mapping[str, Enclosure | float]) -> dict[str, Enclosure]:
    return {name: _as_enclosure(number) for name, number in numbers.items()}


def _as_enclosure(number: Enclosure | float) -> Enclosure:
    """A plain number is a formula evaluated in float64; NaN (a run that diverged) is a number not known."""
    return number if isinstance(number, Enclosure) else Enclosure.equal(number)


NO_EVIDENCE = Evidence(claims=())  # where a hypothesis fails, nothing is measured
