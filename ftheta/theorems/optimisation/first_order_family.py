"""First-order methods: what each of them guarantees on a convex function, and what it remembers."""

from typing import Annotated

import numpy as np

from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Network, Training
from ftheta.subjects.hypotheses import curvature_of, optimum_of
from ftheta.subjects.problems import convex_and_smooth, problem_of, rows_of, smoothness_of
from ftheta.subjects.stated import as_stated
from ftheta.training import rates
from ftheta.training.landscapes import landscape, whole_race


def power_law(
    rng: np.random.Generator,
    *,
    smoothness: Annotated[float, Knob(0.1, 10, "largest curvature", "L", log=True, least=1e-6, most=1e6)] = 3.0,
    radius: Annotated[float, Knob(0.1, 10, "distance from the start to θ*", "R", log=True, least=1e-6, most=1e6)] = 2.0,
) -> Training:
    modes = smoothness / np.arange(1, 41) ** 2.0
    start = radius * np.ones(40) / np.sqrt(40)
    return Training.quadratic("quadratic with curvatures L/i², i ≤ 40", np.diag(modes), start, smoothness=smoothness)


def claims_to_be_smoother(rng: np.random.Generator) -> Training:
    return Training.quadratic(
        "quadratic that claims L four times too small", np.diag([1.0, 40.0]), np.ones(2), smoothness=10.0
    )


@hypothesis(r"$\tau=h/L$ with $0<h\le1$", remedy="take a smaller step")
def step_at_most_one(subject: Training | Network, *, step: float) -> Finding:
    return Finding.decide(0 < step <= 1, f"h = {step:g}", "a comparison of knobs", Enclosure.equal(step))


@theorem(
    title="First-order methods and their rates",
    sources=("seed 1", "seed 2", "nesterov2018", "drori2014", "polyak1964"),
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
        float, Knob(0.05, 1.0, "step of gradient descent as a fraction of 1/L", "h", least=1e-6, most=4)
    ] = 1.0,
    kappa: Annotated[float, Knob(1, 1e4, "condition number of the heavy ball's quadratic", "κ", log=True)] = 100.0,
) -> Evidence:
    r"""$\theta_{k+1}=T(\theta_k,\nabla F(\theta_k),\dots)$ on a convex $L$-smooth $F$, $R=\|\theta_0-\theta^*\|$, obeys
    $$F(\theta_k)-F^*\le\frac{LR^2}{4kh+2}\ \text{(gradient descent, }\tau=\tfrac hL\text{)},\qquad
    F(\theta_k)-F^*\le\frac{2LR^2}{(k+1)^2}\ \text{(Nesterov)};$$
    the first is attained. On quadratics the exact line search gains $\big(\frac{\kappa-1}{\kappa+1}\big)^2$ a step at
    worst, the heavy ball $\frac{\sqrt\kappa-1}{\sqrt\kappa+1}$."""
    run, L = problem_of(subject), smoothness_of(problem_of(subject))
    found = rates.convex_run(run.objective, run.start, optimum_of(run)[0], curvature_of(run)[0].lo, L, step, steps)
    R = found.numbers["R"]
    hardest, floor = rates.Hardest(L, R, min(steps, 300)).run()
    exact = rates.exact_claims(L, R, steps, step, kappa)
    charts = [found.figure, hardest, rates.slowest_chart(L, R, steps, step)]
    if isinstance(subject, Network) and (plain := landscape(subject.apply, subject.params, *rows_of(subject))):
        charts.insert(0, whole_race(subject.name, plain, min(steps, 200)))
    numbers = {
        "F_k − F* on the Huber function": rates.huber_value(L, R, steps, step),
        "heavy ball factor": exact[2].left,
        "Hessian entries of GPT-1": Enclosure.exact(rates.GPT1**2),
    }
    told = f"{run.name}: L = {L:.5g}, R = {R:.5g}; after {steps} steps " + ", ".join(
        f"{name.split(', ')[1]} is {value:.3g} above F*" for name, value in found.numbers.items() if ", " in name
    )
    return Evidence(
        (*found.claims, *exact, floor, rates.heavy_ball_error(kappa)),
        tuple(charts),
        found.numbers | numbers,
        (rates.memory_table(run.start.size),),
        summary=told,
    )
