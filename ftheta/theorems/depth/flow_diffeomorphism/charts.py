"""What residual blocks do to points, as pictures that move; how fast they are inverted."""

from typing import Any

import numpy as np

from ftheta.estimates.frames import between
from ftheta.logic import Axis, Chart, Curves, Motion, Regions, Series

from .inverse import Inversion

SIDES = 12  # cells of the grid whose image is drawn


def draw_stage(stage: Inversion) -> tuple[Chart, ...]:
    """On the line, states that move from block to block. In more dimensions, a grid of the first two coordinates
    that moves, and what becomes of its cells."""
    plane = stage.x.reshape(len(stage.x), -1)[:, :2]
    low = float(plane.min())
    high = float(plane.max())
    if stage.stage.size == 1:
        return (draw_trajectories(stage.visit(np.linspace(low, high, 15)[:, None])),)
    visited = stage.visit(make_grid(low, high))
    return draw_grid(visited), draw_cells(visited, low, high)


def draw_contraction(stage: Inversion) -> Curves:
    """Distances between iterates of the fixed point that inverts the last block, beside their bound."""
    n = np.arange(len(stage.contraction))
    seen = stage.contraction > 1e-17
    bound = np.maximum(float(stage.constants[-1]), 1e-12) ** n
    curves = (
        Series("bound Lⁿ", n[seen], bound[seen], "bound"),
        Series("measured", n[seen], stage.contraction[seen], "measured", "points"),
    )
    axes = (Axis("iteration n"), Axis("‖xₙ₊₁ − xₙ‖ / ‖x₁ − x₀‖", "log"))
    return Curves("inverting a block: x ← y − v(x)", *axes, curves)


def draw_half_turn(points: np.ndarray) -> Curves:
    """Paths of points of the line on a half turn of the plane."""
    t = np.linspace(0, 1, 49)
    paths = [
        Series(f"from {a:.3g}", a * np.cos(np.pi * t), a * np.sin(np.pi * t)) for a in points if a
    ]
    return Curves(
        "x ↦ −x after one more dimension", Axis("x"), Axis("added coordinate"), tuple(paths)
    )


def film(visited: np.ndarray, frames: int = 91) -> tuple[np.ndarray, np.ndarray]:
    r"""Positions `[frame]` among the blocks, and states `[frame, point]` along $x+s\,v_k(x)$, $0\le s\le1$, block after
    block: a way without collisions, as $s\,\mathrm{Lip}(v_k)<1$."""
    at = np.linspace(0, len(visited) - 1, frames)
    return np.round(at, 3), np.round(between(visited, at), 4)


def draw_trajectories(visited: np.ndarray) -> Motion:
    """States of the line `[k, point]` after k blocks, moving from block to block."""
    at, x = film(visited)
    thirds = np.array_split(np.arange(x.shape[1]), 3)
    groups = tuple(name for name, part in zip(("low", "middle", "high"), thirds) for _ in part)
    blocks = np.tile(at[:, None], x.shape[1])
    axes = Axis("block k"), Axis("x_k")
    return Motion(
        "trajectories, from block to block", *axes, at, blocks, x[..., 0], groups, clock="k"
    )


def draw_grid(visited: np.ndarray) -> Motion:
    """The corners of a square grid `[k, corner]` after k blocks, moving from block to block."""
    at, x = film(visited)
    index = np.arange((SIDES + 1) ** 2).reshape(SIDES + 1, -1)
    inner = np.abs(np.stack(np.divmod(index.ravel(), SIDES + 1)) - SIDES / 2).max(0) <= SIDES / 4
    groups = tuple("inside" if i else "outside" for i in inner)
    links: Any = (*index, *index.T)
    title = "a square grid that moves from block to block"
    axes = (Axis("x₁"), Axis("x₂"))
    return Motion(
        title,
        *axes,
        at,
        x[..., 0],
        x[..., 1],
        groups,
        links=links,
        ways=False,
        alike=True,
        clock="k",
    )


def draw_cells(visited: np.ndarray, low: float, high: float) -> Regions:
    """The image of the grid on `[low, high]²`, its cells coloured by their area."""
    ends = visited[-1].reshape(SIDES + 1, SIDES + 1, 2)
    cells: Any = np.stack([ends[:-1, :-1], ends[1:, :-1], ends[1:, 1:], ends[:-1, 1:]], 2).reshape(
        -1, 4, 2
    )
    x = cells[..., 0]
    y = cells[..., 1]
    area = (
        np.sum(x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1), 1) / 2 / ((high - low) / SIDES) ** 2
    )
    square = ((low, low), (high, low), (high, high), (low, high), (low, low))
    title = "a square grid, and its image: no cell folds over"
    return Regions(title, Axis("x₁"), Axis("x₂"), cells, area, "area, over before", (square,))


def make_grid(low: float, high: float, sides: int = SIDES) -> np.ndarray:
    """The corners of so many cells per side, row by row."""
    t = np.linspace(low, high, sides + 1)
    return np.stack(np.meshgrid(t, t, indexing="ij"), -1).reshape(-1, 2)
