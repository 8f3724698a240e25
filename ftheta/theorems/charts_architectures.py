"""What theorems on architectures share: claims on the counts of a table of layers, and pictures of its maps."""

import numpy as np

from ftheta.logic import Axis, Bars, Claim, Enclosure, Heatmap, Identity
from ftheta.networks.architectures.counting import PUBLISHED
from ftheta.networks.architectures.mosaics import MOST_SIDE, MOST_TILES, tile_arrays
from ftheta.networks.architectures.stack import Stack

MOST_BARS = 20
WRITTEN = 200  # cells of a heatmap below which their numbers would be written into them


def count_claims(stack: Stack) -> tuple[Claim, ...]:
    """The calculator against the program, traced on shapes alone, and against the number that is published."""
    exact = Enclosure.exact
    traced, shapes = stack.trace_shapes()
    wrong = sum(a != b for a, b in zip(shapes, stack.shapes[1:]))
    claims = (
        Identity(
            f"parameters of {stack.name}: by formula, in the program",
            exact(stack.parameters),
            exact(traced),
        ),
        Identity(
            f"layers of {stack.name} whose shape differs from the program's", exact(wrong), exact(0)
        ),
    )
    if stack.name not in PUBLISHED:
        return claims
    what = f"parameters of {stack.name}: by formula, as published"
    return (*claims, Identity(what, exact(stack.parameters), exact(PUBLISHED[stack.name])))


def draw_parameters(stack: Stack) -> Bars:
    """Where the parameters are."""
    rows = [(k, row) for k, row in enumerate(stack.rows(), 1) if row.parameters]
    if len(rows) > MOST_BARS:
        largest = sorted(rows, key=lambda r: -r[1].parameters)[:MOST_BARS]
        rows = [row for row in rows if row in largest]
    names = tuple(f"{k} · {row.name}" for k, row in rows)
    values = (tuple(row.parameters / 1e6 for _, row in rows),)
    return Bars(
        f"parameters of {stack.name}, layer by layer",
        Axis("millions of parameters"),
        names,
        ("",),
        values,
    )


def draw_mosaic(title: str, maps: np.ndarray) -> Heatmap:
    """Channels side by side, each scaled to its own largest value, so that faint ones are seen too."""
    tiles = np.nan_to_num(maps[:MOST_TILES])
    step = -(-max(tiles.shape[1:]) // MOST_SIDE)
    tiles = tiles[:, ::step, ::step]
    low = tiles.min((1, 2), keepdims=True)
    high = tiles.max((1, 2), keepdims=True)
    tiles = (tiles - low) / np.where(high > low, high - low, 1)
    sheet = tile_arrays(tiles, min(len(tiles), int(np.ceil(np.sqrt(len(tiles) * 1.6)))))
    extent = (0.0, float(sheet.shape[1]), 0.0, float(sheet.shape[0]))
    if sheet.size < WRITTEN:
        sheet = np.kron(sheet, np.ones((4, 4)))
    few = f"{len(tiles)} of " if len(tiles) < len(maps) else ""
    shown = f"{title}: {few}{len(maps)} channel{'s' * (len(maps) > 1)}"
    return Heatmap(
        shown, Axis("pixel"), Axis("pixel"), np.round(sheet[::-1], 4), extent, "each map, scaled"
    )
