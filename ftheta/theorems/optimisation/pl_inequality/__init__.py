"""Convexity is not needed for a linear rate: a gradient that is large wherever the value is will do."""

from typing import Annotated

import numpy as np

from ftheta.estimates import largest, worst_ratio
from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Knob,
    Series,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.spectra import Objective, extremes, natural_objective
from ftheta.subjects import Network, Training
from ftheta.subjects.hypotheses import claims_mu, claims_smoothness, curvature_of, optimum_of
from ftheta.subjects.stated import as_stated

from .pl import REACH, WAVY, WAVY_SMOOTHNESS, Descent, KernelBallTest, best_wavy, test_ball, wavy

ROWS = 32


def wavy_valley(
    rng: np.random.Generator,
    *,
    start: Annotated[
        float, Knob(-10, 10, "where gradient descent begins", "x₀", least=-1e3, most=1e3)
    ] = 3.0,
) -> Training:
    return Training(
        "x² + 3 sin² x", wavy, np.array([start]), np.zeros(1), best_wavy()[0].lo, WAVY_SMOOTHNESS
    )


def overclaimed_training(rng: np.random.Generator) -> Training:
    return Training(
        "x² + 3 sin² x, said to be 2-PL", wavy, np.array([2.2]), np.zeros(1), 2.0, WAVY_SMOOTHNESS
    )


def descent(run: Training, tau: float, steps: int = 200) -> Descent:
    return Descent.along(run.objective, run.start, tau, steps, optimum_of(run)[0])


def constants(run: Training) -> tuple[float, float]:
    """The claimed (μ, L), or what the path shows of them."""
    L = curvature_of(run)[1].hi if run.smoothness is None else run.smoothness
    return (descent(run, 1 / L).least if run.mu is None else run.mu), L


@hypothesis(
    r"$\frac12\|\nabla F\|^2\ge\mu(F-F^*)$ with $\mu>0$, and $F$ is $L$-smooth",
    remedy="state a smaller μ; of a network give labels of the output size and more parameters than numbers to fit",
    name="a smooth objective with the PL inequality",
)
def pl_and_smooth(subject: Training | Network) -> Finding:
    if isinstance(subject, Network):
        objective = natural_objective(subject, ROWS, outputs_only=True)
        kernel = None if objective is None else objective.kernel_matrix()
        if kernel is None:
            return Finding.failed(
                "there are no targets of the output size, or the kernel is too large"
            )
        lo, hi = np.linalg.eigvalsh(kernel)[[0, -1]]
        note = f"the tangent kernel at the start has eigenvalues in [{lo:.4g}, {hi:.4g}]"
        return Finding.sampled(note) if lo > 1e-12 * hi else Finding.failed(note)
    mu, L = constants(subject)
    if subject.objective is wavy:
        best = best_wavy()[0]
        return Finding.decide(
            0 < mu <= best.lo and L >= 8, f"μ = {mu:.6g}, at best {best.lo:.10f}", WAVY, best
        )
    met = descent(subject, 1 / L).least
    top = curvature_of(subject)[1].hi
    note = (
        f"least ratio met {met:.5g}, asked {mu:.5g}; curvature met up to {top:.5g}, asked {L:.5g}"
    )
    return (
        Finding.sampled(note)
        if 0 < mu <= met * (1 + 1e-9) and top <= L * (1 + 1e-9)
        else Finding.failed(note)
    )


@hypothesis(r"$0<\tau\le\frac1L$", remedy="take a smaller step", name="a step of at most 1/L")
def step_at_most_inverse(subject: Training | Network, *, step: float) -> Finding:
    return Finding.decide(0 < step <= 1, f"τ is {step:g} of 1/L", "a comparison of knobs")


@theorem(
    title="The Polyak–Łojasiewicz inequality",
    sources=("peyre-slides", "scaman-slides", "peyre-notes", "karimi2016", "liu2022"),
    gist="Convexity is not needed for fast convergence: if the gradient is large wherever the loss is, gradient "
    "descent converges at a linear rate, and wide networks have this property near their initialisation.",
    see_also=("gd-strongly-convex", "overparam-gd", "resnet-local-pl", "nonconvex-stationarity"),
    assumes=(pl_and_smooth, step_at_most_inverse, as_stated),
    on=wavy_valley,
    breaks_on=overclaimed_training,
    presets={
        "textbook": {},
        "from afar": {"start": 9.5},
        "small step": {"step": 0.2},
        "broken on purpose": {"step": 1.6},
    },
)
def pl_inequality(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    step: Annotated[
        float, Knob(0.05, 1, "step as a fraction of 1/L", "τL", least=1e-3, most=4)
    ] = 1.0,
    steps: Annotated[int, Knob(1, 500, "number of gradient steps", "K", log=True, most=5000)] = 60,
) -> Evidence:
    r"""If $\frac12\|\nabla F\|^2\ge\mu(F-F^*)$, $F$ is $L$-smooth and $\tau\le\frac1L$, then every critical point is a
    minimiser and $$F_k-F^*\le(1-\tau\mu)^k\,(F_0-F^*).$$
    Locally: if $F=\frac12\|\Phi(w)-y\|^2$ and the tangent kernel $D\Phi D\Phi^\top\succeq\mu I$ on the ball of radius
    $2L_\Phi\|\Phi(w_0)-y\|/\mu$, then there is a point of zero loss in it and descent converges to one at this rate."""
    if isinstance(subject, Network):
        objective = natural_objective(subject, ROWS, outputs_only=True)
        if objective is None:
            return Evidence((), summary="no targets")
        return _measure_network(objective, step, steps, rng)
    mu, L = constants(subject)
    tau = step / L
    found = descent(subject, tau, steps)
    claims = [_claim_rate(found, mu, tau, claims_mu(subject) and claims_smoothness(subject))]
    charts = [_draw_ratios(found, mu), _draw_excess(found, mu, tau)]
    numbers: dict[str, Enclosure | float] = {
        "μ": mu,
        "L": L,
        "least ratio on the path": found.least,
    }
    if subject.objective is wavy:
        best, where = best_wavy()
        claims.append(
            AtMost("1/32, of the literature, and the best μ", Enclosure.exact(1 / 32), best)
        )
        charts.insert(0, _draw_wavy(best.middle))
        numbers |= {"best μ": best, "where": where}
    summary = (
        f"on the path ½‖∇F‖²/(F − F*) ≥ {found.least:.6g}; after {steps} steps F − F* = {found.excess[-1]:.4g} "
        f"(μ = {mu:.10g}, rate {1 - tau * mu:.6g})"
    )
    return Evidence(tuple(claims), tuple(charts), numbers, summary=summary)


# -- on a function ------------------------------------------------------------------------------------------


def _claim_rate(found: Descent, mu: float, tau: float, claimed: bool) -> AtMost:
    """The rate at every step. It refutes constants that are `claimed`, not those that the path alone suggests."""
    bound = found.excess[0] * (1 - tau * mu) ** np.arange(len(found.excess))
    rounding = found.rounding(mu, tau)
    ratio = worst_ratio(found.excess, bound, rounding)
    what = f"max over k of (F_k − F*) / ((1 − τμ)ᵏ (F₀ − F*)), up to {largest(rounding):.1e} of rounding"
    witness = found.witness(mu, tau, bound) if claimed else None
    return AtMost(what, Enclosure.equal(ratio), Enclosure.exact(1), witness=witness)


def _draw_ratios(found: Descent, mu: float) -> Curves:
    kept = found.excess > 1e-14 * found.excess[0]
    x = found.excess[kept]
    y = found.squares[kept] / 2
    ends = np.array([x.min(), x.max()])
    series = (
        Series("iterates", x, y, "measured", "points"),
        Series("μ(F − F*)", ends, mu * ends, "bound"),
    )
    return Curves(
        "squared gradient against the excess", Axis("F − F*", "log"), Axis("½‖∇F‖²", "log"), series
    )


def _draw_excess(found: Descent, mu: float, tau: float) -> Curves:
    k = np.arange(len(found.excess))
    shown = found.excess > 1e-15 * found.excess[0]
    series = (
        Series("bound (1 − τμ)ᵏ", k, found.excess[0] * (1 - tau * mu) ** k, "bound"),
        Series("measured", k[shown], found.excess[shown]),
    )
    return Curves(
        "excess along gradient descent", Axis("iteration k"), Axis("F − F*", "log"), series
    )


def _draw_wavy(mu: float) -> Curves:
    """The wavy function, and what μ-PL leaves to its slope."""
    x = np.linspace(-REACH, REACH, 321)
    F = x**2 + 3 * np.sin(x) ** 2
    slope = 2 * x + 3 * np.sin(2 * x)
    series = (
        Series("½F′²", x, slope**2 / 2),
        Series("μ F", x, mu * F, "bound"),
        Series("F = x² + 3 sin² x", x, F, "reference"),
    )
    return Curves("x² + 3 sin² x is not convex, yet PL", Axis("x"), Axis("value"), series)


# -- on the loss of a network -------------------------------------------------------------------------------


def _measure_network(
    objective: Objective, step: float, steps: int, rng: np.random.Generator
) -> Evidence:
    """The test on a ball, with `step` as a fraction of half the inverse curvature at the start."""
    top = extremes(objective.hessian(), 1, "largest", rng=rng).range[1]
    ball = test_ball(objective, step / top / 2, steps)
    return Evidence(
        claims=_claim_ball(ball),
        charts=_draw_run(ball),
        numbers={
            "λ_min of the kernel": ball.mu,
            "radius": ball.radius,
            "least PL ratio": float(ball.run.pl.min()),
        },
        summary=f"λ_min of the tangent kernel stays above {ball.mu:.4g}; the ball has radius {ball.radius:.4g}, "
        f"the run moved {ball.run.moved.max():.4g}",
    )


def _claim_ball(ball: KernelBallTest) -> tuple[AtMost, ...]:
    run = ball.run
    falls = worst_ratio(run.loss, run.loss[0] * ball.rate**run.at)
    seen = lambda value: Enclosure.measured(float(value), samples=len(run.at))
    return (
        AtMost("distance moved, against the radius R", seen(run.moved.max()), seen(ball.radius)),
        AtMost("loss over (1 − τμ)ᵏ times the loss at the start", seen(falls), Enclosure.exact(1)),
        AtMost(
            "λ_min of the kernel, scaled, against the PL ratio",
            seen(ball.mu / ball.rows),
            seen(run.pl.min()),
        ),
    )


def _draw_run(ball: KernelBallTest) -> tuple[Curves, Curves]:
    run = ball.run
    return (
        draw_curves(
            "PL ratio along the training",
            run.at,
            x="step k",
            y="ratio",
            log="y",
            bound={"λ_min(K)/n": np.maximum(run.kernel / ball.rows, 1e-300)},
            measured={"½‖∇F‖²/F": np.maximum(run.pl, 1e-300)},
        ),
        draw_curves(
            "loss",
            run.at,
            x="step k",
            y="loss",
            log="y",
            bound={"bound (1 − τμ)ᵏ": run.loss[0] * ball.rate**run.at},
            measured={"loss": run.loss},
        ),
    )
