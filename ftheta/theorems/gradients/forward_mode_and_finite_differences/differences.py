r"""One-sided differences of a traced program beside their bound, with enclosures of every number in it.

Along one coordinate the program is $\varphi(t)=f(x+te)$. A difference with step $\varepsilon$ is off by at most
$$\frac\varepsilon2\max_{[0,\varepsilon]}|\varphi''|+\frac{\eta_0+\eta_\varepsilon}\varepsilon+2u|D|,$$
with the errors $\eta$ of the two evaluations (at most $u|f|$ each if they are accurate to $u$).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph import (
    Graph,
    GraphError,
    Interval,
    Tableau,
    forward_gradient,
    intervals,
    tableau,
    trace,
)
from ftheta.graph.differences import ULP, Counted, one_sided
from ftheta.graph.gradient_check import gradient_enclosure
from ftheta.graph.kinks import may_bend
from ftheta.logic import Enclosure, FthetaError

LARGEST = tuple(2.0**-k for k in range(3, 28, 3))
FINEST = 2.0**-46


@dataclass(frozen=True)
class Step:
    """One difference D with step ε: its error and its bound, as enclosures, and the error of the central one."""

    size: float
    error: Enclosure
    bound: Enclosure
    central: float

    @property
    def ratio(self) -> float:
        """The error over its bound, from below; no error is within every bound."""
        if self.error.lo == 0:
            return 0.0
        return self.error.lo / self.bound.hi if self.bound.hi > 0 else np.inf


@dataclass(frozen=True, eq=False)
class Slopes:
    """The program at a point, with one number as result, and its differences."""

    found: Tableau

    @property
    def point(self) -> np.ndarray:
        """All inputs as one row."""
        return np.concatenate([np.ravel(np.asarray(x, np.float64)) for x in self.found.at])

    @property
    def dimension(self) -> int:
        """The number of inputs."""
        return self.point.size

    def f(self, x: Any) -> Any:
        """The program as a function of one array."""
        if np.ndim(self.found.at[0]) == 0:
            return self.found.f(*(x[k] for k in range(self.dimension)))
        return self.found.f(jnp.reshape(x, np.shape(self.found.at[0])))

    @cached_property
    def evaluate(self) -> Callable[[np.ndarray], float]:
        """The program, compiled."""
        compiled = jax.jit(self.f)
        return lambda x: float(compiled(x))

    def along(self, t: Any) -> Any:
        """φ(t): the first coordinate moves."""
        return self.f(jnp.asarray(self.point) + t * jnp.asarray(np.eye(self.dimension)[0]))

    @cached_property
    def line(self) -> Graph:
        """The graph of φ."""
        return trace(self.along, 0.0, fold_rounded=False)

    @cached_property
    def forward_mode(self) -> np.ndarray:
        """All partial derivatives by dual numbers."""
        return forward_gradient(self.found.graph, *self.found.at)

    @cached_property
    def derivative(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper ends of all partial derivatives, rounded outward; None where they are out of reach."""
        return gradient_enclosure(self.found)

    @cached_property
    def reach(self) -> float:
        """The largest step of the list with no kink or jump on the way; 0 where there is none."""
        return next((step for step in LARGEST if not _bends(self.line, step)), 0.0)

    @cached_property
    def curvature(self) -> float:
        """A bound of |φ″| as far as `reach`; infinite where there is none."""
        graph = trace(jax.grad(jax.grad(self.along)), 0.0, fold_rounded=False)
        try:
            box = intervals(graph, Interval(0.0, self.reach or LARGEST[-1])).outputs
        except GraphError:
            return np.inf
        return float(max(abs(box.lo), abs(box.hi)))

    def difference(self, step: float) -> float:
        """The one-sided difference in the first coordinate."""
        e = np.eye(self.dimension)[0]
        return (self.evaluate(self.point + step * e) - self.evaluate(self.point)) / step

    def evaluations(self, step: float) -> int:
        """How many evaluations all d one-sided differences took."""
        counted = Counted(self.evaluate)
        one_sided(counted, self.point, step)
        return counted.evaluations

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """From the reach downwards by factors of 3: powers of 2 would hide the rounding at round points."""
        largest = self.reach or LARGEST[-1]
        count = int(np.log(largest / FINEST) / np.log(3)) + 1
        return tuple(
            self._step(taken)
            for taken in (self._round_step(largest * 3.0**-k) for k in range(count))
            if taken
        )

    def _round_step(self, step: float) -> float:
        """The step as float64 takes it from the point."""
        return float((self.point[0] + step) - self.point[0])

    def _step(self, size: float) -> Step:
        e = np.eye(self.dimension)[0]
        x = self.point
        lo, hi = (
            (ends[0] for ends in self.derivative)
            if self.derivative is not None
            else (-np.inf, np.inf)
        )
        here, there, back = (self.evaluate(x + t * e) for t in (0.0, size, -size))
        slope = (there - here) / size
        rounding = 0.0
        for t, value in ((0.0, here), (size, there)):
            box = intervals(self.line, t).outputs
            rounding += max(value - float(box.lo), float(box.hi) - value, 0.0)
        error = _distance(slope, float(lo), float(hi))
        bound = size / 2 * self.curvature + rounding / size + 2 * ULP * abs(slope)
        central = _distance((there - back) / (2 * size), float(lo), float(hi))
        return Step(size, error, Enclosure.between(bound, bound * (1 + 16 * ULP)), central.hi)


def slopes_of(
    f: Callable[..., Any], at: tuple[Any, ...], names: tuple[str, ...] = ()
) -> Slopes | None:
    """None where the function has no graph, no forward mode, or does not return one number."""
    try:
        found = Slopes(tableau(f, *at, names=names or None))
        return found if found.forward_mode.size else None
    except FthetaError:
        return None


def _bends(graph: Graph, step: float) -> bool:
    try:
        return bool(may_bend(graph, intervals(graph, Interval(0.0, step))))
    except GraphError:
        return True


def _distance(value: float, lo: float, hi: float) -> Enclosure:
    """|value − s| for s in [lo, hi]."""
    near = max(lo - value, value - hi, 0.0)
    return (
        Enclosure.between(near, max(abs(value - lo), abs(hi - value)) * (1 + 4 * ULP))
        if near < np.inf
        else Enclosure()
    )
