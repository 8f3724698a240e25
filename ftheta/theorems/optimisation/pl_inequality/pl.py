r"""The Polyak–Łojasiewicz inequality $\frac12\|\nabla F\|^2\ge\mu(F-F^*)$: one constant certified, others measured."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, arb_series, ctx

from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Enclosure, Witness
from ftheta.spectra.objective import Objective
from ftheta.spectra.trajectory import Trajectory, along_training
from ftheta.training import gradient_descent
from ftheta.training.rounding import (
    carried_on,
    enclosed_excess,
    first_beyond,
    step_errors,
    value_errors,
)

BITS = 128
FEW = 30  # steps of a run that is taken again in intervals
REACH = 4  # beyond it the tail bound decides
WAVY = "F″ = 2 + 6 cos 2x ≤ 8, and the ratio is enclosed on cells"
WAVY_SMOOTHNESS = 8.0


def wavy(theta: Any) -> Any:
    r"""$x^2+3\sin^2x$: not convex, yet PL; $F''=2+6\cos2x\in[-4,8]$."""
    return jnp.sum(theta**2 + 3 * jnp.sin(theta) ** 2)


def _ratio(x: Any) -> Any:
    r"""$\frac12F'^2/F=\frac{(2+6\,\mathrm{sinc}\,2x)^2}{2(1+3\,\mathrm{sinc}^2x)}$, also at 0."""
    return (2 + 6 * (2 * x).sinc()) ** 2 / (2 * (1 + 3 * x.sinc() ** 2))


def _jet(x: Any) -> tuple[Any, Any, Any]:
    """The ratio with its first and second derivative at a ball away from 0."""
    t = arb_series([x, 1], prec=3)
    slope = 2 * t + 3 * (2 * t).sin()
    value = t * t + 3 * t.sin() * t.sin()
    r = slope * slope / (2 * value)
    return r[0], r[1], 2 * r[2]


@cache
def best_wavy() -> tuple[Enclosure, Enclosure]:
    r"""$\min_x\frac12F'^2/F$ of `wavy` over the line and a minimiser, in ball arithmetic.

    Near the minimiser the ratio is strongly convex, $r''\ge c$, so $r\ge r(x)-r'(x)^2/2c$ there; elsewhere on $[0,4]$
    bisection shows larger values, and beyond $r\ge\frac{(2x-3)^2}{2(x^2+3)}\ge\frac{25}{38}$. The ratio is even.
    """
    with ctx.workprec(BITS):
        x = arb(2.2)
        for _ in range(12):  # Newton's method for r′ = 0; whatever it finds is checked
            _, first, second = _jet(x)
            x = (x - first / second).mid()
        near = arb(x, arb(0.1))
        value, first, _ = _jet(x)
        bend = _jet(near)[2].lower()
        if not bend > 0:
            raise ArithmeticError("the ratio is not convex near its minimiser")
        low = (value - first**2 / (2 * bend)).lower()
        _exceeds_elsewhere(x, low)
        doubt = abs(first) / bend
        return Enclosure.ball(low.union(value.upper())), Enclosure.ball(arb(x, doubt.upper()))


def _exceeds_elsewhere(x: Any, low: Any) -> None:
    """Raise unless the ratio is at least `low` outside x ± 0.1 on the half-line."""
    boxes = [(0.0, float(x) - 0.099), (float(x) + 0.099, float(REACH))]
    while boxes:
        a, b = boxes.pop()
        if _ratio(arb((a + b) / 2, (b - a) / 2)) >= low:
            continue
        if b - a < 1e-9:
            raise ArithmeticError(f"the ratio may be smaller near {a}")
        boxes += [(a, (a + b) / 2), ((a + b) / 2, b)]
    if not arb(25) / 38 > low:
        raise ArithmeticError("the tail bound does not exceed the minimum")


@dataclass(frozen=True, eq=False)
class Descent:
    """Values and squared gradient norms along a path, above the least value."""

    F: Callable[[Any], Any]
    path: np.ndarray
    optimum: np.ndarray
    excess: np.ndarray
    squares: np.ndarray

    @classmethod
    def along(
        cls, F: Callable[[Any], Any], start: np.ndarray, tau: float, steps: int, optimum: np.ndarray
    ) -> "Descent":
        """Gradient descent on F with step τ."""
        path = gradient_descent(F, start, tau, steps)
        values, slopes = call_compiled(jax.vmap(jax.value_and_grad(F)), path)
        squares = (np.asarray(slopes) ** 2).reshape(len(path), -1).sum(1)
        return cls(F, path, optimum, np.asarray(values) - float(F(optimum)), squares)

    def rounding(self, mu: float, tau: float) -> np.ndarray:
        """What float64 may have added to the excess at each k: in the two values, and by its steps, of which the
        next ones keep the part 1 − τμ as of any excess. (F moves by ‖∇F‖ρ + Lρ²/2 at most in a step ρ, and L ≤ 1/τ.)"""
        least = float(self.F(self.optimum))
        values = value_errors(self.F, self.path, self.excess + least)
        steps = step_errors(self.F, self.path, tau)
        moved = np.sqrt(self.squares[1:]) * steps + steps**2 / (2 * tau)
        return (
            values
            + value_errors(self.F, self.optimum[None], np.array([least]))
            + carried_on(moved, 1 - tau * mu)
        )

    @property
    def ratios(self) -> np.ndarray:
        r"""$\frac12\|\nabla F\|^2/(F-F^*)$ where the excess is above rounding."""
        kept = self.excess > 1e-14 * self.excess[0]
        return self.squares[kept] / 2 / self.excess[kept]

    @property
    def least(self) -> float:
        """The least of these ratios."""
        return float(self.ratios.min())

    def witness(self, mu: float, tau: float, bound: np.ndarray) -> Witness | None:
        """The first steps that lead beyond the bound, taken again in intervals."""
        k = first_beyond(self.excess, bound)
        if k is None or k > FEW:
            return None

        def bound_excess(start: Any, optimum: Any, tau: Any, mu: Any) -> Any:
            return (1 - tau * mu) ** k * (self.F(start) - self.F(optimum))

        left = enclosed_excess(self.F, self.path[0], self.optimum, tau, k)
        right = enclose_number(bound_excess, self.path[0], self.optimum, tau, mu)
        return Witness({"k": float(k)}, left, right, "all steps in intervals rounded outward")


@dataclass(frozen=True, eq=False)
class KernelBallTest:
    r"""Liu, Zhu and Belkin's test on a run: is $\lambda_{\min}K\ge\mu$ within $R=2L_\Phi\|\Phi(\theta_0)-y\|/\mu$?

    `mu` is the least eigenvalue of the tangent kernel met on the run, `steepest` the largest $\|J\|$: the ball is
    not searched, so this is evidence and no proof.
    """

    run: Trajectory
    mu: float
    steepest: float
    residual: float
    rows: int

    @property
    def radius(self) -> float:
        r"""$R=2L_\Phi\|\Phi(\theta_0)-y\|/\mu$."""
        return 2 * self.steepest * self.residual / self.mu if self.mu > 0 else float("inf")

    @property
    def rate(self) -> float:
        """1 − τμ for the mean of ½‖·‖² over the rows."""
        return 1 - (self.run.step or 0.0) * self.mu / self.rows


def test_ball(objective: Objective, tau: float, steps: int) -> KernelBallTest:
    """Descend on the mean of ½‖Φ − y‖² and look at the tangent kernel on the way."""
    run = along_training(objective, "gd", step=tau, steps=steps, looks=9)
    kernels = [objective.kernel_matrix(row) for row in run.rows]
    ends = np.array([np.linalg.eigvalsh(k)[[0, -1]] for k in kernels if k is not None]).reshape(
        -1, 2
    )
    least = float(ends[:, 0].min(initial=np.inf))
    most = float(ends[:, 1].max(initial=0.0))
    residual = float(np.linalg.norm(objective.residual()))
    return KernelBallTest(
        run,
        least if np.isfinite(least) else 0.0,
        float(np.sqrt(most)),
        residual,
        len(objective.examples),
    )
