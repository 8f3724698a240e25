"""Fewer points than were measured, for a drawing that looks the same."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import floor

MOST = 2000  # a curve with more points is thinned
COLUMNS = 500


def keep_extremes(
    xs: Sequence[float],
    ys: Sequence[float],
    place: Callable[[float], float],
    columns: int = COLUMNS,
) -> list[int]:
    """The points of a curve to keep, by index: of those in one column of the drawing the first, lowest, highest, last.

    `place` sends x to [0, 1] along the axis. A curve that goes back and forth is thinned by its order instead.
    """
    n = len(xs)
    groups = _runs([min(columns - 1, floor(place(x) * columns)) for x in xs])
    if len(groups) > columns:
        size = -(-n // columns)
        groups = [(start, min(start + size, n)) for start in range(0, n, size)]
    kept: set[int] = set()
    for start, end in groups:
        inside = range(start, end)
        kept |= {start, end - 1, min(inside, key=ys.__getitem__), max(inside, key=ys.__getitem__)}
    return sorted(kept)


def _runs(labels: Sequence[int]) -> list[tuple[int, int]]:
    """The stretches of equal neighbours."""
    starts = [0, *(i for i in range(1, len(labels)) if labels[i] != labels[i - 1]), len(labels)]
    return list(pairwise(starts))


def space_out(points: Sequence[tuple[float, float, object]], most: int = 4000) -> list[int]:
    """The points of a scatter to keep, by index: one for each cell of a grid and group, the grid as fine as `most`
    allows. A point is its place in pixels and its group."""
    cell = 0.5
    kept = {i: i for i in range(len(points))}
    while len(kept) > most:
        cell *= 1.5
        kept = {
            (floor(x / cell), floor(y / cell), group): i for i, (x, y, group) in enumerate(points)
        }  # type: ignore[misc]
    return sorted(kept.values())
