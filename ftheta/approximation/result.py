"""What `approximate` returns: the network, its certificate, what was measured, and what was tried."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic.chart import Axis, Chart, Curves, Heatmap, Series
from ftheta.logic.enclosure import Enclosure
from ftheta.networks import Description
from ftheta.networks.saving import save as save_description
from ftheta.shapes import Float

from .enclosed import Enclosed
from .goal import Goal

LINE = 801
SIDE = 121


@dataclass(frozen=True, slots=True)
class Attempt:
    """A network that was built: the error measured, and the one certified (or estimated) where that was asked for."""

    method: str
    neurons: int
    measured: float
    certified: float


@dataclass(frozen=True, eq=False)
class Approximation:
    r"""A network for a function on a box: `error` is that in the `norm` asked for, `measured` what was met.

    `network` is its list of layers. In the sup norm `error` is `certified`: proved for the network in real arithmetic
    with its weights as stored, `how` says by what argument. In "L2" it is proved on cells (`error.basis` is exact), or
    has a confidence, or is measured at a `nominal` level that guarantees nothing. `measured` is evaluated in float64 at
    `points` points.
    """

    goal: Goal = field(repr=False)
    eps: float
    norm: str
    method: str
    says: str
    network: Description = field(repr=False)
    error: Enclosure
    how: str
    measured: float
    points: int
    attempts: tuple[Attempt, ...] = field(repr=False)
    seconds: float
    enclosed: Enclosed = field(repr=False)

    @property
    def reached(self) -> bool:
        """Whether the error is at most `eps`: proved, or in the mean square at a confidence that is guaranteed."""
        return self.error.hi <= self.eps and self.error.nominal is None

    @property
    def certified(self) -> Enclosure:
        r"""What is proved of $\sup|f-g|$: nothing where the mean square was asked for."""
        return self.error if self.norm == "sup" else Enclosure(0.0)

    @property
    def neurons(self) -> int:
        """Of all hidden layers."""
        return sum(self.network.widths[1:-1])

    @property
    def width(self) -> int:
        """Of the widest hidden layer."""
        return max(self.network.widths[1:-1])

    @property
    def activation(self) -> str:
        return self.network.layers[0].activation

    def __call__(self, x: Any) -> Float[Any, "*n"]:
        """The network at one point or at rows, in float64."""
        d = self.goal.dimension
        x = np.asarray(x, np.float64)
        found = self.enclosed.values(x.reshape(-1, d))
        return found[0] if x.ndim == (d > 1) else found

    def save(self, path: str | Path) -> None:
        """Write the network as an .npz file that every command reads."""
        save_description(self.network, Path(path))

    @property
    def document(self) -> dict[str, Any]:
        """The result as plain values, for JSON."""
        finite = lambda value: value if np.isfinite(value) else None
        return {
            "function": self.goal.name,
            "lo": list(self.goal.lo),
            "hi": list(self.goal.hi),
            "eps": self.eps,
            "norm": self.norm,
            "reached": self.reached,
            "method": self.method,
            "activation": self.activation,
            "widths": list(self.network.widths),
            "neurons": self.neurons,
            "certified": finite(self.certified.hi),
            "at_least": self.error.lo,
            "at_most": finite(self.error.hi),
            "basis": self.error.basis.value,
            "confidence": self.error.confidence,
            "nominal": self.error.nominal,
            "how": self.how,
            "measured": self.measured,
            "points": self.points,
            "seconds": self.seconds,
            "attempts": [
                {
                    "method": a.method,
                    "neurons": a.neurons,
                    "measured": a.measured,
                    "certified": finite(a.certified),
                }
                for a in self.attempts
            ],
        }

    def __str__(self) -> str:
        g = self.goal
        layers = "-".join(map(str, self.network.widths))
        box = (
            f"[{g.lo[0]:g}, {g.hi[0]:g}]"
            if g.dimension == 1
            else f"[{_row(g.lo)}] to [{_row(g.hi)}]"
        )
        tried = dict.fromkeys(a.method for a in self.attempts)
        asked = f"required error: {self.eps:g}, {self._outcome()}"
        return "\n".join(
            [
                f"{g.name} on {box}: {self.says}, {layers}, {self.activation} ({self.neurons:,} neurons)",
                f"  {self._said()} ({self.how})",
                f"  measured: {self.measured:.6g} at {self.points:,} points",
                f"  {asked}",
                f"  {len(self.attempts)} networks built ({', '.join(tried)}) in {self.seconds:.1f} s",
            ]
        )

    __repr__ = __str__

    def _outcome(self) -> str:
        if self.reached:
            return "reached"
        if self.error.hi <= self.eps:
            return "reached as far as measured, not guaranteed"
        return "not reached within the budget: this is the best so far"

    def _said(self) -> str:
        if self.norm == "sup":
            return f"certified: sup |f − g| ≤ {self.error.hi:.6g}"
        between = f"‖f − g‖ in L² between {self.error.lo:.6g} and {self.error.hi:.6g}"
        if self.error.samples is None:
            return f"certified: {between}"
        sure = (
            f"confidence {self.error.confidence:.6f}"
            if self.error.nominal is None
            else "measured, nothing guaranteed"
        )
        return f"estimated: {between}, {self.error.samples:,} points, {sure}"

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The function with its network, the error, and the error of everything that was tried against its size."""
        return _draw(self)

    def chart(self) -> Chart:
        """The first of the `charts`."""
        return self.charts[0]


def _row(numbers: tuple[float, ...]) -> str:
    return ", ".join(f"{t:g}" for t in numbers)


# ---- pictures ------------------------------------------------------------------------------------------------------


def _draw(made: Approximation) -> tuple[Chart, ...]:
    """The function with its network, the error, and the error of everything that was tried against its size."""
    pictures = _draw_on_line(made) if made.goal.dimension == 1 else _draw_on_plane(made)
    return (*pictures, _draw_attempts(made)) if len(made.attempts) > 2 else pictures


def _draw_on_line(made: Approximation) -> tuple[Chart, ...]:
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
        Curves(
            "the error",
            Axis("x"),
            Axis("network − function"),
            _error_between_bounds(made, x, net - truth),
        ),
    )


def _error_between_bounds(
    made: Approximation, x: np.ndarray, error: np.ndarray
) -> tuple[Series, ...]:
    ends = x[[0, -1]]
    found = [Series("error", x, error)]
    if np.isfinite(made.certified.hi):
        found += [Series("certified", ends, [made.certified.hi] * 2, "bound")]
        found += [Series("−certified", ends, [-made.certified.hi] * 2, "bound")]
    return tuple(found)


def _draw_on_plane(made: Approximation) -> tuple[Chart, ...]:
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


def _draw_attempts(made: Approximation) -> Curves:
    """Measured errors against neurons, the least of each size, for every method tried."""
    series = []
    for name in dict.fromkeys(a.method for a in made.attempts):
        best: dict[int, float] = {}
        for a in made.attempts:
            if a.method == name:
                best[a.neurons] = min(best.get(a.neurons, np.inf), max(a.measured, 1e-17))
        n = sorted(best)
        series.append(
            Series(name, n, [best[k] for k in n], "measured", "line" if len(n) > 1 else "points")
        )
    ends = [min(a.neurons for a in made.attempts), max(a.neurons for a in made.attempts)]
    if ends[0] < ends[1]:
        series.append(Series("required", ends, [made.eps] * 2, "bound"))
    kind = "largest error on the grid" if made.norm == "sup" else "root mean square error"
    title = f"what was tried: {kind}"
    return Curves(title, Axis("neurons", "log"), Axis("error", "log"), tuple(series))
