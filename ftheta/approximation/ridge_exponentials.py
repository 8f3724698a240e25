r"""Sums of exponentials of linear forms, $g(x)=\sum_kc_ke^{\langle v_k,x\rangle}$, fitted to a function on a box.

The directions $v_k$ lie on a lattice; the coefficients are found by penalised least squares.
"""

from dataclasses import dataclass
from itertools import product

import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.shapes import Float

from .goal import Goal

GRID_SIDES = {1: 401, 2: 41, 3: 13}
PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9)


@dataclass(frozen=True, eq=False)
class Exponentials:
    r"""$\sum_kc_ke^{\langle v_k,x\rangle}$ with rows $v_k$ of `directions`."""

    directions: Float[np.ndarray, "k d"]
    coefficients: Float[np.ndarray, "k"]

    def __call__(self, x: object) -> object:
        """At one point: a number for d = 1, an array above."""
        point = jnp.atleast_1d(jnp.asarray(x))
        return jnp.sum(self.coefficients * jnp.exp(jnp.asarray(self.directions) @ point))

    def values(self, rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
        """At rows of points, in float64."""
        return np.exp(rows @ self.directions.T) @ self.coefficients

    def inside(self, goal: Goal) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "k"]]:
        r"""The ranges $[a_k,b_k]$ of $\langle v_k,x\rangle$ on the box, a little enlarged."""
        middle = self.directions @ goal.centre
        radius = np.abs(self.directions) @ goal.halves
        slack = 1e-9 * (1 + np.abs(middle) + radius)
        return middle - radius - slack, middle + radius + slack


def lattice(dimension: int, reach: int, spacing: float) -> Float[np.ndarray, "k dimension"]:
    """All whole multiples of the spacing up to `reach` in every coordinate."""
    return spacing * np.array(list(product(range(-reach, reach + 1), repeat=dimension)), np.float64)


def fit_exponentials(
    goal: Goal, directions: Float[np.ndarray, "k d"], cells: int = 64
) -> Exponentials:
    """Coefficients by least squares on a grid; of several penalties the one whose whole budget is the least."""
    rows = goal.grid(GRID_SIDES.get(goal.dimension, 3000))
    features = np.exp(rows @ directions.T)
    if not np.isfinite(features).all():
        raise SubjectError(
            "The exponentials of the inputs overflow.",
            got=f"inputs up to {np.abs(rows).max():.3g}",
            remedy="shift and scale the box, to [0, 1] say",
        )
    wanted = goal.values(rows)
    length = np.linalg.norm(features, axis=0)
    u, s, vt = np.linalg.svd(features / length, full_matrices=False)
    tries = []
    for penalty in PENALTIES:
        c = vt.T @ (s / (s * s + (penalty * s[0]) ** 2) * (u.T @ wanted)) / length
        c[np.abs(c) * length < 1e-7 * np.abs(c * length).max(initial=0.0)] = 0.0
        kept = c != 0 if c.any() else np.arange(len(c)) == 0
        made = Exponentials(directions[kept], c[kept])
        low, high = made.inside(goal)
        h = (high - low) / cells
        spent = float(np.abs(features @ c - wanted).max()) + float(
            np.abs(c[kept]) @ (np.exp(high) * h * h / 8)
        )
        tries.append((spent, made))
    return min(tries, key=lambda pair: pair[0])[1]
