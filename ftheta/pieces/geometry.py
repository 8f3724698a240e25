"""Questions to finished cells: places, neighbours, merging."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from ftheta.logic.errors import UsageError
from ftheta.shapes import Float, Int

from .cells import Cells
from .domains import Polyline
from .enumeration import NO_LABEL
from .measures import following
from .methods.rational import pattern_names
from .questions.corner_values import map_error, size_of
from .questions.ways import Ways

# -- hyperplanes and places -----------------------------------------------------------------------


def facet_forms(cells: Cells, i: int) -> dict[int, Float[np.ndarray, "_"]]:
    """The facets of a cell as unit forms $(n,c)$, $n\\cdot t+c\\ge0$ inside, by label; exact forms, rounded once."""
    pattern = cells.pattern_number(i)
    corners = cells.corners(i)
    centre = cells.centres[i]
    found = {}
    for label in cells[i].facets:
        if label >= 0:
            exact = cells.exact_forms.neuron_form(label, pattern)
            size = max(map(abs, exact[:-1]))
            if not size:
                continue
            form = np.array([x / size for x in exact])
        else:
            form = _side_form(cells, -1 - label)
        form = form / np.linalg.norm(form[:-1])
        found[label] = form if form[:-1] @ centre + form[-1] >= 0 else -form
    tolerance = 1e-9 * float(np.abs(cells.vertices).max())
    touching = {
        k: int((np.abs(corners @ f[:-1] + f[-1]) < tolerance).sum()) for k, f in found.items()
    }
    return {k: f for k, f in found.items() if touching[k] >= cells.dimension}


def _side_form(cells: Cells, side: int) -> np.ndarray:
    corners = cells.domain.corners  # type: ignore[union-attr]
    d = cells.dimension
    if d == 2:
        a = corners[side]
        b = corners[(side + 1) % len(corners)]
        return np.array([a[1] - b[1], b[0] - a[0], a[0] * b[1] - b[0] * a[1]])
    low = corners.min(axis=0)
    high = corners.max(axis=0)
    form = np.zeros(d + 1)
    axis, upper = divmod(side, 2)
    form[axis], form[-1] = (-1.0, high[axis]) if upper else (1.0, -low[axis])
    return form


def cell_of(cells: Cells, point: Float[np.ndarray, "d"]) -> int:
    """By the pattern at the point; on or near a face by the smallest violation of a facet."""
    if cells.dimension == 1:
        return _interval_of(cells, float(point[0]))

    bits = []
    state = cells.plan.chart(point)
    for step in cells.plan.net.steps[:-1]:
        state = step.matrix @ state + step.offset
        bits.append(state[step.rectified] > 0)
        state = np.where(step.rectified, np.maximum(state, 0.0), state)
    pattern = np.concatenate([*bits, np.zeros(64 * cells.plan.words - cells.plan.neurons, bool)])
    words = np.packbits(pattern, bitorder="little").view(np.uint64)[None]
    same = np.flatnonzero(cells.names == pattern_names(words, cells.plan)[0])
    if len(same) and _contains(cells, int(same[0]), point):
        return int(same[0])
    near = np.argsort(((cells.centres - point) ** 2).sum(axis=1))
    for i in near.tolist():
        if _contains(cells, i, point):
            return i
    raise _nowhere(point)


def _interval_of(cells: Cells, t: float) -> int:
    ends = cells.vertices.reshape(-1, 2)
    inside = np.flatnonzero((ends[:, 0] <= t) & (t <= ends[:, 1]))
    if not len(inside):
        raise _nowhere(np.array([t]))
    return int(inside[0])


def _nowhere(point: np.ndarray) -> UsageError:
    return UsageError(
        "The point lies in no cell.",
        got=point,
        remedy="take a point of the domain, or a larger budget",
    )


def _contains(cells: Cells, i: int, point: np.ndarray) -> bool:
    corners = cells.corners(i)
    slack = 1e-9 * float(np.abs(cells.vertices).max())
    if (point < corners.min(axis=0) - slack).any() or (point > corners.max(axis=0) + slack).any():
        return False
    return all(f[:-1] @ point + f[-1] >= -slack for f in facet_forms(cells, i).values())


def nearest_facet(cells: Cells, point: Float[np.ndarray, "d"]) -> tuple[int, float]:
    """The label of the facet nearest to a `point` of the domain in its own cell, and the distance to it."""
    if cells.dimension == 1:
        near = slice(2 * (i := cell_of(cells, point)), 2 * i + 2)
        distance = np.abs(cells.vertices[near, 0] - point[0])
        return int(cells.labels[near][distance.argmin()]), float(distance.min())
    forms = facet_forms(cells, cell_of(cells, point))
    distances = {label: max(0.0, float(f[:-1] @ point + f[-1])) for label, f in forms.items()}
    label = min(distances, key=distances.__getitem__)
    return label, distances[label]


# -- neighbours -----------------------------------------------------------------------------------


def adjacency(cells: Cells) -> Int[np.ndarray, "pairs 3"]:
    """By names (xor with one neuron's key names the cell across); by place where several neurons coincide."""
    owner, label, centre = facets(cells)
    inner = label >= 0
    owner = owner[inner]
    label = label[inner]
    centre = centre[inner]
    if not len(owner):
        return np.zeros((0, 3), np.int64)
    order = np.argsort(cells.names)
    across = cells.names[owner] ^ cells.plan.weights.keys[label]
    place = np.minimum(np.searchsorted(cells.names, across, sorter=order), len(order) - 1)
    found = cells.names[order[place]] == across
    other = np.where(found, order[place], -1)
    pairs = [np.column_stack([owner, other, label])[found & (owner < other)]]
    rest = np.flatnonzero(~found)
    if len(rest) > 1:
        scale = float(np.abs(cells.vertices).max())
        close = KDTree(centre[rest]).query_pairs(1e-9 * scale, output_type="ndarray")
        i = rest[close[:, 0]]
        j = rest[close[:, 1]]
        different = owner[i] != owner[j]
        i = i[different]
        j = j[different]
        both = np.sort(np.column_stack([owner[i], owner[j]]), axis=1)
        pairs.append(np.column_stack([both, np.minimum(label[i], label[j])]))
    every = np.vstack(pairs)
    _, once = np.unique(every[:, :2], axis=0, return_index=True)
    return every[np.sort(once)]


def facets(
    cells: Cells,
) -> tuple[Int[np.ndarray, "facets"], Int[np.ndarray, "facets"], Float[np.ndarray, "facets d"]]:
    """All facets: the cell, the label, and the mean of the facet's corners."""
    count = np.diff(cells.ends)
    owner = np.repeat(np.arange(len(cells)), count)
    if cells.dimension == 1:
        return owner, cells.labels.astype(np.int64), cells.vertices
    if cells.dimension == 2:
        return (
            owner,
            cells.labels.astype(np.int64),
            0.5 * (cells.vertices + cells.vertices[following(cells.ends)]),
        )
    width = cells.labels.shape[1]
    rows = np.repeat(np.arange(len(owner)), width)
    flat = cells.labels.ravel().astype(np.int64)
    present = flat != NO_LABEL
    rows = rows[present]
    flat = flat[present]
    key = owner[rows] * (2 * cells.plan.neurons + 4096) + flat + 2048
    _, group = np.unique(key, return_inverse=True)
    size = np.bincount(group)
    centre = np.column_stack(
        [np.bincount(group, cells.vertices[rows, c]) / size for c in range(cells.dimension)]
    )
    first = np.full(len(size), len(rows))
    np.minimum.at(first, group, np.arange(len(rows)))
    real = size >= cells.dimension
    return owner[rows[first]][real], flat[first][real], centre[real]


def number_linear_regions(
    cells: Cells, pairs: Int[np.ndarray, "pairs 3"]
) -> Int[np.ndarray, "cells"]:
    """The number of the linear region of every cell: neighbours with the same affine map have the same number.

    `pairs` are the neighbours, as `adjacency` finds them.
    """
    maps = cells.maps
    i = pairs[:, 0]
    j = pairs[:, 1]
    size = np.abs(maps).max(axis=(1, 2), initial=0.0)
    reach = np.array([size_of(cells)] * cells.dimension + [1.0])
    with np.errstate(invalid="ignore"):
        gap = np.abs(maps[i] - maps[j])
        surely = (gap * reach).max(axis=(1, 2), initial=0.0) > 2.01 * map_error(
            cells.plan, size_of(cells)
        )
        gap = gap.max(axis=(1, 2), initial=0.0)
    # what is not surely different may be the same
    same = ~((gap > 1e-7 * np.maximum(size[i], size[j])) & surely)
    if cells.certificate.is_certain and not isinstance(cells.domain, Polyline):
        ways = Ways(cells.plan)
        for row in np.flatnonzero(same):
            same[row] = _equal_maps(cells, ways, int(i[row]), int(j[row]))
    graph = sparse.coo_array(
        (np.ones(int(same.sum())), (i[same], j[same])), shape=(len(cells),) * 2
    )
    return connected_components(graph, directed=False)[1]


def _equal_maps(cells: Cells, ways: Ways, i: int, j: int) -> bool:
    """Equal for certain where the one neuron that tells them apart has no influence, else compared exactly."""
    p = cells.pattern_number(i)
    q = cells.pattern_number(j)
    if (p ^ q).bit_count() == 1:
        bits = np.unpackbits(cells.patterns[i].view(np.uint8), bitorder="little")[
            : cells.plan.neurons
        ].astype(bool)
        if not ways.may_lead_out((p ^ q).bit_length() - 1, bits):
            return True
    exact = cells.exact_forms
    layer = len(cells.plan.net.steps)
    return all(
        exact.form(layer, k, p) == exact.form(layer, k, q) for k in range(cells.plan.outputs)
    )
