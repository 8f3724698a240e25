"""Classical sets of points in the plane, two or more classes each. Every class has its share of the `n` points, in a
random order; `noise` is the standard deviation of a Gaussian added to both coordinates."""

import numpy as np

from .named_arrays import Data

PLANE = ("x1", "x2")


def moons(rng: np.random.Generator, n: int = 400, noise: float = 0.1) -> Data:
    """Two half circles of radius 1 that reach into one another."""
    y = _labels(n, 2)
    angle = rng.uniform(0, np.pi, n)
    x = np.where((y == 0)[:, None], _circle(angle), (1, 0.5) - _circle(angle))
    return _shuffle("moons", rng, x, y, noise)


def circles(
    rng: np.random.Generator, n: int = 400, noise: float = 0.05, ratio: float = 0.5
) -> Data:
    """A circle of radius 1 (class 0) around one of radius `ratio` (class 1)."""
    y = _labels(n, 2)
    x = _circle(rng.uniform(0, 2 * np.pi, n)) * np.where(y == 0, 1.0, ratio)[:, None]
    return _shuffle("circles", rng, x, y, noise)


def spirals(
    rng: np.random.Generator,
    n: int = 400,
    noise: float = 0.02,
    classes: int = 2,
    turns: float = 1.5,
) -> Data:
    """Arms that wind `turns` times from the centre to radius 1, one per class."""
    y = _labels(n, classes)
    radius = np.sqrt(rng.uniform(0.01, 1, n))  # so that a piece of an arm has points by its length
    x = radius[:, None] * _circle(2 * np.pi * (turns * radius + y / classes))
    return _shuffle("spirals", rng, x, y, noise)


def blobs(rng: np.random.Generator, n: int = 400, noise: float = 0.5, classes: int = 3) -> Data:
    """Gaussians of standard deviation `noise` about centres on a circle of radius 2."""
    y = _labels(n, classes)
    return _shuffle("blobs", rng, 2 * _circle(2 * np.pi * y / classes), y, noise)


def xor(rng: np.random.Generator, n: int = 400, noise: float = 0.0) -> Data:
    """The square [-1, 1]² with the sign of x1·x2 as the class: 1 where the signs differ."""
    x = rng.uniform(-1, 1, (n, 2))
    return _shuffle("xor", rng, x, (x[:, 0] * x[:, 1] < 0).astype(np.int64), noise)


def checkerboard(
    rng: np.random.Generator, n: int = 800, noise: float = 0.0, fields: int = 4
) -> Data:
    """The square [-1, 1]² cut into `fields` × `fields` squares, black (1) and white (0) by turns."""
    x = rng.uniform(-1, 1, (n, 2))
    y = np.floor((x + 1) / 2 * fields).astype(np.int64).sum(1) % 2
    return _shuffle("checkerboard", rng, x, y, noise)


def _labels(n: int, classes: int) -> np.ndarray:
    return np.arange(n) % classes


def _circle(angle: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angle), np.sin(angle)], -1)


def _shuffle(
    name: str, rng: np.random.Generator, x: np.ndarray, y: np.ndarray, noise: float
) -> Data:
    order = rng.permutation(len(x))
    return Data(name, x[order] + noise * rng.normal(size=x.shape), y[order], PLANE)
