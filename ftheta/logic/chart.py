"""Charts as data. How they are drawn is the report's business.

Every sequence is stored as tuples of floats, so that a chart is immutable, comparable and writes to JSON.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .frozen import Frozen

if TYPE_CHECKING:  # what may be given: anything that holds numbers; what is stored: tuples
    Numbers: TypeAlias = Any
    Rows: TypeAlias = Any
else:
    Numbers: TypeAlias = tuple[float, ...]
    Rows: TypeAlias = tuple[tuple[float, ...], ...]
Scale: TypeAlias = Literal["linear", "log", "symlog"]
Role: TypeAlias = Literal["measured", "bound", "reference", "other"]


@dataclass(frozen=True, slots=True)
class Axis:
    """`years` are written as they are, 1943; other numbers with a thousands comma, 1,943."""

    label: str = ""
    scale: Scale = "linear"
    years: bool = False


@dataclass(frozen=True, slots=True)
class Series(Frozen):
    """One curve with its direct label; `lo` and `hi` draw a band around it."""

    name: str
    x: Numbers
    y: Numbers
    role: Role = "measured"
    mark: Literal["line", "points", "step"] = "line"
    lo: Numbers = ()
    hi: Numbers = ()


@dataclass(frozen=True, slots=True)
class Curves(Frozen):
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    kind: Literal["curves"] = "curves"


def draw_curves(
    title: str,
    at: Numbers,
    *,
    x: str = "",
    y: str = "",
    log: str = "",
    measured: Mapping[str, Numbers] | None = None,
    bound: Mapping[str, Numbers] | None = None,
    reference: Mapping[str, Numbers] | None = None,
    other: Mapping[str, Numbers] | None = None,
) -> Curves:
    """Curves over the common grid `at`, by their role: each role maps the label of a curve to its values.

    `x` and `y` label the axes; `log` names those that are logarithmic: "x", "y" or "xy".
    """
    roles: tuple[tuple[Role, Mapping[str, Numbers] | None], ...] = (
        ("measured", measured),
        ("bound", bound),
        ("reference", reference),
        ("other", other),
    )
    series = [
        Series(name, at, values, role)
        for role, curves in roles
        for name, values in (curves or {}).items()
    ]
    x_axis = Axis(x, "log" if "x" in log else "linear")
    y_axis = Axis(y, "log" if "y" in log else "linear")
    return Curves(title, x_axis, y_axis, tuple(series))


@dataclass(frozen=True, slots=True)
class Bars(Frozen):
    """Grouped horizontal bars: `values[g][c]` belongs to group `groups[g]` and category `categories[c]`."""

    title: str
    x: Axis
    categories: tuple[str, ...]
    groups: tuple[str, ...]
    values: Rows
    kind: Literal["bars"] = "bars"


@dataclass(frozen=True, slots=True)
class Heatmap(Frozen):
    """`values[i][j]` at row i (from the bottom) and column j of the rectangle `extent` = (x0, x1, y0, y1).

    One that is `grey` is a picture: from black to white, with square pixels, without axes and without a bar of colours.
    """

    title: str
    x: Axis
    y: Axis
    values: Rows
    extent: tuple[float, float, float, float]
    label: str = ""
    grey: bool = False
    kind: Literal["heatmap"] = "heatmap"


@dataclass(frozen=True, slots=True)
class Histogram(Frozen):
    """Counts or densities between consecutive `edges`, with curves drawn over them."""

    title: str
    x: Axis
    y: Axis
    edges: Numbers
    heights: Numbers
    curves: tuple[Series, ...] = ()
    kind: Literal["histogram"] = "histogram"


@dataclass(frozen=True, slots=True)
class Handle:
    """A point of a chart that can be dragged in the lab: its coordinates are the values of two knobs."""

    across: str
    up: str
    at: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Regions(Frozen):
    """Polygons, each a tuple of (x, y) corners, coloured by `values`; `lines` are drawn over them.

    `label` says what the values are; without one they mean nothing, and only tell polygons apart.
    With `classes`, the names of the classes 0, 1, …, the values are their numbers, and the colours are those of the
    classes. `points` are then rows of data: x, y, the class of the row (−1 if it is not known), and the class that it
    is given. A `handle` is a point that can be dragged.
    """

    title: str
    x: Axis
    y: Axis
    polygons: tuple[tuple[tuple[float, float], ...], ...]
    values: Numbers
    label: str = ""
    lines: tuple[tuple[tuple[float, float], ...], ...] = ()
    classes: tuple[str, ...] = ()
    points: Rows = ()
    handle: Handle | None = None
    kind: Literal["regions"] = "regions"


@dataclass(frozen=True, slots=True)
class Points(Frozen):
    """A scatter, coloured by group."""

    title: str
    x: Axis
    y: Axis
    xs: Numbers
    ys: Numbers
    groups: tuple[str, ...] = ()
    kind: Literal["points"] = "points"


@dataclass(frozen=True, slots=True)
class Motion(Frozen):
    """Points that move: point i is at (`xs[k][i]`, `ys[k][i]`) at the time `times[k]`; coloured by group.

    `depths[k][i]`, from −1 to 1, is how near a point is to the one who looks. `lines` stand still; `links` are points,
    by their index, that a line joins wherever they are. `ways` draws the whole way of every point. With `alike` a unit
    is as long on both axes, and axes without names are not drawn. A `handle` is a point that can be dragged. A still
    picture shows the last of the times.
    """

    title: str
    x: Axis
    y: Axis
    times: Numbers
    xs: Rows
    ys: Rows
    groups: tuple[str, ...] = ()
    depths: Rows = ()
    lines: tuple[tuple[tuple[float, float], ...], ...] = ()
    links: tuple[tuple[int, ...], ...] = ()
    ways: bool = True
    alike: bool = False
    clock: str = "t"
    handle: Handle | None = None
    kind: Literal["motion"] = "motion"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of a network diagram: its name, how many units it has, and a note such as the activation."""

    name: str
    units: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Diagram(Frozen):
    """A layered network, drawn left to right."""

    title: str
    layers: tuple[Layer, ...]
    kind: Literal["diagram"] = "diagram"


@dataclass(frozen=True, slots=True)
class Vertex:
    """A node of a computational graph: label above, value and adjoint below."""

    id: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Dag(Frozen):
    """A computational graph: edges are pairs of vertex ids, from input to output."""

    title: str
    vertices: tuple[Vertex, ...]
    edges: tuple[tuple[str, str], ...]
    kind: Literal["dag"] = "dag"


Chart: TypeAlias = Curves | Bars | Heatmap | Histogram | Regions | Points | Motion | Diagram | Dag
