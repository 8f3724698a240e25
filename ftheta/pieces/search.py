"""All pieces of a network on a domain; their number; or the pieces as they are found."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ftheta.logic.enclosure import Basis, Enclosure

from .by_points import PointComplex
from .cells import Certificate
from .complex import Complex
from .domains import LARGEST_BOX, Box, Domain, Polyline, Space, as_domain, domain_volume
from .enumeration import NO_LABEL, Chunk, Tally
from .plan import Plan
from .questions.corner_values import exact_corner
from .setting import Exactness, begin, checked_budget

POOR = 1e-6  # corners with a larger error bound, relative to the domain, are computed again: a handful, far below it


def pieces(
    net: Any,
    domain: Domain | tuple[ArrayLike, ArrayLike],
    *,
    exact: Exactness = "auto",
    max_cells: int | None = None,
    max_seconds: float | None = None,
    max_work: float | None = None,
    maps: bool = True,
    workers: int = 1,
) -> Complex:
    """All pieces of a network on a domain: a `ReluNetwork`, or anything `ft.load` makes a network of. A pair
    `(lower, upper)` is a box.

    `exact="auto"` decides every sign in float64 with a rigorous error bound and only the open ones in rational
    arithmetic; `exact=True` computes in rational arithmetic throughout; `exact=False` takes open signs for zero and
    says how many there were. `max_cells`, and `max_work` in elementary steps (about a hundred millions a second), end
    at the same cell on every machine; `max_seconds` are of processor time, without that of compilation. Out of budget,
    the pieces found so far are returned and `certificate.complete` is False.
    Without `maps` the affine maps are computed when they are first asked for. With several `workers`, threads share
    polygons and boxes (segments, rational arithmetic and boxes of many dimensions take one): the same pieces, in
    another order.
    """
    domain = as_domain(domain)
    budget = checked_budget(max_cells, max_seconds, max_work)
    maps = maps or isinstance(domain, Polyline)  # its segments have charts of their own
    parts = begin(net, domain, exact, budget, store=True, maps=maps, workers=workers)
    chunks = []
    total = Tally(complete=True)
    for i, part in enumerate(parts):
        for chunk in part.chunks:
            chunks.append(_shift_chunk(chunk, i) if i else chunk)
        total = total.plus(part.tally)
        if not part.tally.complete:
            break
    certificate = Certificate.of(
        total, exact is not False, domain_volume(domain), parts[0].plan.net
    )
    whole = _assemble(parts[0].plan, domain, chunks, certificate)
    return (
        _sharpen_corners(whole) if exact == "auto" and not isinstance(domain, Polyline) else whole
    )


def count_pieces(
    net: Any,
    domain: Domain | tuple[ArrayLike, ArrayLike],
    *,
    exact: Exactness = "auto",
    max_cells: int | None = None,
    max_seconds: float | None = None,
    max_work: float | None = None,
    workers: int = 1,
) -> Enclosure:
    """The number of pieces, nothing stored, by `workers` threads: exactly, or at least those found in the budget."""
    domain = as_domain(domain)
    budget = checked_budget(max_cells, max_seconds, max_work)
    if isinstance(domain, Space):
        from .space import count_in_space

        return count_in_space(net, domain, exact, budget)
    parts = begin(net, domain, exact, budget, store=False, maps=False, workers=workers)
    total = Tally(complete=True)
    for part in parts:
        for _ in part.chunks:
            pass
        total = total.plus(part.tally)
        if not part.tally.complete:
            break
    basis = parts[0].plan.net.basis if exact is not False and total.guessed == 0 else Basis.FLOAT
    return Enclosure(total.cells, total.cells if total.complete else float("inf"), basis)


def stream_pieces(
    net: Any,
    domain: Domain | tuple[ArrayLike, ArrayLike],
    *,
    exact: Exactness = "auto",
    max_cells: int | None = None,
    max_seconds: float | None = None,
    max_work: float | None = None,
    maps: bool = False,
    workers: int = 1,
) -> Iterator[Chunk]:
    """The pieces in chunks of some ten thousand, while the enumeration runs: memory stays bounded."""
    domain = as_domain(domain)
    budget = checked_budget(max_cells, max_seconds, max_work)
    for part in begin(net, domain, exact, budget, store=True, maps=maps, workers=workers):
        yield from part.chunks


def _assemble(plan: Plan, domain: Domain, chunks: list[Chunk], certificate: Certificate) -> Complex:
    """One complex of all chunks."""
    d = plan.dimension
    if not chunks:
        empty = np.zeros(0)
        words = np.zeros((0, plan.words), np.uint64)
        none = (
            np.zeros((0, d)),
            empty,
            empty.astype(np.int32),
            np.zeros(1, np.int64),
            empty.astype(np.uint64),
            words,
        )
        return Complex(plan, domain, *none, certificate, None)
    if isinstance(domain, Box) and d > LARGEST_BOX:
        return PointComplex(plan, domain, chunks, certificate)
    widest = max(chunk.labels.shape[1] if chunk.labels.ndim == 2 else 0 for chunk in chunks)
    labels = [_pad(chunk.labels, widest) for chunk in chunks]
    shifts = np.cumsum([0, *(len(chunk.vertices) for chunk in chunks[:-1])])
    ends = np.concatenate([[0], *(chunk.ends[1:] + shift for chunk, shift in zip(chunks, shifts))])
    join = lambda name: _join([getattr(chunk, name) for chunk in chunks])
    maps = None if chunks[0].maps is None else join("maps")
    arrays = (
        join("vertices"),
        join("radius"),
        _join(labels),
        ends,
        join("names"),
        join("patterns"),
    )
    return Complex(plan, domain, *arrays, certificate, maps)


def _shift_chunk(chunk: Chunk, by: int) -> Chunk:
    """The chunk of a segment of a polyline, its coordinate counted from the start of the polyline."""
    chunk.vertices = chunk.vertices + by
    if chunk.maps is not None:
        chunk.maps[:, :, -1] -= by * chunk.maps[:, :, 0]
    return chunk


def _sharpen_corners(cells: Complex) -> Complex:
    """The complex with corners that float64 knows poorly (of nearly parallel facets) computed anew, exactly."""
    if not cells.has_corners:
        return cells
    size = max(1e-300, float(np.abs(cells.vertices).max(initial=0.0)))
    poor = np.flatnonzero(cells.radius > POOR * size)
    if not len(poor) or not cells.certificate.is_certain:
        return cells
    owner = np.searchsorted(cells.ends, poor, side="right") - 1
    for v, i in zip(poor.tolist(), owner.tolist()):
        point = exact_corner(cells, i, v)
        cells.vertices[v] = [x / point[-1] for x in point[:-1]]
        cells.radius[v] = 2.0**-52 * size
    return cells


def _join(arrays: list[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _pad(labels: np.ndarray, width: int) -> np.ndarray:
    if labels.ndim == 1 or labels.shape[1] == width:
        return labels
    return np.pad(labels, ((0, 0), (0, width - labels.shape[1])), constant_values=NO_LABEL)
