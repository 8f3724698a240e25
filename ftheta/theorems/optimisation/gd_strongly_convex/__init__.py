"""Gradient descent on a strongly convex function forgets its start geometrically."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from ftheta.estimates import worst_ratio
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.subjects import Training
from ftheta.subjects.hypotheses import claims_mu, claims_smoothness, curvature_of, optimum_of
from ftheta.subjects.stated import as_stated, why_quadratic
from ftheta.training import gradient_descent
from ftheta.training.rounding import carried_on, step_errors

from .contraction import enclose_first_step, enclose_worst_step, lengths, sharp_factor


def quadratic(
    rng: np.random.Generator,
    *,
    kappa: Annotated[
        float, Knob(1, 1e4, "condition number L/μ of the quadratic", "κ", log=True, most=1e8)
    ] = 10.0,
    dimension: Annotated[int, Knob(1, 100, "number of coordinates", "d", log=True, most=1000)] = 2,
) -> Training:
    eigenvalues = np.geomspace(1.0, kappa, dimension) if dimension > 1 else np.array([kappa])
    return Training.quadratic(
        f"quadratic with κ = {kappa:g}", np.diag(eigenvalues), np.ones(dimension)
    )


def smoother_than_it_is(rng: np.random.Generator, *, kappa: float = 10.0) -> Training:
    name = "quadratic that claims L four times too small"
    return Training.quadratic(name, np.diag([1.0, 4 * kappa]), np.ones(2), mu=1.0, smoothness=kappa)


def constants(run: Training) -> tuple[float, float]:
    """The claimed (μ, L), or where none are claimed the measured ones."""
    lo, hi = curvature_of(run)
    return (lo.middle if run.mu is None else run.mu), (
        hi.middle if run.smoothness is None else run.smoothness
    )


@hypothesis(
    r"$\mu I\preceq\nabla^2F\preceq LI$ with $\mu>0$",
    remedy="add a ridge term, or state the true `mu` and `smoothness` of the objective",
)
def strongly_convex_and_smooth(run: Training) -> Finding:
    (lo, hi) = curvature_of(run)
    (mu, L) = constants(run)
    note = f"curvature in [{lo.lo:.6g}, {hi.hi:.6g}], asked: [μ, L] = [{mu:.6g}, {L:.6g}]"
    if not (0 < mu <= lo.lo * (1 + 1e-9) and hi.hi <= L * (1 + 1e-9)):
        return Finding.failed(note, hi)
    why = why_quadratic(run)
    return Finding.proved(note, why, hi, basis=Basis.FLOAT) if why else Finding.sampled(note, hi)


@hypothesis(r"$0<\tau\le\frac2{\mu+L}$", remedy="take a smaller step")
def step_not_too_large(run: Training, *, step: float) -> Finding:
    return Finding.decide(
        0 < step <= 1, f"τ is {step:g} of 2/(μ+L)", "knobs", Enclosure.equal(step)
    )


@theorem(
    title="Gradient descent, strongly convex rate",
    sources=("murari-slides", "nesterov2018"),
    gist="On a strongly convex loss gradient descent approaches the minimiser by a constant factor per step, and the "
    "condition number alone decides how fast.",
    see_also=("gd-step-regimes", "first-order-family", "function-classes", "pl-inequality"),
    assumes=(strongly_convex_and_smooth, step_not_too_large, as_stated),
    on=quadratic,
    breaks_on=smoother_than_it_is,
    presets={
        "textbook": {},
        "ill-conditioned": {"kappa": 1000.0, "steps": 2000},
        "at the edge": {"kappa": 100.0, "step": 1.0, "steps": 400},
        "broken on purpose": {"step": 1.5},
    },
    errata=r"""Murari's slides print $\gamma\in(0,1)$; it is $[0,1)$, for $\gamma^*=0$ when $\kappa=1$. The factor
    is tight only
    at $\tau^*=2/(\mu+L)$, and the iteration index starts at $k=0$.""",
)
def gd_strongly_convex(
    run: Training,
    rng: np.random.Generator,
    *,
    step: Annotated[
        float, Knob(0.01, 1.0, "step size as a fraction of 2/(μ+L)", "τ/τ*", least=1e-6, most=4.0)
    ] = 1.0,
    steps: Annotated[
        int, Knob(1, 5000, "number of gradient steps", "K", log=True, most=20_000)
    ] = 100,
) -> Evidence:
    r"""If $F$ is $\mu$-strongly convex and $L$-smooth and $0<\tau\le\frac2{\mu+L}$, then
    $$\|\theta_k-\theta^*\|^2\le\gamma^k\,\|\theta_0-\theta^*\|^2,\qquad\gamma=1-\frac{2\tau\mu L}{\mu+L},$$
    and $\gamma^*=\big(\frac{\kappa-1}{\kappa+1}\big)^2$ at $\tau^*=\frac2{\mu+L}$. The sharp factor for every $\tau$ is
    $\max(|1-\tau\mu|,|1-\tau L|)^2$."""
    mu, L = constants(run)
    tau = step * 2 / (mu + L)
    gamma = 1 - 2 * tau * mu * L / (mu + L)
    path = gradient_descent(run.objective, run.start, tau, steps)
    optimum, doubt = optimum_of(run)
    error = ((path - optimum) ** 2).reshape(len(path), -1).sum(1)
    k = np.arange(len(path))
    bound = error[0] * gamma**k
    curves = (Series("bound γᵏ‖θ₀ − θ*‖²", k, bound, "bound"), Series("measured", k, error))
    return Evidence(
        claims=claim_contraction(
            run.objective,
            path,
            optimum,
            doubt,
            gamma,
            (tau, mu, L),
            claimed=claims_mu(run) and claims_smoothness(run),
        ),
        charts=(
            Curves(
                "error against the bound", Axis("iteration k"), Axis("‖θ_k − θ*‖²", "log"), curves
            ),
        ),
        numbers={"gamma": gamma, "error at K": error[-1], "bound at K": bound[-1]},
        summary=f"after {steps} steps the squared error is {error[-1]:.4g}, the bound {bound[-1]:.4g}; γ = {gamma:.8g}",
    )


def claim_contraction(
    objective: Callable[[Any], Any],
    path: np.ndarray,
    optimum: np.ndarray,
    doubt: float,
    gamma: float,
    constants: tuple[float, float, float],
    *,
    claimed: bool = True,
) -> tuple[AtMost, AtMost]:
    r"""$\|\theta_k-\theta^*\|^2\le\gamma^k\|\theta_0-\theta^*\|^2$ for every $k$, and the factor of every single step.

    `path` holds the iterates, `optimum` is at most `doubt` from $\theta^*$, `constants` are $\tau$, $\mu$ and $L$.
    A step refutes those that are `claimed`; those that were only met at points it may exceed.
    Every iterate is compared with the bound, also where the bound is 0 or underflows. Distances may exceed it by what
    float64 has added to them: the errors of the steps, carried on by the contraction, and the doubt about the optimum.
    """
    tau = constants[0]
    sharp = float(sharp_factor(*constants))
    k = np.arange(len(path))
    distance = lengths(path - optimum)
    rounding = step_errors(objective, path, tau)
    # a step brings points together by √γ where the theorem applies: so the later steps carry its error on
    carried = carried_on(rounding, max(gamma, 0.0) ** 0.5)
    root = max(gamma, 0.0) ** (k / 2)
    allowed = carried + (1 + root) * doubt
    ratio = _square(worst_ratio(distance, root * distance[0], allowed))
    excess = distance[1:] - rounding - 2 * doubt
    steepest = _square(worst_ratio(excess, distance[:-1]))
    checked = claimed and doubt == 0
    first = (
        enclose_first_step(objective, path[0], optimum, constants)
        if ratio > 1 and checked
        else None
    )
    witness = (
        enclose_worst_step(objective, path, optimum, constants)
        if steepest > sharp and checked
        else None
    )
    what = f"max over k of ‖θ_k − θ*‖² / (γᵏ ‖θ₀ − θ*‖²), distances up to {allowed.max():.1e} of rounding"
    return (
        AtMost(what, Enclosure.equal(ratio), Enclosure.exact(1), witness=first),
        AtMost(
            "largest one-step factor",
            Enclosure.equal(steepest),
            Enclosure.equal(sharp),
            witness=witness,
            atol=1e-9,
        ),
    )


def _square(x: float) -> float:
    """Infinite where it leaves the range of float64."""
    return x * x
