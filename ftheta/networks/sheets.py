"""The property sheet of an activation: closed forms where it has a name, samples and differences where it has none."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

import jax
import numpy as np

from ftheta.logic.enclosure import Enclosure
from ftheta.logic.witness import Witness

from .activations import ACTIVATIONS, Activation
from .slopes import Difference, differences_of, rational_difference, slope_at, steepest_slope

POINTS = 4097
THRESHOLD = 2.0**-40  # a relative difference below this may be rounding


@dataclass(frozen=True, slots=True)
class Sheet:
    r"""What is known of one activation.

    `lipschitz` is the closed form, or for a function without a name the steepest secant met; `steepest` encloses
    $\sup|\sigma'|$. `difference` is a difference of order `degree` + 1, which vanishes for polynomials up to `degree`.
    `slope` is the derivative at the point asked for, `least_slope` the least secant met.
    """

    name: str
    function: Callable[[Any], Any]
    interval: tuple[float, float]
    known: Activation | None
    lipschitz: Enclosure
    steepest: Enclosure
    slope: Enclosure
    least_slope: float
    ends: tuple[float, float]
    homogeneous: bool
    difference: Difference

    @property
    def polynomial(self) -> bool:
        """Whether it is a polynomial by its closed form, or cannot be told from one of the degree tested."""
        return self.known.degree is not None if self.known else self.difference.size.lo < THRESHOLD

    @property
    def witness(self) -> Witness | None:
        """For a polynomial activation: its difference again, in rational arithmetic."""
        if self.known is None or self.known.degree is None:
            return None
        again = Enclosure.exact(rational_difference(self.known.name, self.difference))
        at = {"x": float(self.difference.start), "h": float(self.difference.step)}
        return Witness(
            at, Enclosure.exact(THRESHOLD), again, "the difference in rational arithmetic"
        )

    @property
    def density(self) -> str:
        """What one hidden layer of any width can approximate (Leshno, Lin, Pinkus, Schocken)."""
        degree = self.known.degree if self.known else None
        if degree is not None:
            return f"degenerate (degree {degree})"
        if self.polynomial:
            return f"undecided: a polynomial of degree ≤ {self.difference.order - 1} for all that float64 shows"
        return (
            "dense"
            if self.known
            else f"dense unless a polynomial of degree > {self.difference.order - 1}"
        )


def sheet(
    name: str, function: Callable[[Any], Any], lo: float, hi: float, degree: int, point: float
) -> Sheet:
    """The sheet of a scalar function, on [lo, hi] as far as it is sampled."""
    known = next((a for a in ACTIVATIONS.values() if a.function is function), None)
    x, y = sample_function(function, lo, hi, POINTS)
    secants = np.diff(y) / np.diff(x)
    met = Enclosure.at_least(
        float(np.abs(secants[np.isfinite(secants)]).max(initial=0.0)), samples=POINTS
    )
    _, doubled = sample_function(function, 2 * lo, 2 * hi, POINTS)
    return Sheet(
        name,
        function,
        (lo, hi),
        known,
        known.lipschitz if known else met,
        steepest_slope(known.name) if known else met,
        slope_at(known.name, point) if known else _known(float(jax.grad(function)(point))),
        float(secants[np.isfinite(secants)].min(initial=np.inf)),
        known.limits if known else (float(y[0]), float(y[-1])),
        bool(np.allclose(doubled, 2 * y, rtol=1e-12, atol=0.0)),
        differences_of(known, function, degree + 1, lo, hi),
    )


@lru_cache(64)
def sample_function(
    function: Callable[[Any], Any], lo: float, hi: float, points: int
) -> tuple[np.ndarray, np.ndarray]:
    """A grid on [lo, hi] and a scalar function there."""
    x = np.linspace(lo, hi, points)
    with jax.enable_x64(True):  # kept for later calls, whatever precision they are made in
        return x, np.asarray(jax.vmap(function)(x), np.float64).reshape(points)


def _known(value: float) -> Enclosure:
    return Enclosure.equal(value) if isfinite(value) else Enclosure()
