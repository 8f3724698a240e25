"""Every bound of the Lipschitz ladder, against Jacobians with slopes in their ranges, in rationals."""

import itertools
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from ftheta.certify.ladder.chains import Chain
from ftheta.certify.ladder.rungs import bound_part, climb_ladder, prepare_setting

from . import Trial
from .verification import _draw

WORK = 2e-3  # of the programs: few steps, and every point is a bound
NORMS = (1.0, 2.0, inf)
JACOBIANS = 24
POWERS = (0, 0, 30, 200)  # of two, by which matrices are scaled


def _draw_matrix(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """On a grid, dense, of rank one, or with rows that are zero; some huge or tiny."""
    kind = int(rng.integers(4))
    W = _draw(rng, n, m) if kind == 0 else rng.standard_normal((n, m))
    W = np.outer(W[:, 0], W[0]) if kind == 2 else W
    W = W * (rng.random((n, 1)) < 0.7) if kind == 3 else W
    most = int(rng.choice(POWERS))
    return np.ldexp(W, int(rng.integers(-most, most + 1)))


def _draw_range(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    kind = int(rng.integers(4))
    if kind == 0:
        return np.zeros(n), np.ones(n)
    ends = np.sort(rng.uniform(-0.2, 1.1, (2, n)), axis=0)
    low, high = ends if kind == 1 else (rng.integers(0, 2, n).astype(float),) * 2
    if kind == 3:
        is_open = rng.random(n) < 0.5
        low, high = np.where(is_open, 0.0, low), np.where(is_open, 1.0, high)
    return low, high


def _multiply(A: Any, B: Any) -> Any:
    return [
        [sum((a * b for a, b in zip(row, column)), Fraction(0)) for column in zip(*B)] for row in A
    ]


def _jacobian(weights: list[np.ndarray], slopes: list[np.ndarray]) -> Any:
    """The product of all matrices, with slopes between them."""
    J = [[Fraction(v) for v in row] for row in weights[0].tolist()]
    for W, D in zip(weights[1:], slopes):
        J = [[Fraction(d) * v for v in row] for d, row in zip(D.tolist(), J)]
        J = _multiply([[Fraction(v) for v in row] for row in W.tolist()], J)
    return J


def _exceeds(J: Any, norm: float, bound: float) -> bool:
    """Whether the norm is larger for certain; in the 2-norm along its singular vector in floats."""
    if norm != 2:
        lines = J if norm == inf else list(zip(*J))
        return max(sum((abs(v) for v in line), Fraction(0)) for line in lines) > Fraction(bound)
    most = max((abs(v) for row in J for v in row), default=Fraction(0))
    if most == 0:
        return False
    v = np.linalg.svd(np.array([[float(q / most) for q in row] for row in J]))[2][0]
    image = _multiply(J, [[Fraction(float(q))] for q in v])
    length = sum((Fraction(float(q)) ** 2 for q in v), Fraction(0))
    return sum((row[0] ** 2 for row in image), Fraction(0)) > Fraction(bound) ** 2 * length


def attempt_bounds(rng: np.random.Generator) -> str | None:
    """Corners of the ranges, and points between them."""
    widths = rng.integers(1, 6, int(rng.integers(2, 5))).tolist()
    weights = [_draw_matrix(rng, n, m) for m, n in itertools.pairwise(widths)]
    biases = [np.zeros(len(W)) for W in weights]
    chain = Chain(tuple(weights), tuple(biases), ("relu",) * (len(weights) - 1))
    is_local = bool(rng.integers(2))
    ranges = tuple(_draw_range(rng, n) for n in widths[1:-1]) if is_local else chain.global_ranges
    norm = NORMS[int(rng.integers(3))]
    setting = prepare_setting(chain, ranges, norm, is_local=is_local)
    bounds = {rung.method: rung.value for rung in climb_ladder(setting, WORK)}
    bounds["a part"] = bound_part(setting)
    least = min(bounds, key=lambda name: bounds[name])
    if any(np.isnan(value) for value in bounds.values()):
        return f"{widths}, ℓ{norm}: {bounds}"
    if bounds[least] == inf:
        return None
    for _ in range(JACOBIANS):
        slopes = []
        for low, high in ranges:
            share = rng.random(len(low)) * rng.integers(2) + rng.integers(0, 2, len(low)) * 1.0
            slopes.append(np.clip(low + np.minimum(share, 1.0) * (high - low), low, high))
        if _exceeds(_jacobian(weights, slopes), norm, bounds[least]):
            return f"{widths}, ℓ{norm}: {least} gives {bounds[least]!r}"
    return None


TRIALS = (Trial("Lipschitz ladder: bounds", "a Jacobian above a bound", attempt_bounds, few=20),)
