"""What residual blocks do to points, as pictures that move."""

from typing import Any

import numpy as np

from ftheta.limits.moments import between
from ftheta.logic import Axis, Motion, Regions

SIDES = 12  # cells of the grid whose image is drawn


def film(visited: np.ndarray, frames: int = 91) -> tuple[np.ndarray, np.ndarray]:
    r"""Positions `[frame]` among the blocks, and states `[frame, point]` along $x+s\,v_k(x)$, $0\le s\le1$, block after
    block: a way without collisions, as $s\,\mathrm{Lip}(v_k)<1$."""
    at = np.linspace(0, len(visited) - 1, frames)
    return np.round(at, 3), np.round(between(visited, at), 4)


def trajectories(visited: np.ndarray) -> Motion:
    at, x = film(visited)
    thirds = np.array_split(np.arange(x.shape[1]), 3)
    groups = tuple(name for name, part in zip(("low", "middle", "high"), thirds) for _ in part)
    blocks = np.tile(at[:, None], x.shape[1])
    axes = Axis("block k"), Axis("x_k")
    return Motion("trajectories, from block to block", *axes, at, blocks, x[..., 0], groups, clock="k")


def moving_grid(visited: np.ndarray) -> Motion:
    at, x = film(visited)
    index = np.arange((SIDES + 1) ** 2).reshape(SIDES + 1, -1)
    inner = np.abs(np.stack(np.divmod(index.ravel(), SIDES + 1)) - SIDES / 2).max(0) <= SIDES / 4
    groups = tuple("inside" if i else "outside" for i in inner)
    links: Any = (*index, *index.T)
    title, axes = "a square grid that moves from block to block", (Axis("x₁"), Axis("x₂"))
    return Motion(title, *axes, at, x[..., 0], x[..., 1], groups, links=links, ways=False, alike=True, clock="k")


def cells(visited: np.ndarray, low: float, high: float) -> Regions:
    ends = visited[-1].reshape(SIDES + 1, SIDES + 1, 2)
    cells: Any = np.stack([ends[:-1, :-1], ends[1:, :-1], ends[1:, 1:], ends[:-1, 1:]], 2).reshape(-1, 4, 2)
    x, y = cells[..., 0], cells[..., 1]
    area = np.sum(x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1), 1) / 2 / ((high - low) / SIDES) ** 2
    square = ((low, low), (high, low), (high, high), (low, high), (low, low))
    title = "a square grid, and its image: no cell folds over"
    return Regions(title, Axis("x₁"), Axis("x₂"), cells, area, "area, over before", (square,))


def grid(low: float, high: float, sides: int = SIDES) -> np.ndarray:
    """The corners of so many cells a side, row by row."""
    t = np.linspace(low, high, sides + 1)
    return np.stack(np.meshgrid(t, t, indexing="ij"), -1).reshape(-1, 2)
