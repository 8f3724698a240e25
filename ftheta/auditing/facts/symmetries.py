"""Parameters that give the same function; shifts, rotations and flips that should not change it."""

from dataclasses import dataclass
from math import isqrt, prod

import numpy as np

from ftheta.groups import dihedral, layout_of, on_images
from ftheta.groups.defects import representations_for
from ftheta.logic import (
    AuditFinding,
    Axis,
    Bars,
    Curves,
    Enclosure,
    Fact,
    Heatmap,
    Series,
    Status,
    SubjectError,
    UsageError,
)
from ftheta.relu.describe import plain_form
from ftheta.relu.exact import from_description
from ftheta.relu.symmetry.canonical import canonical, path_norm
from ftheta.relu.symmetry.copies import measure_norms
from ftheta.subjects import Network
from ftheta.subjects.layers import MOST_WEIGHTS, describes_this_function

from ..judging import judge, percent
from ..part import Part
from .inputs import affordable, ensure_real_inputs, outputs_at, some_rows
from .large import is_large

ROWS = 64
MOST_BALANCED = 2_000_000  # weights
LEAST_SIDE = 4  # of an image
MOST_SHIFTS = 8
FEW_SHIFTS = (1, 4, 16)  # of a large network
ROUNDING = 1e-9  # of the largest output
MOVES = {  # of the plane, rows downwards and columns to the right
    (0, -1, 1, 0): "90° rotation",
    (0, 1, -1, 0): "90° rotation",
    (-1, 0, 0, -1): "180° rotation",
    (1, 0, 0, -1): "horizontal flip",
    (-1, 0, 0, 1): "vertical flip",
    (0, 1, 1, 0): "transpose",
    (0, -1, -1, 0): "transpose",
}


def canonical_form(net: Network, rng: np.random.Generator) -> Part:
    """Neurons that are left when duplicates are merged and dead ones dropped, in rationals; their least rescaling."""
    behind = net.behind_scaling()
    told = behind.description  # norms are those of the parameters
    why = plain_form(told) or _misdescription(behind)
    if told is None or why:
        raise SubjectError(
            "The canonical form is that of a list of ReLU layers.",
            got=why,
            remedy="give ReLU layers that end in an affine map",
        )
    size = sum(layer.weight.size for layer in told.layers)
    if size > MOST_BALANCED:
        raise SubjectError(
            "The network is too large to be balanced.",
            got=f"{size:,} weights",
            remedy="take fewer layers",
        )
    before = sum(told.widths[1:-1])
    copies = measure_norms(told)
    facts = [
        Fact("squared norm of the parameters", Enclosure.equal(copies.before)),
        Fact("minimum-norm rescaling, squared norm", Enclosure.equal(copies.after)),
    ]
    if size > MOST_WEIGHTS:
        facts.append(
            Fact("canonical form", f"not computed: {size:,} weights are too many for rationals")
        )
        return Part(tuple(facts))
    form = canonical(from_description(told))
    after = sum(form.widths[1:-1])
    facts += [
        Fact(f"neurons in the canonical form, of {before:,}", Enclosure.exact(after)),
        Fact("duplicate or dead neurons", Enclosure.exact(before - after), key="duplicate_neurons"),
        Fact("path norm, the same for all copies", Enclosure.exact(path_norm(form))),
    ]
    says = f"{before - after:,} of {before:,} neurons are duplicate or dead: the function needs {after:,}."
    return Part(
        tuple(facts),
        findings=judge(
            "duplicate-neurons", Enclosure.exact(before - after), says, "proved, in rationals"
        ),
    )


def _misdescription(net: Network) -> str:
    """Why a list of layers is not known to be what the network computes; empty where it is."""
    found = describes_this_function(net, {})
    return (
        ""
        if found.status is Status.PROVED
        else f"a list of layers that is not shown to be the function: {found.note}"
    )


def shifts(net: Network, rng: np.random.Generator) -> Part:
    """How much the outputs change when the input is shifted cyclically along each axis."""
    ensure_real_inputs(net, "images or sequences of real numbers as inputs")
    grid = image_of(net.input_shape)
    if grid is None:
        got = f"inputs of shape {net.input_shape}"
        raise SubjectError(
            "The inputs are no images or sequences.",
            got=got,
            remedy="give inputs with axes, or square images",
        )
    x, source = some_rows(net, affordable(net, 5e9 / (2 * MOST_SHIFTS), 4, ROWS), rng)
    still = outputs_at(net, x).reshape(len(x), *net.output_shape)
    moves_too = (
        layout_of(net.input_shape, net.output_shape) is not None and len(net.input_shape) > 1
    )
    what = "equivariance defect" if moves_too else "invariance defect"
    distances = FEW_SHIFTS if is_large(net) else range(1, MOST_SHIFTS + 1)
    moves = [(axis, by) for axis in grid.axes for by in distances if by <= grid.shape[axis] // 2]
    moved = outputs_at(net, np.concatenate([grid.roll(x, axis, by) for axis, by in moves]))
    moved = moved.reshape(len(moves), *still.shape)
    facts = []
    series = []
    stays: list[float] = []
    where = np.zeros(still.shape[1:])
    for axis in grid.axes:
        here = [k for k, (a, _) in enumerate(moves) if a == axis]
        by = [moves[k][1] for k in here]
        wanted = [np.roll(still, b, axis=axis + 1) if moves_too else still for b in by]
        defects = [_defect(moved[k], w, still) for k, w in zip(here, wanted)]
        where = np.maximum(where, np.abs(moved[here[0]] - wanted[0]).max(0))
        told = f"{source}, shifts of {_describe_distances(by)}, relative to the outputs"
        known = Enclosure.at_least(max(defects), samples=len(x) * len(by))
        facts.append(Fact(f"{what}, axis {axis + 1}", known, told))
        if not moves_too and still[0].size > 1:
            kept = int((_flatten(moved[here[0]]).argmax(1) == _flatten(still).argmax(1)).sum())
            name = f"predictions unchanged under a shift by 1, axis {axis + 1}"
            facts.append(Fact(name, Enclosure.measured(kept, samples=len(x)), told))
            stays.append(kept / len(x))
        series.append(Series(f"axis {axis + 1}", by, defects))
    chart = Curves(
        f"{what} against shift", Axis("shift"), Axis("largest relative change"), tuple(series)
    )
    maps = _change_map(where / _largest_entry(still), grid) if moves_too else ()
    return Part(tuple(facts), charts=(chart, *maps), findings=_judge_shifts(stays, len(x)))


def _describe_distances(by: list[int]) -> str:
    """1 to 8, or 1, 4 and 16."""
    if by == list(range(by[0], by[-1] + 1)):
        return f"{by[0]} to {by[-1]}"
    return f"{', '.join(map(str, by[:-1]))} and {by[-1]}"


def _judge_shifts(stays: list[float], n: int) -> tuple[AuditFinding, ...]:
    """From the share of predictions that stay under a shift by one, for each axis."""
    if not stays:
        return ()
    changed = 1 - min(stays)
    if changed <= 0.1:
        says = (
            f"A shift by one pixel leaves {percent(min(stays), 0)} of the predictions as they are."
        )
    else:
        shares = " and ".join(f"{percent(share, 0)}" for share in stays)
        says = f"Not shift-invariant: {shares} of the predictions survive a shift by one pixel along the axes."
    return judge("shifts", Enclosure.measured(changed, samples=n), says)


def _change_map(change: np.ndarray, grid: "Grid") -> tuple[Heatmap, ...]:
    """The change of each pixel of an output image when the input is shifted by one: a border shows itself. Nothing
    where nothing changes."""
    if len(grid.axes) < 2 or change.max() <= ROUNDING:
        return ()
    sheet = change.max(tuple(set(range(change.ndim)) - set(grid.axes)))
    extent = (0.0, float(sheet.shape[1]), 0.0, float(sheet.shape[0]))
    title = "where a shift by one changes more than it should"
    return (Heatmap(title, Axis("column"), Axis("row"), sheet, extent, "change / largest output"),)


def turns(net: Network, rng: np.random.Generator) -> Part:
    """How much the outputs change when an image is turned or reflected; pixels move, none is interpolated."""
    ensure_real_inputs(net, "image inputs")
    grid = image_of(net.input_shape)
    if grid is None or len(grid.axes) < 2:
        got = f"inputs of shape {net.input_shape}"
        raise SubjectError(
            "The inputs are no images.", got=got, remedy="give inputs with height and width"
        )
    height, width = (grid.shape[axis] for axis in grid.axes)
    group = dihedral(4 if height == width else 2)
    channels = prod(grid.shape) // (height * width)
    images = on_images(group, (height, width), channels, channels_first=grid.axes == (1, 2))
    try:
        images, target = representations_for(net, images, None)
    except UsageError as error:  # outputs that are images of another form
        raise SubjectError(
            error.what, got=f"outputs of shape {net.output_shape}", remedy=error.remedy
        ) from error
    x, source = some_rows(net, affordable(net, 5e9 / group.order, 4, ROWS), rng)
    still = outputs_at(net, x)
    rows = _flatten(x)
    others = [g for g in range(group.order) if g != group.identity]
    moved = outputs_at(
        net, np.concatenate([images.move(g, rows) for g in others]).reshape(-1, *x.shape[1:])
    )
    found: dict[str, float] = {}
    stays: dict[str, int] = {}
    for g, values in zip(others, moved.reshape(len(others), *still.shape)):
        name = MOVES[tuple(group.plane[g].ravel().tolist())]  # type: ignore[index]
        found[name] = max(found.get(name, 0.0), _defect(values, target.move(g, still), still))
        kept = int((values.argmax(1) == still.argmax(1)).sum())
        stays[name] = min(stays.get(name, len(x)), kept)
    moves_too = bool((target.character != target.dimension).any())
    what = "equivariance defect" if moves_too else "invariance defect"
    told = f"{source}, relative to the outputs"
    facts = [
        Fact(f"{what}, {k}", Enclosure.at_least(v, samples=len(x)), told) for k, v in found.items()
    ]
    if not moves_too and still.shape[1] > 1:
        of_them = f"of {len(x)}; {source}"
        for k, kept in stays.items():
            unchanged = Enclosure.measured(kept, samples=len(x))
            facts.append(
                Fact(f"predictions unchanged under a {k}", unchanged, of_them, f"unchanged, {k}")
            )
    title = f"{what} under rotations and flips"
    chart = Bars(
        title, Axis("largest relative change"), tuple(found), ("",), (tuple(found.values()),)
    )
    return Part(tuple(facts), charts=(chart,))


def _largest_entry(values: np.ndarray) -> float:
    return float(np.abs(values).max()) or 1.0


def _flatten(rows: np.ndarray) -> np.ndarray:
    return rows.reshape(len(rows), -1)


def _defect(moved: np.ndarray, wanted: np.ndarray, still: np.ndarray) -> float:
    """The largest change of a row, relative to its size."""
    size = np.maximum(np.linalg.norm(_flatten(still), axis=1), 1e-300)
    return float((np.linalg.norm(_flatten(moved - wanted), axis=1) / size).max())


@dataclass(frozen=True)
class Grid:
    """How an input is an image or a sequence: its shape, and the axes along which it can be shifted."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    def roll(self, x: np.ndarray, axis: int, by: int) -> np.ndarray:
        return np.roll(x.reshape(len(x), *self.shape), by, axis=axis + 1).reshape(x.shape)


def image_of(shape: tuple[int, ...]) -> Grid | None:
    """(C, H, W), (H, W, C), (length, features), or a flattened square; None where no side is long enough."""
    if len(shape) == 1:
        side = isqrt(shape[0])
        shape, axes = ((side, side), (0, 1)) if side**2 == shape[0] else (shape, ())
    elif len(shape) == 3:
        axes = (1, 2) if shape[0] < min(shape[1:]) else (0, 1)
    else:
        axes = (0,) if len(shape) == 2 else ()
    axes = tuple(axis for axis in axes if shape[axis] >= LEAST_SIDE)
    return Grid(shape, axes) if axes else None
