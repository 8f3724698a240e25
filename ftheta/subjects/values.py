"""Points and values to fit: of a function on its box, of labelled data, or of what a family aims at."""

from collections.abc import Sequence

import jax
import numpy as np

from ftheta.logic.errors import SubjectError

from .dataset import Dataset
from .kinds import Family, Target

POINTS = {1: 401, 2: 29}  # of the grid, along every axis
ROWS = 1500  # in more dimensions, or of a dataset


def points_and_values(subject: Target | Dataset | Family) -> tuple[np.ndarray, np.ndarray]:
    """Rows `x` (n, d) and numbers `y` (n,): a grid of the box, or the first rows of the data."""
    goal = subject.limit if isinstance(subject, Family) else subject
    if isinstance(goal, Dataset) and goal.y is not None and goal.y.size == len(goal):
        n = min(len(goal), ROWS)
        return goal.x[:n].reshape(n, -1).astype(float), goal.y.reshape(-1)[:n].astype(float)
    if not isinstance(goal, Target):
        raise SubjectError(
            "There is no real function to fit.",
            got=f"{subject.name}, a {type(subject).__name__}",
            remedy="give a Target, data with one label per row, or a Family with one of these as its limit",
        )
    x = grid(goal.lo, goal.hi)
    columns = tuple(x.T) if goal.arguments or goal.dimension == 1 else (x,)
    y = np.asarray(jax.vmap(goal.f)(*columns), np.float64)
    if y.size != len(x):
        raise SubjectError(
            "The function has more than one output.", got=f"values of shape {y.shape[1:]}"
        )
    return x, y.reshape(len(x))


def grid(lo: Sequence[float], hi: Sequence[float]) -> np.ndarray:
    """Points of the box, one per row: a grid in one or two dimensions, else uniform ones."""
    if len(lo) not in POINTS:
        return np.random.default_rng(0).uniform(lo, hi, (ROWS, len(lo)))
    axes = [np.linspace(a, b, POINTS[len(lo)]) for a, b in zip(lo, hi)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(lo))
