r"""Lengths, areas and volumes of cells, in float64 and exactly.

In three and more dimensions a cell is cut into the simplices of its flags: its centre, the centre of a facet, that of a
face of the facet, …, an edge and a vertex. All lie inside the cell, so that their volumes add up without cancellation.
"""

from itertools import combinations, permutations
from math import factorial

import numpy as np
from scipy.spatial import ConvexHull

from ftheta.shapes import Float, Int

from .enumeration import NO_LABEL

MOST_FLAGS = 120  # d! at every corner: up to five dimensions
BATCH = 1 << 17  # corners that are handled at once


def volumes(
    vertices: Float[np.ndarray, "corners d"],
    labels: Int[np.ndarray, "corners *facets"],
    ends: Int[np.ndarray, "e"],
) -> Float[np.ndarray, "cells"]:
    """Of every cell, in float64: corners `ends[i]` to `ends[i+1]` of `vertices` belong to cell `i`.

    `labels` name the facets at each corner.
    """
    v = vertices
    d = vertices.shape[1]
    cells = len(ends) - 1
    if d == 1:
        return v[1::2, 0] - v[::2, 0]
    if d == 2:
        first = np.repeat(v[ends[:-1]], np.diff(ends), axis=0)
        here = v - first
        after = v[following(ends)] - first
        return 0.5 * np.add.reduceat(here[:, 0] * after[:, 1] - here[:, 1] * after[:, 0], ends[:-1])
    simple = labels.shape[1] == d and (labels != NO_LABEL).all()
    if not simple or factorial(d) > MOST_FLAGS:
        corners = (v[ends[i] : ends[i + 1]] for i in range(cells))
        return np.array([ConvexHull(points, qhull_options="Qt Pp").volume for points in corners])
    parts = []
    begin = 0
    while begin < cells:
        end = max(begin + 1, int(np.searchsorted(ends, ends[begin] + BATCH, side="right")) - 1)
        here = slice(ends[begin], ends[end])
        parts.append(_by_flags(v[here], labels[here], ends[begin : end + 1] - ends[begin]))
        begin = end
    return np.concatenate(parts)


def following(ends: Int[np.ndarray, "e"]) -> Int[np.ndarray, "corners"]:
    """For every corner of every polygon, the index of the next one around."""
    after = np.arange(1, ends[-1] + 1)
    after[ends[1:] - 1] = ends[:-1]
    return after


def _by_flags(vertices: np.ndarray, labels: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Every corner lies on d facets; the face with some of their labels is made of the corners that have them all."""
    d = vertices.shape[1]
    owner = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    _, numbers = np.unique(labels, return_inverse=True)
    keys = np.random.default_rng(5).integers(0, 2**63, (int(numbers.max()) + 1), dtype=np.uint64)
    names = keys[numbers.reshape(labels.shape)]
    centre = _means(vertices, owner)
    faces: dict[tuple[int, ...], np.ndarray] = {}
    for k in range(1, d):
        chosen = list(combinations(range(d), k))
        key = np.stack([names[:, c].sum(axis=1) for c in map(list, chosen)]) ^ (
            owner.astype(np.uint64) << np.uint64(40)
        )
        _, face = np.unique(key, return_inverse=True)
        middle = _means(np.tile(vertices, (len(chosen), 1)), face.ravel()).reshape(
            len(chosen), *vertices.shape
        )
        faces |= dict(zip(chosen, (middle - centre).transpose(0, 2, 1).copy()))
    total = np.zeros(len(vertices))
    corner = (vertices - centre).T.copy()
    for order in permutations(range(d)):
        flag = [faces[tuple(sorted(order[:k]))] for k in range(1, d)]
        total += np.abs(_determinants([*flag, corner]))
    return np.bincount(owner, total) / factorial(d)


def _means(points: np.ndarray, group: np.ndarray) -> np.ndarray:
    """For every point the mean of its group."""
    size = np.bincount(group)
    return np.column_stack([np.bincount(group, column) / size for column in points.T])[group]


def _determinants(vectors: list[np.ndarray]) -> np.ndarray:
    """Of many tuples of d vectors `(d, n)`; by hand in three and four dimensions."""
    if len(vectors) == 3:
        a, b, c = vectors
        return (a * np.cross(b, c, axis=0)).sum(axis=0)
    if len(vectors) == 4:
        p, q = (
            [u[i] * v[j] - u[j] * v[i] for i, j in combinations(range(4), 2)]
            for u, v in (vectors[:2], vectors[2:])
        )
        return p[0] * q[5] - p[1] * q[4] + p[2] * q[3] + p[3] * q[2] - p[4] * q[1] + p[5] * q[0]
    return np.linalg.det(np.stack(vectors).transpose(2, 0, 1))
