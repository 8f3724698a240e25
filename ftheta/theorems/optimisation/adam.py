"""Adam: steps of bounded length whatever the scale of the loss, and the problem on which it goes the wrong way."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.logic import Enclosure, Evidence, Finding, Knob, SubjectError, hypothesis, theorem
from ftheta.subjects import Network, Training
from ftheta.subjects.problems import loss_of
from ftheta.training import adam_study as look
from ftheta.training.adaptive import Adam
from ftheta.training.study import affordable


def badly_scaled(
    rng: np.random.Generator,
    *,
    kappa: Annotated[float, Knob(1, 1e4, "ratio of the curvatures", "κ", log=True, most=1e8)] = 1000.0,
) -> Training:
    return Training.quadratic(f"quadratic with κ = {kappa:g}", np.diag([1 / kappa, 1.0]), np.array([1.0, 1.0]))


def vertical(rng: np.random.Generator) -> Training:
    return Training("√|θ| from its vertical slope at 0", lambda t: jnp.sum(jnp.sqrt(jnp.abs(t))), np.array([0.0, 1.0]))


def objective_of(subject: Training | Network):
    if isinstance(subject, Network):
        return (found := loss_of(subject)).risk, found.start
    return subject.objective, subject.start


@hypothesis(
    r"$\nabla F(\theta_0)$ and its square are finite numbers of float64",
    remedy="start elsewhere; of a network give data with labels that fit",
)
def finite_gradient(subject: Training | Network) -> Finding:
    try:
        objective, start = objective_of(subject)
    except SubjectError as error:
        return Finding.failed(error.what)
    g = look.gradient_at(objective, start)
    tiny = (g != 0) & (np.abs(g) < look.SMALL)
    bad = int((~np.isfinite(g)).sum())
    note = f"{g.size:,} slopes: {bad} not finite, {int((g == 0).sum())} zero, {int(tiny.sum())} tiny"
    return Finding.decide(not bad and not tiny.any(), note, "all slopes in float64")


@hypothesis(r"$\epsilon=0$ and $\beta_1<\sqrt{\beta_2}$", remedy="take ε = 0, and β₂ nearer to 1")
def undamped(subject: Training | Network, *, epsilon: float, beta1: float, beta2: float) -> Finding:
    note = f"ε = {epsilon:g}, β₁ = {beta1:g}, √β₂ = {beta2**0.5:.4g}"
    return Finding.decide(epsilon == 0 and beta1**2 < beta2, note, "a comparison of knobs")


@theorem(
    title="Adam and AMSGrad",
    sources=("seed 0", "seed 1", "kingma2015", "reddi2018"),
    assumes=(finite_gradient, undamped),
    on=badly_scaled,
    breaks_on=vertical,
    presets={
        "textbook": {},
        "no first momentum": {"beta1": 0.0},
        "at the edge": {"C": 2.5, "rounds": 9000},
        "broken on purpose": {"epsilon": 1e-3},
    },
)
def adam(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    alpha: Annotated[float, Knob(1e-4, 1, "step size", "α", log=True, least=1e-8, most=100)] = 0.01,
    beta1: Annotated[float, Knob(0.0, 0.99, "memory of the gradient", "β₁", most=0.9999)] = 0.9,
    beta2: Annotated[float, Knob(0.5, 0.9999, "memory of its square", "β₂", least=1e-3, most=0.99999)] = 0.999,
    epsilon: Annotated[float, Knob(0.0, 1e-3, "damping", "ε", most=1.0)] = 0.0,
    steps: Annotated[int, Knob(10, 2000, "number of steps", "K", log=True, least=2, most=5000)] = 300,
    C: Annotated[float, Knob(2.5, 10, "the rare gradient of Reddi's problem", "C", least=2.1, most=100)] = 4.0,
    rounds: Annotated[int, Knob(300, 30_000, "rounds of Reddi's problem", "T", log=True, least=90)] = 3000,
) -> Evidence:
    r"""$m\leftarrow\beta_1m+(1-\beta_1)g$, $v\leftarrow\beta_2v+(1-\beta_2)g^2$, step
    $-\alpha\,\hat m/(\sqrt{\hat v}+\epsilon)$ with $\hat m=\frac m{1-\beta_1^t}$, $\hat v=\frac v{1-\beta_2^t}$. For
    $\epsilon=0$ the run does not change with the scale of the gradients, its first step is
    $-\alpha\,\mathrm{sign}(g)$, and no step exceeds $\alpha S_t$,
    $S_t^2=\frac{(1-\beta_1)^2}{1-\beta_2}\sum_{j<t}\big(\tfrac{\beta_1^2}{\beta_2}\big)^j\frac{1-\beta_2^t}{(1-\beta_1^t)^2}$.
    On $Cx,-x,-x,\dots$ over $[-1,1]$ Adam ends at $+1$, the worst point; AMSGrad has no regret on average."""
    objective, start = objective_of(subject)
    if isinstance(subject, Network):
        steps = affordable(subject.parameters, len(subject.data or ()), steps)
    rule = Adam(alpha, beta1, beta2, epsilon)
    path, race = look.beside_descent(rule, objective, start, steps, subject.name)
    gradients = look.gradients_along(path, objective)
    (exact, numbers), (online, game, ends) = look.in_rationals(), look.reddi(C, rounds)
    claims = (look.first_step(rule, path, gradients[0]), *look.longest(rule, path), look.scaled(rule, gradients))
    told = (
        f"the loss went from {path.values[0]:.4g} to {path.values[-1]:.4g} in {steps} steps; on Reddi's problem Adam "
    )
    told += f"ends at {ends['Adam ends at']:+.3g}, AMSGrad at {ends['AMSGrad ends at']:+.3g}, best is −1"
    numbers |= ends | {"S_50": Enclosure.equal(rule.longest_step(50)), "loss at K": path.values[-1]}
    return Evidence((*claims, *look.bitwise(rule, gradients), *exact, *online), (race, game), numbers, summary=told)
