"""Points and values to fit: of a function on its box, of labelled data, or of what a family aims at."""

import jax
import numpy as np

from ftheta.logic import SubjectError
from ftheta.relu.shallow.ridges import ROWS, grid

from .dataset import Dataset
from .kinds import Family, Target


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
            remedy="give a Target, data with one label a row, or a Family with one of these as its limit",
        )
    x = grid(goal.lo, goal.hi)
    columns = tuple(x.T) if goal.arguments or goal.dimension == 1 else (x,)
    y = np.asarray(jax.vmap(goal.f)(*columns), np.float64)
    if y.size != len(x):
        raise SubjectError("The function has more than one output.", got=f"values of shape {y.shape[1:]}")
    return x, y.reshape(len(x))
