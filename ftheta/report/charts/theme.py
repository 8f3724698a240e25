"""Colours and letters of the charts: light and dark, which correspond entry by entry, and for paper."""

from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

ThemeName: TypeAlias = Literal["light", "dark", "paper"]
FONT = "DejaVu Sans, Verdana, sans-serif"


@dataclass(frozen=True, slots=True)
class Theme:
    """`measured` and `bounds` hold the first and the further colours of those roles; `*_text` their letters."""

    background: str
    ink: str
    muted: str
    grid: str
    rule: str
    reference: str
    box: str
    measured: tuple[str, ...]
    bounds: tuple[str, ...]
    measured_text: tuple[str, ...]
    bounds_text: tuple[str, ...]

    @property
    def point_colours(self) -> tuple[str, ...]:
        """The colours of groups of points."""
        return (self.measured[0], self.bounds[0], *self.measured[1:], *self.bounds[1:])


LIGHT = Theme(
    background="#ffffff",
    ink="#0f172a",
    muted="#5b6b80",
    grid="#e6ebf1",
    rule="#b6c2d1",
    reference="#77869b",
    box="#f8fafc",
    measured=(
        "#2563eb",
        "#0d9488",
        "#7c3aed",
        "#db2777",
        "#65a30d",
        "#0891b2",
        "#9333ea",
        "#475569",
    ),
    bounds=("#ea580c", "#dc2626", "#ca8a04", "#be185d"),
    measured_text=(
        "#1d4ed8",
        "#0f766e",
        "#6d28d9",
        "#be1b5f",
        "#4d7c0f",
        "#0e7490",
        "#7e22ce",
        "#475568",
    ),
    bounds_text=("#c2410c", "#b91c1c", "#a16207", "#9d174d"),
)
DARK = Theme(
    background="#0f172a",
    ink="#e2e8f0",
    muted="#94a3b8",
    grid="#243044",
    rule="#475569",
    reference="#8c9bb0",
    box="#172136",
    measured=(
        "#60a5fa",
        "#2dd4bf",
        "#a78bfa",
        "#f472b6",
        "#a3e635",
        "#22d3ee",
        "#c084fc",
        "#cbd5e1",
    ),
    bounds=("#fb923c", "#f87171", "#facc15", "#f9a8d4"),
    measured_text=(
        "#61a6fa",
        "#2ed4bf",
        "#a88bfa",
        "#f473b6",
        "#a4e635",
        "#23d3ee",
        "#c184fc",
        "#ccd5e1",
    ),
    bounds_text=("#fc923c", "#f97171", "#fbcc15", "#faa8d4"),
)
# the colours of Okabe and Ito, which colour-blind readers tell apart; within a role their greys differ
PAPER = Theme(
    background="#ffffff",
    ink="#000000",
    muted="#000000",
    grid="#e3e3e3",
    rule="#000000",
    reference="#707070",
    box="#ffffff",
    measured=("#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#000000"),
    bounds=("#d55e00", "#e69f00", "#8c3d00", "#a6761d"),
    measured_text=("#000000",) * 5,
    bounds_text=("#000000",) * 4,
)
THEMES: dict[str, Theme] = {"light": LIGHT, "dark": DARK, "paper": PAPER}
# dark and light in turn
PAPER_FILLS = ("#003f66", "#e69f00", "#009e73", "#f0e442", "#d55e00", "#56b4e9")
# what tells series and groups apart where colours do not
MEASURED_DASHES = ([], [2, 2], [9, 2, 2, 2], [14, 3], [9, 2, 2, 2, 2, 2])
BOUND_DASHES = ([6, 3], [4, 4], [6, 3, 3, 3], [11, 5])
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)


def dark_colours() -> dict[str, str]:
    """Every colour of the light theme with the one that takes its place in the dark."""
    pairs: dict[str, str] = {}
    for field in fields(Theme):
        light = getattr(LIGHT, field.name)
        dark = getattr(DARK, field.name)
        pairs.update({light: dark} if isinstance(light, str) else zip(light, dark))
    return pairs
