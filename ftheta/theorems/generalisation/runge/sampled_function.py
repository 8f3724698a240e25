r"""Any function on $[-1,1]$ known by its values: errors of interpolation at many points, the best polynomial on them,
and how large it is on an ellipse in the complex plane."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linprog

from ftheta.logic import Enclosure

from .nodes import Interpolant, nodes

POINTS = 4001
COEFFICIENTS = 256
ROUNDING = 1e-12
ON_ELLIPSE = 1024


@dataclass(frozen=True, eq=False)
class SampledFunction:
    """`values(x)` for an array of points, which may be complex."""

    values: Callable[[np.ndarray], np.ndarray]

    @cached_property
    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        x = -np.cos(np.linspace(0, np.pi, POINTS))
        return x, self.values(x)

    def interpolant(self, kind: str, n: int) -> Interpolant:
        x = nodes(kind, n)
        return Interpolant(x, self.values(x))

    def error(self, kind: str, n: int) -> Enclosure:
        x, y = self.grid
        return Enclosure.at_least(
            float(np.abs(self.interpolant(kind, n)(x) - y).max()), samples=len(x)
        )

    def best_error(self, n: int) -> Enclosure:
        r"""$E_n$ from below: the least error of a polynomial on a part of the grid, a linear program."""
        x, y = (part[:: POINTS // 500] for part in self.grid)
        T = np.polynomial.chebyshev.chebvander(x, n)
        one = np.ones((len(x), 1))
        cost = np.r_[np.zeros(n + 1), 1.0]
        rows = np.block([[T, -one], [-T, -one]])
        right = np.r_[y, -y]
        found = linprog(
            cost, rows, right, bounds=[(None, None)] * (n + 1) + [(0, None)], method="highs"
        )
        return Enclosure.at_least(max(float(found.fun) - ROUNDING, 0.0) if found.success else 0.0)

    def on_ellipse(self, ellipse: float, many: int = ON_ELLIPSE) -> float:
        r"""The largest $|f|$ met on the ellipse with foci $\pm1$ and sum of semi-axes `ellipse`; infinite where $f$ has
        no complex values."""
        u = ellipse * np.exp(2j * np.pi * np.arange(many) / many)
        try:
            size = np.abs(self.values((u + 1 / u) / 2))
        except (TypeError, ValueError):  # a function of reals alone
            return np.inf
        return float(size.max()) if np.isfinite(size).all() else np.inf

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Of the Chebyshev polynomials, by interpolation at as many nodes."""
        x = nodes("Chebyshev", COEFFICIENTS - 1)
        T = np.polynomial.chebyshev.chebvander(x, COEFFICIENTS - 1)
        found = T.T @ self.values(x) * 2 / COEFFICIENTS
        found[0] /= 2
        return found

    def excess(self, ellipse: float) -> tuple[float, int]:
        r"""The largest of $|c_k|\rho^k/2M$, which is at most 1 for functions analytic inside the ellipse, where the
        coefficient is above rounding; and where it is met."""
        c = np.abs(self.coefficients)
        k = np.arange(COEFFICIENTS)
        above = c > ROUNDING * max(c.max(), 1e-300)
        bound = 2 * self.on_ellipse(ellipse) * ellipse ** -k.astype(float)
        ratio = np.where(above, c / np.maximum(bound, 1e-300), 0.0)
        return float(ratio.max()), int(ratio.argmax())
