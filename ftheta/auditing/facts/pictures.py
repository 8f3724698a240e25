"""Rows of data as a picture, where they are images."""

from math import ceil

import numpy as np

from ftheta.logic import Axis, Heatmap

from .symmetries import Grid, image_of

MOST_PIXELS = 64  # of a side; larger images are drawn by every second, third … pixel
GAP = 1  # pixels around an image
LONGEST = 1.6  # width by height, or height by width, up to which a chart draws square pixels


def draw_rows(
    title: str, shape: tuple[int, ...], lines: tuple[np.ndarray, ...]
) -> tuple[Heatmap, ...]:
    """One picture of lines of images of the same number, the first line on top; nothing where rows are no images.

    Long lines are broken, all at the same image: the picture is about as wide as high, and its pixels are square.
    """
    grid = image_of(shape)
    if grid is None or len(grid.axes) < 2 or not len(lines[0]):
        return ()
    tiles = np.array(
        [[np.pad(_sheet(row, grid), GAP, constant_values=np.nan) for row in line] for line in lines]
    )
    low = float(np.nanmin(tiles))
    whole = _make_square(_join_tiles(np.nan_to_num(tiles, nan=low), low), low)
    height, width = whole.shape
    extent = (0.0, float(width), 0.0, float(height))
    return (Heatmap(title, Axis(), Axis(), whole[::-1], extent, grey=True),)


def _join_tiles(tiles: np.ndarray, blank: float) -> np.ndarray:
    """Tiles `(lines, n, height, width)` as one sheet, broken where that makes it most like a square."""
    count, n, height, width = tiles.shape
    stretch = lambda across: abs(np.log(across * width / (-(-n // across) * count * height)))
    across = min(range(1, n + 1), key=stretch)
    missing = -n % across
    full = np.concatenate([tiles, np.full((count, missing, height, width), blank)], axis=1)
    broken = full.reshape(count, -1, across, height, width)
    return broken.transpose(1, 0, 3, 2, 4).reshape(-1, across * width)


def _make_square(sheet: np.ndarray, blank: float) -> np.ndarray:
    """The sheet with a margin where it is longer than a chart draws with square pixels."""
    height, width = sheet.shape
    more = (max(0, ceil(width / LONGEST) - height), max(0, ceil(height / LONGEST) - width))
    return np.pad(sheet, [(rest // 2, rest - rest // 2) for rest in more], constant_values=blank)


def _sheet(row: np.ndarray, grid: Grid) -> np.ndarray:
    """An image as one sheet of grey: the mean of its channels."""
    image = np.asarray(row, np.float64).reshape(grid.shape)
    other = tuple(set(range(image.ndim)) - set(grid.axes))
    sheet = image.mean(other) if other else image
    step = max(1, -(-max(sheet.shape) // MOST_PIXELS))
    return sheet[::step, ::step]
