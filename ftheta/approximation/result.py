"""What `approximate` returns: the network, its certificate, what was measured, and what was tried."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic.chart import Chart
from ftheta.logic.enclosure import Enclosure
from ftheta.networks import Description
from ftheta.networks.saving import save as save_description

from .charts import draw_approximation
from .enclosed import Enclosed
from .goal import Goal


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

    def __call__(self, x: Any) -> np.ndarray:
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
                {"method": a.method, "neurons": a.neurons, "measured": a.measured, "certified": finite(a.certified)}
                for a in self.attempts
            ],
        }

    def __str__(self) -> str:
        g = self.goal
        layers = "-".join(map(str, self.network.widths))
        box = f"[{g.lo[0]:g}, {g.hi[0]:g}]" if g.dimension == 1 else f"[{_row(g.lo)}] to [{_row(g.hi)}]"
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
            f"confidence {self.error.confidence:.6f}" if self.error.nominal is None else "measured, nothing guaranteed"
        )
        return f"estimated: {between}, {self.error.samples:,} points, {sure}"

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The function with its network, the error, and the error of everything that was tried against its size."""
        return draw_approximation(self)

    def chart(self) -> Chart:
        """The first of the `charts`."""
        return self.charts[0]


def _row(numbers: tuple[float, ...]) -> str:
    return ", ".join(f"{t:g}" for t in numbers)
