"""Probabilities of three classes as points of a triangle."""

import numpy as np


def simplex_grid(size: int) -> tuple[np.ndarray, np.ndarray]:
    """A square grid over the triangle with corners (0, 0), (1, 0), (½, √3/2): barycentric coordinates, and whether a
    point lies inside. Rows go from the bottom."""
    height = np.sqrt(3) / 2
    x, y = np.meshgrid((np.arange(size) + 0.5) / size, (np.arange(size) + 0.5) / size * height)
    third = y / height
    second = x - third / 2
    p = np.stack([1 - second - third, second, third], axis=-1)
    return p, np.asarray((p >= 0).all(-1))


def simplex_points(p: np.ndarray) -> np.ndarray:
    """The place of probabilities of three classes in that triangle."""
    return p[:, 1:2] * np.array([1.0, 0.0]) + p[:, 2:3] * np.array([0.5, np.sqrt(3) / 2])
