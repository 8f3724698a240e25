"""Convexity is not needed for a linear rate: a gradient that is large wherever the value is will do."""

from typing import Annotated

import numpy as np

from ftheta.logic import AtMost, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.spectra import natural_objective
from ftheta.spectra.pl import WAVY, WAVY_SMOOTHNESS, Descent, best_wavy, landscape, test_ball, wavy
from ftheta.subjects import Network, Training
from ftheta.subjects.hypotheses import as_stated, curvature_of, optimum_of

ROWS = 32


def wavy_valley(
    rng: np.random.Generator,
    *,
    start: Annotated[float, Knob(-10, 10, "where the descent begins", "x₀", least=-1e3, most=1e3)] = 3.0,
) -> Training:
    return Training("x² + 3 sin² x", wavy, np.array([start]), np.zeros(1), best_wavy()[0].lo, WAVY_SMOOTHNESS)


def overclaimed(rng: np.random.Generator) -> Training:
    return Training("x² + 3 sin² x, said to be 2-PL", wavy, np.array([2.2]), np.zeros(1), 2.0, WAVY_SMOOTHNESS)


def descent(run: Training, tau: float, steps: int = 200) -> Descent:
    return Descent.along(run.objective, run.start, tau, steps, optimum_of(run)[0])


def constants(run: Training) -> tuple[float, float]:
    """The claimed (μ, L), or what the path shows of them."""
    L = curvature_of(run)[1].hi if run.smoothness is None else run.smoothness
    return (descent(run, 1 / L).least if run.mu is None else run.mu), L


@hypothesis(
    r"$\frac12\|\nabla F\|^2\ge\mu(F-F^*)$ with $\mu>0$, and $F$ is $L$-smooth",
    remedy="state a smaller μ; of a network give labels of the output size and more parameters than numbers to fit",
)
def pl_and_smooth(subject: Training | Network) -> Finding:
    if isinstance(subject, Network):
        objective = natural_objective(subject, ROWS, outputs_only=True)
        if objective is None or (kernel := objective.kernel_matrix()) is None:
            return Finding.failed("there are no targets of the output size, or the kernel is too large")
        lo, hi = np.linalg.eigvalsh(kernel)[[0, -1]]
        note = f"the tangent kernel at the start has eigenvalues in [{lo:.4g}, {hi:.4g}]"
        return Finding.sampled(note) if lo > 1e-12 * hi else Finding.failed(note)
    mu, L = constants(subject)
    if subject.objective is wavy:
        best = best_wavy()[0]
        return Finding.decide(0 < mu <= best.lo and L >= 8, f"μ = {mu:.6g}, at best {best.lo:.10f}", WAVY, best)
    met, top = descent(subject, 1 / L).least, curvature_of(subject)[1].hi
    note = f"least ratio met {met:.5g}, asked {mu:.5g}; curvature met up to {top:.5g}, asked {L:.5g}"
    return Finding.sampled(note) if 0 < mu <= met * (1 + 1e-9) and top <= L * (1 + 1e-9) else Finding.failed(note)


@hypothesis(r"$0<\tau\le\frac1L$", remedy="take a smaller step")
def step_at_most_inverse(subject: Training | Network, *, step: float) -> Finding:
    return Finding.decide(0 < step <= 1, f"τ is {step:g} of 1/L", "a comparison of knobs")


@theorem(
    title="The Polyak–Łojasiewicz inequality",
    sources=("seed 0", "seed 4", "karimi2016", "liu2022"),
    assumes=(pl_and_smooth, step_at_most_inverse, as_stated),
    on=wavy_valley,
    breaks_on=overclaimed,
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
    step: Annotated[float, Knob(0.05, 1, "step as a fraction of 1/L", "τL", least=1e-3, most=4)] = 1.0,
    steps: Annotated[int, Knob(1, 500, "number of gradient steps", "K", log=True, most=5000)] = 60,
) -> Evidence:
    r"""If $\frac12\|\nabla F\|^2\ge\mu(F-F^*)$, $F$ is $L$-smooth and $\tau\le\frac1L$, then every critical point is a
    minimiser and $$F_k-F^*\le(1-\tau\mu)^k\,(F_0-F^*).$$
    Locally: if $F=\frac12\|\Phi(w)-y\|^2$ and the tangent kernel $D\Phi D\Phi^\top\succeq\mu I$ on the ball of radius
    $2L_\Phi\|\Phi(w_0)-y\|/\mu$, then there is a point of zero loss in it and descent converges to one at this rate."""
    if isinstance(subject, Network):
        objective = natural_objective(subject, ROWS, outputs_only=True)
        return Evidence((), summary="no targets") if objective is None else test_ball(objective, step, steps, rng)
    mu, L = constants(subject)
    found, tau = descent(subject, step / L, steps), step / L
    claims, charts = found.claims(mu, tau), (found.scatter(mu), found.picture(mu, tau))
    numbers = {"μ": mu, "L": L, "least ratio on the path": found.least}
    if subject.objective is wavy:
        best, where = best_wavy()
        claims += (AtMost("1/32, of the literature, and the best μ", Enclosure.exact(1 / 32), best),)
        charts, numbers = (landscape(best.middle), *charts), numbers | {"best μ": best, "where": where}
    told = f"on the path ½‖∇F‖²/(F − F*) ≥ {found.least:.6g}; after {steps} steps F − F* = {found.excess[-1]:.4g}"
    return Evidence(claims, charts, numbers, summary=f"{told} (μ = {mu:.10g}, rate {1 - tau * mu:.6g})")
