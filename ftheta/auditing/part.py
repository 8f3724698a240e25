"""What one fact contributes to its section."""

from dataclasses import dataclass, replace

from ftheta.logic import Basis, Chart, Enclosure, Fact, Table


@dataclass(frozen=True, slots=True)
class Part:
    """Facts with tables and charts."""

    facts: tuple[Fact, ...]
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()


def no_better(e: Enclosure, basis: Basis) -> Enclosure:
    """The enclosure, known no better than `basis`, exact or float."""
    return replace(e, basis=basis) if e.basis.rank < basis.rank else e
