"""The affine pieces on a plane through the data."""

from collections.abc import Iterator
from math import isfinite

import numpy as np

from ftheta.logic import Basis, Enclosure, Fact
from ftheta.pieces import Complex, count_pieces, pieces
from ftheta.pieces.slices import slice_of, storable
from ftheta.subjects import Network

from ..part import Part, no_better
from .inputs import ensure_real_inputs, piecewise_affine

MOST_CELLS = 20_000  # no clock: the same pieces on every machine
LESS = 8  # a fraction of the cells that theorems about pieces may take
# how far the slice goes beyond its rows, in steps between them: less and less
BESIDE = (0.5, -0.25, -0.4, -0.47)
AROUND = (3.0, 1.0, 0.3, 0.1)  # half its side, without data


def pieces_on_a_slice(net: Network, rng: np.random.Generator) -> Part:
    """Pieces of the network on the plane through three rows of its data, and how steep it is there.

    Where there are too many of them, the slice is made smaller.
    """
    ensure_real_inputs(net)
    form, basis = piecewise_affine(net)
    data = None if net.data is None else net.data.x
    seed = int(rng.integers(2**32))
    most = max(1, storable(form, MOST_CELLS) // LESS)
    for size in AROUND if data is None else BESIDE:
        domain = slice_of(form.widths[0], data, np.random.default_rng(seed), size)
        if isfinite(count_pieces(form, domain, max_cells=most).hi):
            break
    cells = pieces(form, domain, max_cells=most, maps=True)
    where = _place(form.widths[0], data, size)
    return Part(
        tuple(_facts(cells, basis, where)),
        charts=(cells.chart("slope", boundary=cells.certificate.complete),),
    )


def _facts(cells: Complex, basis: Basis, where: str) -> Iterator[Fact]:
    activity = cells.activity
    neurons = f"of {cells.plan.neurons:,} neurons, {where}"
    found = {
        "pieces": cells.count,
        "neurons switching on this slice": activity.bends,
        "neurons always active": activity.always,
    }
    if cells.certificate.complete:
        regions = len(np.unique(cells.linear_regions()))
        found |= {
            "linear regions": Enclosure(regions, regions, cells.certificate.basis),
            "neurons never active": activity.dead,
            "Lipschitz constant there": cells.lipschitz(),
        }
    for name, value in found.items():
        yield Fact(name, no_better(value, basis), neurons if name.startswith("neurons") else where)
    if not cells.certificate.complete:
        yield Fact("stopped by", cells.certificate.stopped_by, where)


def _place(inputs: int, data: np.ndarray | None, size: float) -> str:
    if inputs == 1:
        return "on a segment"
    if data is None or len(data) < 3:
        return f"on a square of half side {size:g}, in the first two inputs"
    side = f"{1 + 2 * size:g} steps from row to row wide"
    return f"on the plane through three rows, a square {side}"
