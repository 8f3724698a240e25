"""Tables as data."""

from dataclasses import dataclass

from .frozen import Frozen


@dataclass(frozen=True, slots=True)
class Table(Frozen):
    """Rows of text and numbers under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[float | int | str, ...], ...]
