r"""The rates of first-order methods on convex $L$-smooth functions: bounds, a floor, and how close runs come to them.

$R=\|\theta_0-\theta^*\|$ throughout, and $k$ counts steps from 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest, worst_ratio
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Axis, Curves, Enclosure, Identity, Series, Table, Witness

from .adaptive import Adam
from .descent import walk
from .landscapes import excess_chart, race
from .methods import Method, accelerated, adaptive, heavy_ball, line_search, steepest, tuned_heavy_ball
from .rounding import enclosed_excess, first_beyond, value_errors
from .worst_cases import heavy_ball_radius, huber_width, slowest_descent, slowest_line_search

GPT1 = (40_478 + 512) * 768 + 12 * (12 * 768**2 + 13 * 768)  # embeddings of tokens and places, twelve blocks
LONG = 60  # steps of the heavy ball whose error is compared with its formula
FEW = 30  # steps of a run that is taken again in intervals
ROUNDING = 1e-13


def descent_bound(smoothness: float, radius: float, k: np.ndarray, step: float = 1.0) -> np.ndarray:
    r"""$\frac{LR^2}{4kh+2}$ for gradient descent with $\tau=\frac hL$, $0<h\le1$ (Drori and Teboulle)."""
    return smoothness * radius**2 / (4 * k * step + 2)


def accelerated_bound(smoothness: float, radius: float, k: np.ndarray) -> np.ndarray:
    r"""$\frac{2LR^2}{(k+1)^2}$ for Nesterov's method and FISTA with $\tau=\frac1L$."""
    return 2 * smoothness * radius**2 / (k + 1) ** 2


def largest_ratio(excess: np.ndarray, bound: np.ndarray, size: float, errors: np.ndarray | float = 0.0) -> Enclosure:
    r"""$\max_k$ excess/bound over all $k$, in float64.

    Each bound is raised by `errors` of the values and by 10⁻¹³ of `size`, the rounding granted to the run.
    """
    return Enclosure.equal(worst_ratio(excess, bound, ROUNDING * size + errors))


@dataclass(frozen=True, eq=False)
class Hardest:
    r"""Nesterov's quadratic $\frac L4\big(\frac12x^\top Tx-cx_1\big)$, $T=\mathrm{tridiag}(-1,2,-1)$ in dimension
    $n=2K+1$, from 0, with $c$ such that $\|x^*\|=R$. Gradients unveil one coordinate a step, so that no method whose
    iterates stay in their span is below $\frac{Lc^2}8\big(\frac1{k+1}-\frac1{n+1}\big)$ after $k\le K$ steps."""

    smoothness: float
    radius: float
    steps: int

    @property
    def dimension(self) -> int:
        return 2 * self.steps + 1

    @property
    def shape(self) -> np.ndarray:
        n = self.dimension
        return 1 - np.arange(1, n + 1) / (n + 1)

    @property
    def pull(self) -> float:
        return self.radius / float(np.linalg.norm(self.shape))

    def value(self, x: np.ndarray) -> float:
        middle = float(np.sum(np.diff(x) ** 2) + x[0] ** 2 + x[-1] ** 2)
        return self.smoothness / 4 * (middle / 2 - self.pull * float(x[0]))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return self.smoothness / 4 * (np.convolve(x, [-1.0, 2.0, -1.0], "same") - self.pull * (np.arange(len(x)) == 0))

    @property
    def least(self) -> float:
        n = self.dimension
        return -self.smoothness / 8 * self.pull**2 * n / (n + 1)

    def floor(self, k: np.ndarray) -> np.ndarray:
        return self.smoothness / 8 * self.pull**2 * (1 / (k + 1) - 1 / (self.dimension + 1))

    def run(self) -> tuple[Curves, AtMost]:
        """The race on it, and the claim that nobody gets below the floor."""
        L, R, k = self.smoothness, self.radius, np.arange(self.steps + 1)
        methods = [steepest(1 / L), heavy_ball(1 / L, 0.9), accelerated(1 / L)]
        bounds = {"GD: LR²/(4k+2)": descent_bound(L, R, k), "Nesterov: 2LR²/(k+1)²": accelerated_bound(L, R, k)}
        paths = [walk(m, self.value, self.gradient, np.zeros(self.dimension), self.steps) for m in methods]
        figure = excess_chart(f"the hardest quadratic for {self.steps} steps", paths, bounds, self.least)
        floor = self.floor(k)
        figure = _with(figure, Series("no method below", k[1:], floor[1:], "reference"))
        lowest = largest(*(floor / (path.values - self.least) for path in paths))
        what = "largest ratio of the floor to what a method reached on the hardest quadratic"
        return figure, AtMost(what, Enclosure.equal(lowest), Enclosure.exact(1))


def _with(figure: Curves, series: Series) -> Curves:
    return Curves(figure.title, figure.x, figure.y, (*figure.series, series))


def runners(mu: float, smoothness: float, step: float) -> list[Method]:
    """The methods that race on a convex objective; the heavy ball where μ > 0."""
    chosen = [steepest(step / smoothness), line_search(), accelerated(1 / smoothness)]
    return [*chosen, tuned_heavy_ball(mu, smoothness)] if mu > 1e-12 * smoothness else chosen


@dataclass(frozen=True, eq=False)
class ConvexRun:
    """The race of `runners` on one objective, with the bounds, and what it claims of gradient descent and Nesterov."""

    figure: Curves
    claims: tuple[AtMost, ...]
    numbers: dict[str, float]


def convex_run(
    objective: Callable[[Any], Any],
    start: np.ndarray,
    optimum: np.ndarray,
    mu: float,
    L: float,
    step: float,
    steps: int,
) -> ConvexRun:
    r"""`optimum` is a minimiser, `mu` and `L` the constants, `step` the fraction $h$ of $\frac1L$ that GD takes."""
    R, k = float(np.linalg.norm(start - optimum)), np.arange(steps + 1)
    least = float(objective(optimum))
    bounds = {"GD: LR²/(4kh+2)": descent_bound(L, R, k, step), "Nesterov: 2LR²/(k+1)²": accelerated_bound(L, R, k)}
    figure, paths = race("rates race", objective, start, steps, runners(mu, L, step), bounds, least)
    size = abs(float(paths[0].values[0]) - least)
    least_error = value_errors(objective, optimum[None], np.array([least]))
    ratios = [
        largest_ratio(path.values - least, bound, size, value_errors(objective, path.points, path.values) + least_error)
        for path, bound in zip((paths[0], paths[2]), bounds.values())
    ]
    descent = AtMost(
        "max over k of (F_k − F*) / (LR²/(4kh+2)), gradient descent",
        ratios[0],
        Enclosure.exact(1),
        witness=_descent_witness(objective, start, optimum, paths[0].values - least, L, step),
    )
    nesterov = AtMost("max over k of (F_k − F*) / (2LR²/(k+1)²), Nesterov", ratios[1], Enclosure.exact(1))
    claims = (descent, nesterov)
    reached = {f"F_k − F*, {path.name}": float(path.values[-1] - least) for path in paths}
    return ConvexRun(figure, claims, {"L": L, "R": R, **reached})


def _descent_witness(
    objective: Callable[[Any], Any], start: np.ndarray, optimum: np.ndarray, excess: np.ndarray, L: float, step: float
) -> Witness | None:
    """The first steps that lead beyond the bound of gradient descent, taken again in intervals."""

    radius = float(np.linalg.norm(start - optimum))
    k = first_beyond(excess, descent_bound(L, radius, np.arange(len(excess)), step))
    if k is None or k > FEW:
        return None
    fourfold = 4 * k

    def bound(start: Any, optimum: Any, L: Any, step: Any) -> Any:
        return L * jnp.sum((start - optimum) ** 2) / (fourfold * step + 2)

    left = enclosed_excess(objective, start, optimum, step / L, k)
    return Witness({"k": float(k)}, left, enclose_number(bound, start, optimum, L, step), "all steps in intervals")


def exact_claims(smoothness: float, radius: float, steps: int, step: float, kappa: float) -> tuple[Any, ...]:
    """What rational arithmetic says of the worst functions: equality in each rate."""
    L, R, h = (Fraction(f"{v:.12g}") for v in (smoothness, radius, step))
    searched, kantorovich = slowest_line_search(Fraction(kappa))
    reached, allowed = slowest_descent(L, R, steps, h)
    zero, named = Enclosure.exact(0), f"(L = {float(L):.4g}, R = {float(R):.4g}, k = {steps})"
    factor = heavy_ball_radius(kappa)
    s = kappa**0.5
    return (
        Identity(
            f"(F_k − F*) − LR²/(4kh+2), GD on its Huber function {named}", Enclosure.exact(reached - allowed), zero
        ),
        Identity("(F₅/F₀) − ((κ−1)/(κ+1))¹⁰, line search from (κ, 1)", Enclosure.exact(searched - kantorovich), zero),
        Identity("spectral radius of the heavy ball = (√κ−1)/(√κ+1)", factor, Enclosure.equal((s - 1) / (s + 1))),
    )


def huber_value(smoothness: float, radius: float, steps: int, step: float) -> Enclosure:
    """What gradient descent reaches on its worst function, in rational arithmetic."""
    L, R, h = (Fraction(f"{v:.12g}") for v in (smoothness, radius, step))
    return Enclosure.exact(slowest_descent(L, R, steps, h)[0])


def heavy_ball_error(kappa: float, k: int = LONG) -> Identity:
    r"""At the ends of the spectrum the root $q$ is double, so that the error of the slowest mode is $(1+bk)q^k$ with
    $b=(1-\tau\mu)/q-1$: a run beside the formula."""
    method, s = tuned_heavy_ball(1.0, kappa), kappa**0.5
    q, tau = (s - 1) / (s + 1), 4 / (s + 1) ** 2
    error = walk(method, lambda x: 0.0, lambda x: x, np.ones(1), k).points[-1][0]
    formula = (1 + ((1 - tau) / q - 1) * k) * q**k if q > 0 else 0.0
    what = f"error of the slowest mode after {k} steps of the heavy ball"
    return Identity(what, Enclosure.equal(float(error)), Enclosure.equal(formula))


def memory_table(parameters: int) -> Table:
    """Numbers that each method keeps beside θ, read off the shapes of what it remembers."""
    methods = [steepest(1.0), heavy_ball(1.0, 0.9), accelerated(1.0), adaptive(Adam()), adaptive(Adam(amsgrad=True))]
    rows = [(m.name, remembered(m, parameters), remembered(m, GPT1)) for m in methods]
    rows.append(("Newton (the Hessian)", parameters**2, GPT1**2))
    return Table(
        "numbers kept beside θ", ("method", f"here (p = {parameters:,})", f"GPT-1 (p = {GPT1:,})"), tuple(rows)
    )


def remembered(method: Method, parameters: int) -> int:
    """How many numbers the method keeps beside the iterate; nothing is allocated."""
    memory = jax.eval_shape(method.begin, jax.ShapeDtypeStruct((parameters,), np.float64))
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(memory) if len(leaf.shape))


def slowest_chart(smoothness: float, radius: float, steps: int, step: float) -> Curves:
    """Gradient descent on the Huber functions of three numbers of steps: each touches the bound at its own."""
    k, L = np.arange(steps + 1), smoothness
    series = [Series("bound LR²/(4kh+2)", k, descent_bound(L, radius, k, step), "bound")]
    for count in sorted({max(1, steps // 8), max(1, steps // 3), steps}):
        w = huber_width(radius, count, step)
        value = lambda x, w=w: float(np.sum(np.where(abs(x) <= w, L * x**2 / 2, L * w * (abs(x) - w / 2))))
        path = walk(steepest(step / L), value, lambda x, w=w: L * np.clip(x, -w, w), np.array([radius]), steps)
        shown = path.values > 1e-12 * path.values[0]
        series.append(Series(f"worst for {count} steps", k[shown], path.values[shown]))
    return Curves("gradient descent touches its bound", Axis("step k"), Axis("F(θ_k) − F*", "log"), tuple(series))
