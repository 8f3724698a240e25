r"""How close polynomials can come to a function: from below, by alternating points.

For $n+2$ points $x_i$ the weights $w_i=\prod_{j\ne i}(x_i-x_j)^{-1}$ annihilate all polynomials of degree $n$, so that
no such polynomial is closer to $f$ than $|\sum_iw_if(x_i)|/\sum_i|w_i|$. On lines through the centre, at the points
that carry the best approximation on a grid (the dual of a linear program).
"""

from fractions import Fraction
from math import prod

import numpy as np
from scipy.optimize import linprog

from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float

from .goal import Goal
from .suprema import ranges

GRID = np.linspace(-1.0, 1.0, 129)


def polynomial_floor(goal: Goal, degree: int) -> tuple[float, str]:
    """A proved lower bound of the distance of f from polynomials of that degree, and the line it was found on."""
    found = []
    for u in goal.directions():
        words = "along the diagonal" if u.all() else f"along axis {int(np.argmax(u)) + 1}"
        words = words if goal.dimension > 1 else "on the interval"
        found.append((_on_line(goal, u, degree), words))
    return max(found)


def carriers(values: Float[np.ndarray, "n"], degree: int) -> Float[np.ndarray, "k"]:
    """Points of the grid at which the best polynomial on the grid errs most, with alternating signs."""
    basis = np.polynomial.chebyshev.chebvander(GRID, degree)
    ones = np.ones((len(GRID), 1))
    sides = np.block([[basis, -ones], [-basis, -ones]])
    cost = np.append(np.zeros(degree + 1), 1.0)
    found = linprog(
        cost, sides, np.concatenate([values, -values]), bounds=(None, None), method="highs"
    )
    weight = np.abs(found.ineqlin.marginals).reshape(2, -1).sum(0)
    return np.sort(GRID[np.argsort(-weight)[: degree + 2]])


def _on_line(goal: Goal, direction: np.ndarray, degree: int) -> float:
    line = goal.line(direction)
    box = ranges(line, GRID[:, None], GRID[:, None])
    if not np.isfinite([box.lo, box.hi]).all() or degree + 2 > len(GRID):
        return 0.0
    floats = carriers((box.lo + box.hi) / 2, degree)
    points = [Fraction(t) for t in floats.tolist()]
    weights = [
        1 / prod((s - t for j, t in enumerate(points) if j != i), start=Fraction(1))
        for i, s in enumerate(points)
    ]
    box = ranges(line, floats[:, None], floats[:, None])
    ends = [(Fraction(lo), Fraction(hi)) for lo, hi in zip(box.lo.tolist(), box.hi.tolist())]
    terms = [sorted((w * lo, w * hi)) for w, (lo, hi) in zip(weights, ends)]
    least, most = (sum((t[k] for t in terms), Fraction(0)) for k in (0, 1))
    scale = sum((abs(w) for w in weights), Fraction(0))
    return Enclosure.exact(max(Fraction(0), least, -most) / scale).lo
