"""The best flow may be infinitely far away: the loss has an infimum and no minimum, and the weights never settle."""

from functools import lru_cache
from math import log, sqrt
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.estimates import worst_ratio
from ftheta.logic import (
    Adapter,
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
    Status,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Network, Training
from ftheta.subjects.problems import has_a_loss, training_of_loss

from .divergence import FEWEST, FURTHER, SETTLED, GradientFlow, affordable_gradients, gradient_flow


def scalar_flow(
    rng: np.random.Generator,
    *,
    target: Annotated[
        float, Knob(-1, 2, "where x(0) = 1 should end; flows of the line stay above 0", "y")
    ] = 0.0,
) -> Training:
    return Training(
        f"ẋ = ax from 1 to {target:g}",
        lambda a: ((jnp.exp(a) - target) ** 2).sum() / 2,
        np.zeros(1),
    )


@lru_cache(8)
def follow_flow(run: Training, until: float, penalty: float = 0.0) -> GradientFlow:
    """The gradient flow of a loss, with a penalty `γ‖θ‖²`; less exactly where it is a mean over rows of data."""
    if run.rows == 1:
        return gradient_flow(run.objective, run.start, until, penalty)
    budget = affordable_gradients(run.objective, run.start)
    return gradient_flow(run.objective, run.start, until, penalty, rtol=1e-5, evaluations=budget)


@hypothesis(
    "there is a loss to train on",
    remedy="give labelled --data; the network must not be too large",
    name="a loss to train on",
)
def has_affordable_loss(net: Network) -> Finding:
    found = has_a_loss.check(net)
    if found.status is Status.FAILED:
        return found
    run = training_of_loss(net)
    many = affordable_gradients(run.objective, run.start)
    note = f"{found.note}; {many} gradients are affordable, required: {FEWEST}"
    return Finding.decide(many >= FEWEST, note, "counted", Enclosure.exact(many))


@hypothesis(
    "the norm of the weights grows on, and beyond them the loss is smaller",
    remedy="train longer: raise t",
    name="weights whose norm keeps growing",
)
def keeps_growing(subject: Training, *, until: float) -> Finding:
    run = follow_flow(subject, until)
    grown = f"‖θ‖ is {run.norms[-1]:.4g} at t = {run.times[-1]:.3g}, {run.growth:+.3g} since the root of that time"
    note = f"{grown}; F is {run.beyond[0.0]:.4g} there and {run.beyond[1.0]:.4g} one unit beyond"
    holds = run.growth > SETTLED and run.improves
    return (Finding.sampled if holds else Finding.failed)(
        note, Enclosure.measured(run.growth, samples=len(run.times))
    )


@theorem(
    title="Weights that explode: an infimum that is not attained",
    sources=("peyre-slides", "peyre-notes"),
    assumes=(keeps_growing,),
    adapters=(Adapter(Network, training_of_loss, has_affordable_loss),),
    on=scalar_flow,
    breaks_on=lambda rng: scalar_flow(rng, target=2.0),
    presets={
        "textbook": {},
        "labels swapped": {"target": -1.0},
        "a long time": {"until": 1e6},
        "broken on purpose": {"target": 2.0},
    },
    gist="Training may have no best weights: the loss keeps falling while the weights grow without bound, and a "
    "penalty on their size is what keeps them finite.",
    see_also=(
        "neural-ode-limit",
        "flow-diffeomorphism",
        "implicit-bias",
        "explicit-regularisation",
    ),
)
def singular_limit_explosion(
    subject: Training,
    rng: np.random.Generator,
    *,
    until: Annotated[
        float, Knob(1, 1e4, "time of the gradient flow", "t", log=True, most=1e8)
    ] = 1000.0,
    penalty: Annotated[
        float, Knob(1e-4, 1, "weight of ‖θ‖² beside the loss", "γ", log=True, least=1e-9)
    ] = 0.01,
) -> Evidence:
    r"""The infimum of a loss over flows need not be attained: without a penalty $\theta$ may diverge. For
    $\dot x=ax$, $x(0)=1$ and the target 0, the gradient flow of $F(a)=\frac12e^{2a}$ is $a(t)=-\frac12\ln(1+2t)$ with
    $F=\frac1{2(1+2t)}$. Flows of the line are increasing: labels that are swapped are approached at best as
    $\|\theta\|\to\infty$. Always $$\|\theta(t)-\theta(0)\|^2\le t\,\big(F(\theta(0))-F(\theta(t))\big),$$ and with
    a penalty $\gamma\|\theta\|^2$ and $F\ge0$ the weights stay within $\sqrt{F_\gamma(\theta(0))/\gamma}$."""
    free = follow_flow(subject, until)
    held = follow_flow(subject, until, penalty)
    return Evidence(
        claims=(travel_claim(free), *beyond_claims(free), *ball_claims(held)),
        charts=(_draw_norms(free, held), _draw_losses(free, held)),
        numbers={
            "‖θ(t)‖": float(free.norms[-1]),
            "F(θ(t))": float(free.losses[-1]),
            "‖θ(t)‖ with penalty": float(held.norms[-1]),
            "F with penalty": float(held.losses[-1]),
        },
        summary=f"at t = {free.times[-1]:.3g} the weights have norm {free.norms[-1]:.4g} and the loss is "
        f"{free.losses[-1]:.3g}; with γ = {penalty:g} the norm stays at {held.norms[-1]:.4g}",
        examples=closed_form,
    )


def travel_claim(flow: GradientFlow) -> AtMost:
    quotient = worst_ratio(flow.squared_distances, flow.travel_bounds)
    found = Enclosure.measured(quotient, samples=len(flow.times) - 1)
    return AtMost("‖θ(t) − θ(0)‖² over t (F(θ(0)) − F(θ(t)))", found, Enclosure.exact(1), rtol=1e-4)


def beyond_claims(flow: GradientFlow) -> tuple[AtMost, ...]:
    """Beyond the end, along its direction, the loss is smaller still."""
    here = flow.beyond[0.0]
    claims = []
    for s in FURTHER:
        there = flow.beyond[s]
        witness = None
        if there > here:
            how = "the loss at both points, in intervals rounded outward"
            witness = Witness({"beyond": s}, flow.loss_beyond(s), flow.loss_beyond(0.0), how)
        what = f"F at {s:g} beyond the end, against F at the end"
        claims.append(AtMost(what, Enclosure.equal(there), Enclosure.equal(here), witness=witness))
    return tuple(claims)


def ball_claims(flow: GradientFlow) -> tuple[AtMost, ...]:
    """The weights stay in their ball; requires F ≥ 0."""
    if (flow.losses < flow.penalty * flow.norms**2).any():
        return ()
    radius = sqrt(flow.losses[0] / flow.penalty)
    largest = Enclosure.measured(float(flow.norms.max()), samples=len(flow.times))
    return (AtMost("‖θ(t)‖ with a penalty γ‖θ‖²", largest, Enclosure.equal(radius), rtol=1e-6),)


def closed_form(until: float = 10.0) -> Examples:
    r"""$\dot x=ax$ from 1 with target 0: $F(a)=\frac12e^{2a}$ and $a(t)=-\frac12\ln(1+2t)$, $F=\frac1{2(1+2t)}$."""
    run = gradient_flow(lambda a: jnp.exp(2 * a).sum() / 2, np.zeros(1), until, rtol=1e-11)
    n = len(run.times)
    a = Enclosure.measured(float(run.states[-1, 0]), samples=n)
    loss = Enclosure.measured(float(run.losses[-1]), samples=n)
    return Examples(
        (
            Identity(
                f"a({until:g}) of ẋ = ax, target 0",
                a,
                Enclosure.equal(-log(1 + 2 * until) / 2),
                rtol=1e-7,
            ),
            Identity(
                f"its loss at t = {until:g}",
                loss,
                Enclosure.equal(1 / (2 * (1 + 2 * until))),
                rtol=1e-7,
            ),
        )
    )


def _draw_norms(free: GradientFlow, held: GradientFlow) -> Curves:
    """Norms against time, without and with the penalty."""
    bound = free.norms[0] + np.sqrt(free.times * np.maximum(free.losses[0] - free.losses, 0.0))
    kept = (free.times > 0) & (bound <= 3 * free.norms.max() + 1)
    series = (
        Series("no penalty", free.times[1:], free.norms[1:]),
        Series(f"γ = {held.penalty:g}", held.times[1:], held.norms[1:], "other"),
        Series("bound √(tΔF)", free.times[kept], bound[kept], "bound"),
    )
    return Curves("weights that grow without end", Axis("time t", "log"), Axis("‖θ(t)‖"), series)


def _draw_losses(free: GradientFlow, held: GradientFlow) -> Curves:
    """Losses against time, without and with the penalty."""
    series = (
        Series("no penalty", free.times[1:], np.maximum(free.losses[1:], 1e-16)),
        Series(
            f"γ = {held.penalty:g}", held.times[1:], np.maximum(held.losses[1:], 1e-16), "other"
        ),
    )
    return Curves("the loss that they buy", Axis("time t", "log"), Axis("F(θ(t))", "log"), series)
