"""The best flow may be infinitely far away: the loss has an infimum and no minimum, and the weights never settle."""

from functools import lru_cache
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.limits.depth.divergence import (
    FEWEST,
    SETTLED,
    Flowed,
    affordable_gradients,
    charts,
    gradient_flow,
    textbook,
)
from ftheta.logic import Enclosure, Evidence, Finding, Knob, Status, SubjectError, hypothesis, theorem
from ftheta.subjects import Network, Training
from ftheta.subjects.problems import loss_of


def scalar_flow(
    rng: np.random.Generator,
    *,
    target: Annotated[float, Knob(-1, 2, "where x(0) = 1 should end; flows of the line stay above 0", "y")] = 0.0,
) -> Training:
    return Training(f"ẋ = ax from 1 to {target:g}", lambda a: ((jnp.exp(a) - target) ** 2).sum() / 2, np.zeros(1))


@lru_cache(8)
def flowed(subject: Training | Network, until: float, penalty: float = 0.0) -> Flowed:
    if isinstance(subject, Training):
        return gradient_flow(subject.objective, subject.start, until, penalty)
    loss = loss_of(subject)
    budget = affordable_gradients(subject.apply, subject.params, subject.input_shape, loss.rows)
    return gradient_flow(loss.risk, loss.start, until, penalty, rtol=1e-5, evaluations=budget)


@hypothesis("there is a loss to train on", remedy="give a Training, or a network with labelled --data, not too large")
def has_a_loss(subject: Training | Network) -> Finding:
    if isinstance(subject, Training):
        return Finding.proved(f"{subject.start.size} parameters", "a Training is a loss")
    try:
        loss = loss_of(subject)
    except SubjectError as error:
        return Finding.failed(error.what)
    many = affordable_gradients(subject.apply, subject.params, subject.input_shape, loss.rows)
    note = f"{loss.loss} loss on {loss.rows} rows; {many} gradients are affordable, asked: {FEWEST}"
    return Finding.decide(many >= FEWEST, note, "counted", Enclosure.exact(many))


@hypothesis("the norm of the weights grows on, and beyond them the loss is smaller", remedy="train longer: raise t")
def keeps_growing(subject: Training | Network, *, until: float) -> Finding:
    if has_a_loss.check(subject).status is Status.FAILED:
        return Finding.failed("there is no loss that could be followed")
    run = flowed(subject, until)
    grown = f"‖θ‖ is {run.norms[-1]:.4g} at t = {run.times[-1]:.3g}, {run.growth:+.3g} since the root of that time"
    note = f"{grown}; F is {run.beyond[0.0]:.4g} there and {run.beyond[1.0]:.4g} one unit beyond"
    holds = run.growth > SETTLED and run.improves
    return (Finding.sampled if holds else Finding.failed)(note, Enclosure.measured(run.growth, samples=len(run.times)))


@theorem(
    title="Weights that explode: an infimum that is not attained",
    sources=("seed 0", "seed 4"),
    assumes=(has_a_loss, keeps_growing),
    on=scalar_flow,
    breaks_on=lambda rng: scalar_flow(rng, target=2.0),
    presets={
        "textbook": {},
        "labels swapped": {"target": -1.0},
        "a long time": {"until": 1e6},
        "broken on purpose": {"target": 2.0},
    },
)
def singular_limit_explosion(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    until: Annotated[float, Knob(1, 1e4, "time of the gradient flow", "t", log=True, most=1e8)] = 1000.0,
    penalty: Annotated[float, Knob(1e-4, 1, "weight of ‖θ‖² beside the loss", "γ", log=True, least=1e-9)] = 0.01,
) -> Evidence:
    r"""The infimum of a loss over flows need not be attained: without a penalty $\theta$ may diverge. For
    $\dot x=ax$, $x(0)=1$ and the target 0, the gradient flow of $F(a)=\frac12e^{2a}$ is $a(t)=-\frac12\ln(1+2t)$ with
    $F=\frac1{2(1+2t)}$. Flows of the line are increasing: labels that are swapped are approached at best as
    $\|\theta\|\to\infty$. Always $$\|\theta(t)-\theta(0)\|^2\le t\,\big(F(\theta(0))-F(\theta(t))\big),$$ and with
    a penalty $\gamma\|\theta\|^2$ and $F\ge0$ the weights stay within $\sqrt{F_\gamma(\theta(0))/\gamma}$."""
    free, held = flowed(subject, until), flowed(subject, until, penalty)
    closed, numbers = textbook()
    return Evidence(
        claims=(*free.claims(), *free.further(), *held.stays_in_its_ball(), *closed),
        charts=charts(free, held),
        numbers={"‖θ(t)‖": float(free.norms[-1]), "F(θ(t))": float(free.losses[-1])}
        | {"‖θ(t)‖ with penalty": float(held.norms[-1]), "F with penalty": float(held.losses[-1])}
        | numbers,
        summary=f"at t = {free.times[-1]:.3g} the weights have norm {free.norms[-1]:.4g} and the loss is "
        f"{free.losses[-1]:.3g}; with γ = {penalty:g} the norm stays at {held.norms[-1]:.4g}",
    )
