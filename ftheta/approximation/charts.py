"""Charts of what `approximate`, `barron_norm`, `measure_rates` and `leshno_chain` return."""

from collections.abc import Callable
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ftheta.logic.chart import Axis, Bars, Chart, Curves, Heatmap, Series

from .fourier import hat_norm

if TYPE_CHECKING:
    from .fourier import Spectral
    from .leshno import Chain
    from .rates import Rates
    from .result import Approximation

LINE = 801
SIDE = 121
SHOWN_DIMENSIONS = (1, 2, 5, 10, 20)
STEPS = ("exponentials", "polynomials", "monomials", "smoothing")


def draw_approximation(made: "Approximation") -> tuple[Chart, ...]:
    """The function with its network, the error, and the error of everything that was tried against its size."""
    pictures = _draw_on_line(made) if made.goal.dimension == 1 else _draw_on_plane(made)
    return (*pictures, _draw_attempts(made)) if len(made.attempts) > 2 else pictures


def _draw_on_line(made: "Approximation") -> tuple[Chart, ...]:
    g = made.goal
    x = np.linspace(g.lo[0], g.hi[0], LINE)
    truth = g.values(x[:, None])
    net = made.enclosed.values(x[:, None])
    return (
        Curves(
            f"{g.name} and its network",
            Axis("x"),
            Axis("value"),
            (Series(g.name, x, truth, "reference"), Series(f"{made.neurons} neurons", x, net)),
        ),
        Curves("the error", Axis("x"), Axis("network − function"), _error_between_bounds(made, x, net - truth)),
    )


def _error_between_bounds(made: "Approximation", x: np.ndarray, error: np.ndarray) -> tuple[Series, ...]:
    ends = x[[0, -1]]
    found = [Series("error", x, error)]
    if np.isfinite(made.certified.hi):
        found += [Series("certified", ends, [made.certified.hi] * 2, "bound")]
        found += [Series("−certified", ends, [-made.certified.hi] * 2, "bound")]
    return tuple(found)


def _draw_on_plane(made: "Approximation") -> tuple[Chart, ...]:
    """The first two coordinates, the others at their centre; and the error along the first."""
    g = made.goal
    sides = [np.linspace(g.lo[j], g.hi[j], SIDE) for j in (0, 1)]
    rows = np.tile(g.centre, (SIDE * SIDE, 1))
    rows[:, 1], rows[:, 0] = (x.ravel() for x in np.meshgrid(sides[1], sides[0], indexing="ij"))
    truth = g.values(rows)
    net = made.enclosed.values(rows)
    extent = (g.lo[0], g.hi[0], g.lo[1], g.hi[1])
    where = "" if g.dimension == 2 else ", the other coordinates at their centre"
    draw: Callable[[np.ndarray, str, str], Heatmap] = lambda z, title, label: Heatmap(
        title + where, Axis("x₁"), Axis("x₂"), z.reshape(SIDE, SIDE), extent, label
    )
    along = np.tile(g.centre, (LINE, 1))
    along[:, 0] = np.linspace(g.lo[0], g.hi[0], LINE)
    error = made.enclosed.values(along) - g.values(along)
    return (
        draw(net, f"network for {g.name}", "value"),
        draw(net - truth, "network − function", "error"),
        Curves(
            "the error along x₁",
            Axis("x₁"),
            Axis("network − function"),
            _error_between_bounds(made, along[:, 0], error),
        ),
    )


def _draw_attempts(made: "Approximation") -> Curves:
    """Measured errors against neurons, the least of each size, for every method tried."""
    series = []
    for name in dict.fromkeys(a.method for a in made.attempts):
        best: dict[int, float] = {}
        for a in made.attempts:
            if a.method == name:
                best[a.neurons] = min(best.get(a.neurons, np.inf), max(a.measured, 1e-17))
        n = sorted(best)
        series.append(Series(name, n, [best[k] for k in n], "measured", "line" if len(n) > 1 else "points"))
    ends = [min(a.neurons for a in made.attempts), max(a.neurons for a in made.attempts)]
    if ends[0] < ends[1]:
        series.append(Series("required", ends, [made.eps] * 2, "bound"))
    kind = "largest error on the grid" if made.norm == "sup" else "root mean square error"
    title = f"what was tried: {kind}"
    return Curves(title, Axis("neurons", "log"), Axis("error", "log"), tuple(series))


def draw_truncated_norm(found: "Spectral", name: str, claimed: float) -> Curves:
    """The integral up to a frequency, for this function and for the hat function, which never settles."""
    cuts = np.geomspace(max(found.cut / 1000, 0.1), found.cut, 60)
    mine = [found.up_to(c) for c in cuts]
    series = [
        Series(name, cuts, mine),
        Series("hat function", cuts, [hat_norm(float(c)).middle for c in cuts], "other"),
    ]
    if np.isfinite(claimed):
        series.append(Series("claimed C_f", cuts[[0, -1]], [claimed] * 2, "bound"))
    return Curves("integral up to a frequency", Axis("Λ", "log"), Axis("∫|ω||f̂| up to Λ"), tuple(series))


def draw_rates(found: "Rates") -> tuple[Curves, Curves]:
    """The exponents against dimension; errors against neurons for some dimensions."""
    d = [r.dimension for r in found.rows]
    drawn = [r.exponent for r in found.rows]
    exponents = (
        Series("drawn networks", d, [e.middle for e in drawn], lo=[e.lo for e in drawn], hi=[e.hi for e in drawn]),
        Series("greedy networks", d, [r.greedy_exponent.middle for r in found.rows], "other"),
        Series("−1/2", d, [-0.5] * len(d), "bound"),
        Series("−1/d, cells of a grid", d, [-1 / k for k in d], "reference"),
    )
    errors = []
    for r in (r for r in found.rows if r.dimension in SHOWN_DIMENSIONS):
        root = [sqrt(e.middle) for e in r.squares]
        low, high = ([sqrt(max(t, 1e-300)) for t in ends] for ends in zip(*((e.lo, e.hi) for e in r.squares)))
        errors.append(Series(f"d = {r.dimension}", found.neurons, root, lo=low, hi=high))
        errors.append(Series(f"bound, d = {r.dimension}", found.neurons, r.bounds, "bound"))
    return (
        Curves("exponents that were measured", Axis("dimension d"), Axis("exponent"), exponents),
        Curves("error against neurons", Axis("neurons", "log"), Axis("‖f − f_n‖", "log"), tuple(errors)),
    )


def draw_error_budget(chain: "Chain") -> Bars:
    """The bounds of the four steps of Leshno's proof beside their sum."""
    values = tuple(term.hi for term in (*chain.terms, chain.bound))
    return Bars("error budget of the chain", Axis("error", "log"), (*STEPS, "whole bound"), ("sup error",), (values,))
