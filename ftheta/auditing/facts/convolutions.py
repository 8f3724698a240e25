"""What holds for convolutional networks: what a unit sees of the input, and the filters as stencils."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftheta.graph import Graph, Node, trace, values
from ftheta.logic import AuditFinding, Axis, Curves, Enclosure, Fact, Heatmap, Series, Table
from ftheta.subjects import Network

from ..judging import judge
from ..part import Part
from .inputs import name_other_kind

DERIVATIVE = 0.1  # |Σw| ÷ Σ|w|, up to which a filter is a derivative
MEAN = 0.9  # from which it is an average
SHOWN = 40
MOST_FILTERS = 64  # drawn
COLUMNS = 16


@dataclass(frozen=True)
class _Field:
    """What one unit sees along an axis: so many entries of the input, and how far apart neighbours look."""

    width: int = 1
    jump: int = 1

    def behind(self, window: int, stride: int, dilation: int) -> "_Field":
        return _Field(self.width + (window - 1) * dilation * self.jump, self.jump * stride)


def receptive_field(net: Network, rng: np.random.Generator) -> Part:
    """How much of the input a unit of each convolution sees, from the windows of the program, and the first filters."""
    graph = trace(net.apply, net.params, net.example)
    convolutions = _convolutions(graph)
    if not convolutions:
        raise name_other_kind()
    fields = _trace_fields(graph)
    sizes = _grid(convolutions[0])
    widths = [tuple(field.width for field in fields[node.outputs[0].id]) for node in convolutions]
    last = widths[-1]
    share = min(1.0, min(w / n for w, n in zip(last, sizes)))
    told = f"of {' × '.join(map(str, sizes))}, from the windows and strides"
    value = Enclosure.exact(max(last))
    filters = _first_filters(net, graph, convolutions[0])
    facts = (
        Fact("convolutions", Enclosure.exact(len(convolutions))),
        Fact("receptive field of the last convolution", " × ".join(map(str, last)), told),
        Fact(
            "its share of the input, smallest axis", Enclosure.equal(share), told, "receptive_field"
        ),
        *_stencil_facts(filters),
    )
    whole = " × ".join(map(str, sizes))
    seen = "all" if share == 1 else " × ".join(map(str, last))
    says = f"A unit of the last convolution sees {seen} of the {whole} input."
    findings = judge(
        "receptive-field", value, says, "exact, from the windows of the program", judged_by=share
    )
    charts = (_picture(widths, sizes), *_filter_picture(filters))
    return Part(
        facts, (_table(convolutions, widths),), charts, (*findings, *_judge_filters(filters))
    )


def _convolutions(graph: Graph) -> list[Node]:
    moving = {slot.id for slot in graph.argument(1)}
    found = []
    for node in graph.nodes:
        if node.inputs and any(slot.id in moving for slot in node.inputs):
            moving.update(slot.id for slot in node.outputs)
            if node.primitive == "conv_general_dilated" and node.inputs[0].id in moving:
                found.append(node)
    return found


def _axes(node: Node) -> tuple[Sequence[int], Sequence[int]]:
    """Of a convolution, the spatial axes of its input and of its filters."""
    numbers = node.params["dimension_numbers"]
    return numbers[0][2:], numbers[1][2:]


def _grid(node: Node) -> tuple[int, ...]:
    return tuple(node.inputs[0].shape[axis] for axis in _axes(node)[0])


def _trace_fields(graph: Graph) -> dict[int, tuple[_Field, ...]]:
    """The field of every slot behind the first convolution: the widest of what it is made of, wider by windows."""
    fields: dict[int, tuple[_Field, ...]] = {}
    for node in graph.nodes:
        known = [fields[slot.id] for slot in node.inputs if slot.id in fields]
        here = max(known, key=lambda each: each[0].width) if known else None
        if node.primitive == "conv_general_dilated":
            windows = [node.inputs[1].shape[axis] for axis in _axes(node)[1]]
            start = here or (_Field(),) * len(windows)
            steps = zip(start, windows, node.params["window_strides"], node.params["rhs_dilation"])
            here = tuple(field.behind(*more) for field, *more in steps)
        elif here is not None and node.primitive.startswith("reduce_window"):
            windows = list(node.params["window_dimensions"])
            strides = list(node.params["window_strides"])
            moved = [k for k, w in enumerate(windows) if w > 1 or strides[k] > 1][-len(here) :]
            if len(moved) == len(here):
                here = tuple(
                    field.behind(windows[k], strides[k], 1) for field, k in zip(here, moved)
                )
        if here is not None:
            fields |= {slot.id: here for slot in node.outputs}
    return fields


def _first_filters(net: Network, graph: Graph, node: Node) -> np.ndarray:
    """The filters of a convolution, (out, in, height, width) or (out, in, length)."""
    numbers = node.params["dimension_numbers"]
    seen = values(graph, net.params, np.zeros(net.input_shape))
    return np.asarray(seen[node.inputs[1]], np.float64).transpose(numbers[1])


def _balance(filters: np.ndarray) -> np.ndarray:
    """|Σw| ÷ Σ|w| of every stencil: 0 of a derivative, 1 of an average."""
    flat = filters.reshape(filters.shape[0] * filters.shape[1], -1)
    return np.abs(flat.sum(1)) / np.maximum(np.abs(flat).sum(1), 1e-300)


def _stencil_facts(filters: np.ndarray) -> tuple[Fact, ...]:
    balance = _balance(filters)
    told = f"of {len(balance)} stencils {'×'.join(map(str, filters.shape[2:]))} of the first convolution"
    return (
        Fact(
            "stencils that are derivatives (weights add up to 0)",
            Enclosure.exact(int((balance < DERIVATIVE).sum())),
            told,
        ),
        Fact(
            "stencils that are averages (weights of one sign)",
            Enclosure.exact(int((balance > MEAN).sum())),
            told,
        ),
    )


def _judge_filters(filters: np.ndarray) -> tuple[AuditFinding, ...]:
    """Filters of the first layer that are next to zero."""
    norms = np.linalg.norm(filters.reshape(len(filters), -1), axis=1)
    idle = int((norms < 0.01 * norms.max(initial=0.0)).sum())
    says = f"{idle} of {len(filters)} filters of the first convolution are next to zero (below 1 % of the largest)."
    return judge(
        "idle-filters", Enclosure.exact(idle), says, "exact", judged_by=idle / len(filters)
    )


def _table(convolutions: list[Node], widths: list[tuple[int, ...]]) -> Table:
    rows = []
    for k, (node, width) in enumerate(zip(convolutions, widths), 1):
        size = "×".join(map(str, (node.inputs[1].shape[axis] for axis in _axes(node)[1])))
        strides = "×".join(map(str, node.params["window_strides"]))
        rows.append((k, size, strides, "×".join(map(str, _grid(node))), "×".join(map(str, width))))
    return Table(
        "convolutions",
        ("number", "filter", "stride", "its input", "receptive field"),
        tuple(rows[:SHOWN]),
    )


def _picture(widths: list[tuple[int, ...]], sizes: tuple[int, ...]) -> Curves:
    number = np.arange(1, len(widths) + 1)
    field = Series(
        "receptive field",
        number,
        [max(w) for w in widths],
        mark="points" if len(widths) < 3 else "line",
    )
    whole = Series("input", [1, max(2, len(widths))], [max(sizes)] * 2, "reference")
    title = "receptive field of each convolution, in entries of the input"
    return Curves(title, Axis("convolution"), Axis("entries"), (field, whole))


def _filter_picture(filters: np.ndarray) -> tuple[Heatmap, ...]:
    """The stencils of the first convolution side by side, each divided by its largest entry."""
    if filters.ndim != 4 or max(filters.shape[2:]) < 2:
        return ()
    stencils = filters.reshape(-1, *filters.shape[2:])[:MOST_FILTERS]
    tiles = [np.pad(s / max(np.abs(s).max(), 1e-300), 1) for s in stencils]
    tiles += [np.zeros_like(tiles[0])] * (-len(tiles) % min(COLUMNS, len(tiles)))
    columns = min(COLUMNS, len(tiles))
    lines = [np.concatenate(tiles[k : k + columns], axis=1) for k in range(0, len(tiles), columns)]
    whole = np.concatenate(lines)
    height, width = whole.shape
    title = "filters of the first convolution, each over its largest weight"
    return (
        Heatmap(
            title, Axis(), Axis(), whole[::-1], (0.0, float(width), 0.0, float(height)), "weight"
        ),
    )
