r"""Finite differences of a function that can only be evaluated, with an account of their error.

One-sided, $\big(f(x+\varepsilon e_k)-f(x)\big)/\varepsilon$: off by at most
$\frac\varepsilon2\max|f''|+\frac{2u|f|}\varepsilon$, smallest near $\varepsilon=\sqrt u$; all $d$ of them take $d+1$
evaluations. Central: $\frac{\varepsilon^2}6\max|f'''|+\frac{u|f|}\varepsilon$, near $\sqrt[3]u$, $2d$ evaluations.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ftheta.shapes import Float

ULP = 2.0**-52
EVALUATION = 8 * ULP
"""Accuracy that is granted to one evaluation of a function of which nothing is known: this much of |f| + |x_k ∂_kf|,
as if the function were right at a neighbouring input."""

STEPS = tuple(2.0**-k for k in range(6, 34, 3))
Function = Callable[[np.ndarray], float]


@dataclass
class Counted:
    """A function of one array that counts its evaluations."""

    f: Function
    evaluations: int = field(default=0, init=False)

    def __call__(self, x: np.ndarray) -> float:
        self.evaluations += 1
        return float(self.f(x))


def one_sided(
    f: Function, x: Float[np.ndarray, "*shape"], step: float
) -> Float[np.ndarray, "coordinates"]:
    """All d one-sided differences, by d + 1 evaluations. The step is the one that is really taken in float64."""
    base = f(x)
    slopes = np.empty(x.size)
    for k in range(x.size):
        moved, taken = _move_coordinate(x, k, step)
        slopes[k] = (f(moved) - base) / taken
    return slopes


@dataclass(frozen=True)
class Slope:
    """A derivative with its doubt, and whether the slopes to the left and to the right are different."""

    value: float
    doubt: float
    bends: bool


def slope(f: Function, x: Float[np.ndarray, "*shape"], k: int, third: float | None = None) -> Slope:
    r"""The derivative in coordinate k by central differences over a ladder of steps.

    With a bound `third` $\ge|\partial_k^3f|$ the doubt is $\frac{h^2}6\,\text{third}+\frac\eta h$ at the best step, a
    theorem if f is evaluated with an error of at most $\eta$, 8 ulps of $|f|+|x_k\partial_kf|$. Without it the first
    term is estimated: half again the difference between two neighbouring steps.
    """
    base = f(x)
    scale = max(1.0, abs(float(x.flat[k])))
    right, left, taken = (np.empty(len(STEPS)) for _ in range(3))
    size = abs(base)
    for i, step in enumerate(STEPS):
        ahead, h = _move_coordinate(x, k, step * scale)
        back, _ = _move_coordinate(x, k, -h)
        above = f(ahead)
        below = f(back)
        right[i], left[i], taken[i] = (above - base) / h, (base - below) / h, h
        size = max(size, *(abs(v) for v in (above, below) if np.isfinite(v)), 0.0)
    with np.errstate(all="ignore"):
        central = (right + left) / 2
        noise = EVALUATION * (size + abs(float(x.flat[k]) * central)) / taken
        cut = (
            np.abs(np.diff(central, prepend=np.inf)) * 1.5
            if third is None
            else taken**2 / 6 * third
        )
        doubt = np.where(np.isfinite(central), cut + noise, np.inf)
        gap = np.abs(right - left)
    best = int(np.argmin(doubt))
    if not np.isfinite(doubt[best]):
        return Slope(np.nan, np.inf, False)
    return Slope(float(central[best]), float(doubt[best]), _stays(gap, 8 * noise))


def _stays(gap: np.ndarray, noise: np.ndarray) -> bool:
    """Left and right slopes of a smooth function close up like h; those of a kink stay apart, well above the noise."""
    seen = np.flatnonzero(gap > noise)
    if len(seen) < 4 or not np.isfinite(gap[seen]).all():
        return False
    first = gap[seen[1]]
    last = gap[seen[-1]]
    return bool(seen[-1] >= len(STEPS) // 2 and last > 0.5 * first)


def _move_coordinate(x: np.ndarray, k: int, step: float) -> tuple[np.ndarray, float]:
    """x with coordinate k moved, and by how much in float64."""
    moved = np.array(x, np.float64)
    moved.flat[k] += step
    return moved, float(moved.flat[k] - x.flat[k])
