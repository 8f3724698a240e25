"""First-order methods: what each of them guarantees on a convex function, and what it remembers."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Table,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Network, Training
from ftheta.subjects.hypotheses import claims_smoothness, curvature_of, optimum_of
from ftheta.subjects.problems import convex_and_smooth, problem_of, rows_of, smoothness_of
from ftheta.subjects.stated import as_stated
from ftheta.theorems.charts_descent import draw_excess
from ftheta.training.adaptive import Adam
from ftheta.training.descent import Path, descend, walk
from ftheta.training.landscapes import Landscape, curvature_along_gradient, landscape
from ftheta.training.methods import (
    Method,
    accelerated_gradient,
    adaptive,
    any_optimiser,
    heavy_ball,
    line_search,
    steepest,
    tuned_heavy_ball,
)
from ftheta.training.rates import accelerated_bound, descent_bound, largest_ratio
from ftheta.training.rounding import enclosed_excess, first_beyond, value_errors
from ftheta.training.worst_cases import (
    heavy_ball_radius,
    huber_width,
    slowest_descent,
    slowest_line_search,
)

from .hardest import Hardest

# embeddings of tokens and places, twelve blocks
GPT1 = (40_478 + 512) * 768 + 12 * (12 * 768**2 + 13 * 768)
LONG = 60  # steps of the heavy ball whose error is compared with its formula
FEW = 30  # steps of a run that is taken again in intervals


def power_law(
    rng: np.random.Generator,
    *,
    smoothness: Annotated[
        float, Knob(0.1, 10, "largest curvature", "L", log=True, least=1e-6, most=1e6)
    ] = 3.0,
    radius: Annotated[
        float, Knob(0.1, 10, "distance from the start to θ*", "R", log=True, least=1e-6, most=1e6)
    ] = 2.0,
) -> Training:
    modes = smoothness / np.arange(1, 41) ** 2.0
    start = radius * np.ones(40) / np.sqrt(40)
    return Training.quadratic(
        "quadratic with curvatures L/i², i ≤ 40", np.diag(modes), start, smoothness=smoothness
    )


def claims_to_be_smoother(rng: np.random.Generator) -> Training:
    return Training.quadratic(
        "quadratic that claims L four times too small",
        np.diag([1.0, 40.0]),
        np.ones(2),
        smoothness=10.0,
    )


@hypothesis(
    r"$\tau=h/L$ with $0<h\le1$", remedy="take a smaller step", name="a step of at most 1/L"
)
def step_at_most_one(subject: Training | Network, *, step: float) -> Finding:
    return Finding.decide(
        0 < step <= 1, f"h = {step:g}", "a comparison of knobs", Enclosure.equal(step)
    )


@theorem(
    title="First-order methods and their rates",
    sources=("gribonval-slides", "murari-slides", "nesterov2018", "drori2014", "polyak1964"),
    gist="Gradient descent, momentum and Nesterov's method each have a guaranteed speed on convex losses, and nobody "
    "who only sees gradients can be much faster than Nesterov.",
    see_also=("gd-strongly-convex", "gd-step-regimes", "nonsmooth-proximal", "adam"),
    assumes=(convex_and_smooth, step_at_most_one, as_stated),
    on=power_law,
    breaks_on=claims_to_be_smoother,
    presets={
        "textbook": {},
        "long run": {"steps": 1000},
        "at the edge": {"steps": 1, "kappa": 1.0},
        "broken on purpose": {"step": 2.5},
    },
)
def first_order_family(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    steps: Annotated[int, Knob(1, 1000, "number of steps", "k", log=True, most=3000)] = 100,
    step: Annotated[
        float,
        Knob(0.05, 1.0, "step of gradient descent as a fraction of 1/L", "h", least=1e-6, most=4),
    ] = 1.0,
    kappa: Annotated[
        float, Knob(1, 1e4, "condition number of the heavy ball's quadratic", "κ", log=True)
    ] = 100.0,
) -> Evidence:
    r"""$\theta_{k+1}=T(\theta_k,\nabla F(\theta_k),\dots)$ on a convex $L$-smooth $F$, $R=\|\theta_0-\theta^*\|$, obeys
    $$F(\theta_k)-F^*\le\frac{LR^2}{4kh+2}\ \text{(gradient descent, }\tau=\tfrac hL\text{)},\qquad
    F(\theta_k)-F^*\le\frac{2LR^2}{(k+1)^2}\ \text{(Nesterov)};$$
    the first is attained. On quadratics the exact line search gains $\big(\frac{\kappa-1}{\kappa+1}\big)^2$ a step at
    worst, the heavy ball $\frac{\sqrt\kappa-1}{\sqrt\kappa+1}$."""
    run = problem_of(subject)
    L = smoothness_of(run)
    optimum = optimum_of(run)[0]
    mu = curvature_of(run)[0].lo
    R = float(np.linalg.norm(run.start - optimum))
    least = float(run.objective(optimum))
    k = np.arange(steps + 1)
    bounds = {
        "GD: LR²/(4kh+2)": descent_bound(L, R, k, step),
        "Nesterov: 2LR²/(k+1)²": accelerated_bound(L, R, k),
    }
    paths = [descend(method, run.objective, run.start, steps) for method in _runners(mu, L, step)]
    charts = [draw_excess("rates race", paths, bounds, least)]
    if isinstance(subject, Network):
        whole = landscape(subject.apply, subject.params, *rows_of(subject))
        if whole is not None:
            charts.insert(0, _race_optimisers(subject.name, whole, min(steps, 200)))
    reached = {path.name: float(path.values[-1] - least) for path in paths}
    numbers = {"L": L, "R": R} | {f"F_k − F*, {name}": value for name, value in reached.items()}
    above = ", ".join(f"{name} is {value:.3g} above F*" for name, value in reached.items())
    return Evidence(
        claims=_claims(run, optimum, paths, list(bounds.values()), L, step),
        charts=tuple(charts),
        numbers=numbers,
        tables=(_tabulate_memory(run.start.size),),
        summary=f"{run.name}: L = {L:.5g}, R = {R:.5g}; after {steps} steps {above}",
        examples=partial(_examples, L, R, steps, step, kappa),
    )


# -- the race on the subject --------------------------------------------------------------------------------


def _runners(mu: float, smoothness: float, step: float) -> list[Method]:
    """The methods that race on a convex objective; the heavy ball where μ > 0."""
    chosen = [steepest(step / smoothness), line_search(), accelerated_gradient(1 / smoothness)]
    return [*chosen, tuned_heavy_ball(mu, smoothness)] if mu > 1e-12 * smoothness else chosen


def _claims(
    run: Training,
    optimum: np.ndarray,
    paths: list[Path],
    bounds: list[np.ndarray],
    L: float,
    step: float,
) -> tuple[AtMost, AtMost]:
    """The bounds of gradient descent (the first path) and of Nesterov's method (the third); an L that was only met at
    points is refuted by none."""
    objective = run.objective
    least = float(objective(optimum))
    size = abs(float(paths[0].values[0]) - least)
    least_error = value_errors(objective, optimum[None], np.array([least]))
    ratios = [
        largest_ratio(
            path.values - least,
            bound,
            size,
            value_errors(objective, path.points, path.values) + least_error,
        )
        for path, bound in zip((paths[0], paths[2]), bounds)
    ]
    descent = AtMost(
        "max over k of (F_k − F*) / (LR²/(4kh+2)), gradient descent",
        ratios[0],
        Enclosure.exact(1),
        witness=_descent_witness(objective, run.start, optimum, paths[0].values - least, L, step)
        if claims_smoothness(run)
        else None,
    )
    nesterov = AtMost(
        "max over k of (F_k − F*) / (2LR²/(k+1)²), Nesterov", ratios[1], Enclosure.exact(1)
    )
    return descent, nesterov


def _descent_witness(
    objective: Callable[[Any], Any],
    start: np.ndarray,
    optimum: np.ndarray,
    excess: np.ndarray,
    L: float,
    step: float,
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
    return Witness(
        {"k": float(k)},
        left,
        enclose_number(bound, start, optimum, L, step),
        "all steps in intervals",
    )


def _race_optimisers(name: str, whole: Landscape, steps: int) -> Curves:
    """The loss of a whole network under optimisers of every kind, each with a step to suit its curvature."""
    tau = 1 / max(curvature_along_gradient(whole.risk, whole.start), 1e-12)
    chosen = {"gd": tau, "momentum": tau / 4, "nesterov": tau / 4, "adam": 1e-3, "amsgrad": 1e-3}
    methods = [any_optimiser(optimiser, step) for optimiser, step in chosen.items()]
    paths = [descend(method, whole.risk, whole.start, steps) for method in methods]
    return draw_excess(f"{whole.loss} loss of {name}", paths, {}, None)


def _tabulate_memory(parameters: int) -> Table:
    """Numbers that each method keeps beside θ, read off the shapes of what it remembers."""
    methods = [
        steepest(1.0),
        heavy_ball(1.0, 0.9),
        accelerated_gradient(1.0),
        adaptive(Adam()),
        adaptive(Adam(amsgrad=True)),
    ]
    rows = [(m.name, count_memory(m, parameters), count_memory(m, GPT1)) for m in methods]
    rows.append(("Newton (the Hessian)", parameters**2, GPT1**2))
    return Table(
        "numbers kept beside θ",
        ("method", f"here (p = {parameters:,})", f"GPT-1 (p = {GPT1:,})"),
        tuple(rows),
    )


def count_memory(method: Method, parameters: int) -> int:
    """How many numbers the method keeps beside the iterate; nothing is allocated."""
    memory = jax.eval_shape(method.begin, jax.ShapeDtypeStruct((parameters,), np.float64))
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(memory) if len(leaf.shape))


# -- examples: the functions on which the rates are attained ------------------------------------------------


def _descend_huber(
    smoothness: float, radius: float, steps: int, step: float
) -> tuple[Fraction, Fraction]:
    """What gradient descent reaches on its worst function, and what the bound allows, in rational arithmetic."""
    L, R, h = (Fraction(f"{v:.12g}") for v in (smoothness, radius, step))
    return slowest_descent(L, R, steps, h)


def _examples(L: float, R: float, steps: int, step: float, kappa: float) -> Examples:
    """Equality in each rate on its worst function, and the floor that no method gets below."""
    zero = Enclosure.exact(0)
    reached, allowed = _descend_huber(L, R, steps, step)
    searched, kantorovich = slowest_line_search(Fraction(kappa))
    where = f"(L = {float(f'{L:.12g}'):.4g}, R = {float(f'{R:.12g}'):.4g}, k = {steps})"
    s = kappa**0.5
    hardest = Hardest(L, R, min(steps, 300))
    paths = _race_on_hardest(hardest)
    claims = (
        Identity(
            f"(F_k − F*) − LR²/(4kh+2), GD on its Huber function {where}",
            Enclosure.exact(reached - allowed),
            zero,
        ),
        Identity(
            "(F₅/F₀) − ((κ−1)/(κ+1))¹⁰, line search from (κ, 1)",
            Enclosure.exact(searched - kantorovich),
            zero,
        ),
        Identity(
            "spectral radius of the heavy ball = (√κ−1)/(√κ+1)",
            heavy_ball_radius(kappa),
            Enclosure.equal((s - 1) / (s + 1)),
        ),
        _claim_floor(hardest, paths),
        _claim_heavy_ball_error(kappa),
    )
    return Examples(
        claims,
        charts=(_draw_hardest(hardest, paths), _draw_huber(L, R, steps, step)),
        numbers={
            "F_k − F* on the Huber function": Enclosure.exact(reached),
            "heavy ball factor": heavy_ball_radius(kappa),
            "Hessian entries of GPT-1": Enclosure.exact(GPT1**2),
        },
    )


def _race_on_hardest(hardest: Hardest) -> list[Path]:
    tau = 1 / hardest.smoothness
    methods = [steepest(tau), heavy_ball(tau, 0.9), accelerated_gradient(tau)]
    start = np.zeros(hardest.dimension)
    return [
        walk(method, hardest.value, hardest.gradient, start, hardest.steps) for method in methods
    ]


def _claim_floor(hardest: Hardest, paths: list[Path]) -> AtMost:
    floor = hardest.floor(np.arange(hardest.steps + 1))
    lowest = largest(*(floor / (path.values - hardest.least) for path in paths))
    what = "largest ratio of the floor to what a method reached on the hardest quadratic"
    return AtMost(what, Enclosure.equal(lowest), Enclosure.exact(1))


def _draw_hardest(hardest: Hardest, paths: list[Path]) -> Curves:
    L = hardest.smoothness
    R = hardest.radius
    k = np.arange(hardest.steps + 1)
    bounds = {
        "GD: LR²/(4k+2)": descent_bound(L, R, k),
        "Nesterov: 2LR²/(k+1)²": accelerated_bound(L, R, k),
    }
    figure = draw_excess(
        f"the hardest quadratic for {hardest.steps} steps", paths, bounds, hardest.least
    )
    floor = Series("no method below", k[1:], hardest.floor(k)[1:], "reference")
    return Curves(figure.title, figure.x, figure.y, (*figure.series, floor))


def _claim_heavy_ball_error(kappa: float, k: int = LONG) -> Identity:
    r"""At the ends of the spectrum the root $q$ is double, so that the error of the slowest mode is $(1+bk)q^k$ with
    $b=(1-\tau\mu)/q-1$: a run beside the formula."""
    s = kappa**0.5
    q = (s - 1) / (s + 1)
    tau = 4 / (s + 1) ** 2
    error = walk(tuned_heavy_ball(1.0, kappa), lambda x: 0.0, lambda x: x, np.ones(1), k).points[
        -1
    ][0]
    formula = (1 + ((1 - tau) / q - 1) * k) * q**k if q > 0 else 0.0
    what = f"error of the slowest mode after {k} steps of the heavy ball"
    return Identity(what, Enclosure.equal(float(error)), Enclosure.equal(formula))


def _draw_huber(L: float, radius: float, steps: int, step: float) -> Curves:
    """Gradient descent on the Huber functions of three numbers of steps: each touches the bound at its own."""
    k = np.arange(steps + 1)
    series = [Series("bound LR²/(4kh+2)", k, descent_bound(L, radius, k, step), "bound")]
    for count in sorted({max(1, steps // 8), max(1, steps // 3), steps}):
        w = huber_width(radius, count, step)
        value = lambda x, w=w: float(
            np.sum(np.where(abs(x) <= w, L * x**2 / 2, L * w * (abs(x) - w / 2)))
        )
        path = walk(
            steepest(step / L),
            value,
            lambda x, w=w: L * np.clip(x, -w, w),
            np.array([radius]),
            steps,
        )
        shown = path.values > 1e-12 * path.values[0]
        series.append(Series(f"worst for {count} steps", k[shown], path.values[shown]))
    return Curves(
        "gradient descent touches its bound",
        Axis("step k"),
        Axis("F(θ_k) − F*", "log"),
        tuple(series),
    )
