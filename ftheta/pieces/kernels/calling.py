"""What the kernels of intervals, polygons and polytopes are called with, besides what each declares itself."""

from typing import NamedTuple

import numpy as np


class Cells(NamedTuple):
    """Room for finished cells; corners `ends[i]` to `ends[i+1]` belong to cell `i`.

    The caches of compiled kernels on disk name this class by its module.
    """

    vertices: np.ndarray
    radius: np.ndarray
    label: np.ndarray
    ends: np.ndarray
    name: np.ndarray
    pattern: np.ndarray
    maps: np.ndarray  # (cells, outputs, d+1)
