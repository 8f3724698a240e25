"""What a part of the theorem adds to its evidence."""

from dataclasses import dataclass, field

from ftheta.logic import Chart, Claim, Enclosure, Table

Numbers = dict[str, Enclosure | float]


@dataclass(frozen=True)
class Part:
    """What one of the three statements says of the subject."""

    claims: tuple[Claim, ...] = ()
    numbers: Numbers = field(default_factory=dict)
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    summary: str = ""
