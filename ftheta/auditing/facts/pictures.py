"""Rows of data as a picture, where they are images."""

import numpy as np

from ftheta.logic import Axis, Heatmap

from .symmetries import Grid, image_of

MOST_PIXELS = 64  # of a side; larger images are drawn by every second, third … pixel
GAP = 1  # pixels between two images


def draw_rows(title: str, shape: tuple[int, ...], lines: tuple[np.ndarray, ...]) -> tuple[Heatmap, ...]:
    """One picture of lines of images of the same number, the first line on top; nothing where rows are no images."""
    grid = image_of(shape)
    if grid is None or len(grid.axes) < 2 or not len(lines[0]):
        return ()
    tiles = [[_sheet(row, grid) for row in line] for line in lines]
    low = min(float(tile.min()) for line in tiles for tile in line)
    pad = lambda tile: np.pad(tile, GAP, constant_values=low)
    whole = np.concatenate([np.concatenate([pad(tile) for tile in line], axis=1) for line in tiles])
    height, width = whole.shape
    return (Heatmap(title, Axis(), Axis(), whole[::-1], (0.0, float(width), 0.0, float(height))),)


def _sheet(row: np.ndarray, grid: Grid) -> np.ndarray:
    """An image as one sheet of grey: the mean of its channels."""
    image = np.asarray(row, np.float64).reshape(grid.shape)
    other = tuple(set(range(image.ndim)) - set(grid.axes))
    sheet = image.mean(other) if other else image
    step = max(1, -(-max(sheet.shape) // MOST_PIXELS))
    return sheet[::step, ::step]
