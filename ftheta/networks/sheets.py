"""The property sheet of an activation: closed forms where it has a name, samples and differences where it has none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

import jax
import numpy as np

from ftheta.logic import Axis, Curves, Enclosure, Series, SubjectError, Table, Witness

from .activations import ACTIVATIONS, Activation
from .slopes import Difference, differences_of, rational_difference, slope_at, steepest_slope

POINTS = 4097
THRESHOLD = 2.0**-40  # a relative difference below this may be rounding
ZOO = ("tanh", "sigmoid", "arctan", "relu", "leaky-relu", "softplus")


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
        return Witness(at, Enclosure.exact(THRESHOLD), again, "the difference in rational arithmetic")

    @property
    def density(self) -> str:
        """What one hidden layer of any width can approximate (Leshno, Lin, Pinkus, Schocken)."""
        degree = self.known.degree if self.known else None
        if degree is not None:
            return f"degenerate (degree {degree})"
        if self.polynomial:
            return f"undecided: a polynomial of degree ≤ {self.difference.order - 1} for all that float64 shows"
        return "dense" if self.known else f"dense unless a polynomial of degree > {self.difference.order - 1}"


def sheet(name: str, function: Callable[[Any], Any], lo: float, hi: float, degree: int, point: float) -> Sheet:
    """The sheet of a scalar function, on [lo, hi] as far as it is sampled."""
    known = next((a for a in ACTIVATIONS.values() if a.function is function), None)
    x, y = sampled(function, lo, hi, POINTS)
    secants = np.diff(y) / np.diff(x)
    met = Enclosure.at_least(float(np.abs(secants[np.isfinite(secants)]).max(initial=0.0)), samples=POINTS)
    _, doubled = sampled(function, 2 * lo, 2 * hi, POINTS)
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
def sampled(function: Callable[[Any], Any], lo: float, hi: float, points: int) -> tuple[np.ndarray, np.ndarray]:
    """A grid on [lo, hi] and a scalar function there."""
    x = np.linspace(lo, hi, points)
    with jax.enable_x64(True):  # kept for later calls, whatever precision they are made in
        return x, np.asarray(jax.vmap(function)(x), np.float64).reshape(points)


def _known(value: float) -> Enclosure:
    return Enclosure.equal(value) if isfinite(value) else Enclosure()


def table(sheets: Sequence[Sheet], degree: int) -> Table:
    rows = [
        (
            s.name,
            _number(s.lipschitz.middle),
            _number(s.least_slope),
            "yes" if (s.known.monotone if s.known else s.least_slope >= 0) else "no",
            f"{_number(s.ends[0])}, {_number(s.ends[1])}",
            ("yes" if all(isfinite(e) for e in s.ends) else "no") if s.known else "unknown",
            "yes" if s.homogeneous else "no",
            s.difference.size.middle,
            s.density,
        )
        for s in sheets
    ]
    columns = ("activation", "Lipschitz", "least slope met", "non-decreasing", "ends", "bounded", "homogeneous")
    return Table("properties", (*columns, f"difference of order {degree + 1}", "one hidden layer"), tuple(rows))


def _number(value: float) -> str:
    return f"{value:.6g}".replace("inf", "∞").replace("-", "−")


def numbers(sheets: Sequence[Sheet]) -> dict[str, Enclosure]:
    named = {}
    for s in sheets:
        named |= {f"{s.name}: Lipschitz constant": s.lipschitz, f"{s.name}: steepest slope": s.steepest}
        named |= {f"{s.name}: slope at x": s.slope, f"{s.name}: difference": s.difference.size}
    return named


def usual_beside(sheets: Sequence[Sheet], degree: int, point: float) -> list[Sheet]:
    """The sheets, followed by those of the usual activations that are not among them."""
    names = [s.name for s in sheets]
    rest = [sheet(name, ACTIVATIONS[name].function, -8.0, 8.0, degree, point) for name in ZOO if name not in names]
    return [*sheets, *rest]


def charts(sheets: Sequence[Sheet]) -> tuple[Curves, Curves]:
    """The functions and their slopes, with the usual ones beside them."""
    if not sheets:
        raise SubjectError("There is no activation to look at.", remedy="give a function of one variable, or layers")
    names = [s.name for s in sheets]
    usual = [(name, ACTIVATIONS[name].function, "reference") for name in ZOO if name not in names]
    drawn = [*((s.name, s.function, "measured") for s in sheets), *usual]
    values, slopes = [], []
    for name, function, role in drawn:
        x, y = sampled(function, *sheets[0].interval, 241)
        values.append(_curve(name, x, y, role))
        slopes.append(_curve(name, (x[1:] + x[:-1]) / 2, np.diff(y) / np.diff(x), role))
    return (
        Curves("activations", Axis("x"), Axis("σ(x)"), tuple(values)),
        Curves("their slopes", Axis("x"), Axis("σ′(x)"), tuple(slopes)),
    )


def _curve(name: str, x: np.ndarray, y: np.ndarray, role: Any) -> Series:
    kept = np.isfinite(y)
    return Series(name, tuple(x[kept].tolist()), tuple(y[kept].tolist()), role)
