"""Gradient descent on any smooth function finds a point where it is nearly flat."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Network, Training
from ftheta.subjects.problems import descent_of, loss_of, smooth_and_bounded_below
from ftheta.subjects.stated import as_stated
from ftheta.training.stationarity import Stationarity, attained, cosine_inequality, noisy_cosine


def cosine(
    rng: np.random.Generator,
    *,
    start: Annotated[float, Knob(0.1, 3.1, "where descent on 1 − cos x begins", "x₀", least=1e-3, most=3.1415)] = 3.1,
) -> Training:
    wave = lambda x: jnp.sum(1 - jnp.cos(x))
    return Training("1 − cos x", wave, np.array([start]), np.zeros(1), smoothness=1.0)


def steeper_wave(rng: np.random.Generator) -> Training:
    wave = lambda x: jnp.sum(1 - jnp.cos(5 * x))
    return Training("1 − cos 5x, claimed to be 1-smooth", wave, np.array([0.5]), np.zeros(1), smoothness=1.0)


@hypothesis(r"$0<\tau\le\frac1L$", remedy="take a smaller step")
def step_at_most_one(subject: Training | Network, *, step: float) -> Finding:
    return Finding.decide(0 < step <= 1, f"τL = {step:g}", "a comparison of knobs", Enclosure.equal(step))


@theorem(
    title="Descent without convexity: a nearly flat point",
    sources=("seed 3", "nesterov2018", "ghadimi2013"),
    assumes=(smooth_and_bounded_below, step_at_most_one, as_stated),
    on=cosine,
    breaks_on=steeper_wave,
    presets={
        "textbook": {},
        "from the very top": {"start": 3.1415, "steps": 1000},
        "full steps": {"step": 1.0},
        "broken on purpose": {"step": 3.5},
    },
)
def nonconvex_stationarity(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    steps: Annotated[int, Knob(1, 2000, "number of steps", "K", log=True, most=5000)] = 200,
    step: Annotated[float, Knob(0.05, 1.0, "step as a fraction of 1/L", "τL", least=1e-6, most=4)] = 0.1,
    noise: Annotated[float, Knob(0.0, 2.0, "standard deviation of the gradient noise of SGD", "σ", most=10)] = 1.0,
    paths: Annotated[int, Knob(20, 2000, "runs of SGD", "n", log=True)] = 200,
) -> Evidence:
    r"""If $F$ is $L$-smooth and bounded below and $\tau\le\frac1L$, then
    $F_{k+1}\le F_k-\frac\tau2\|\nabla F_k\|^2$ and
    $$\min_{k<K}\|\nabla F(\theta_k)\|^2\le\frac{2(F_0-F^*)}{\tau K}.$$
    With unbiased gradients of variance $\sigma^2$ and
    $\tau=\frac1{L\sqrt K}$ the average of $\mathbb E\|\nabla F(\theta_k)\|^2$ is at most
    $\frac{2L(F_0-F^*)+\sigma^2}{\sqrt K}$."""
    path, L, room = descent_of(subject, steps, step)
    objective = subject.objective if isinstance(subject, Training) else loss_of(subject).risk
    found = Stationarity(objective, path, step / L, room, L)
    averages, rate, noisy = noisy_cosine(rng, 2.0, noise, paths)
    numbers = {"L": L, "least squared gradient": found.least[-1], "bound": found.bound[-1], "F₀ − F*": room}
    return Evidence(
        (*found.claims(), attained(steps), cosine_inequality(), *averages, rate),
        (found.chart(subject.name), noisy),
        numbers,
        summary=f"L = {L:.4g}: {len(path) - 1} steps, least ‖∇F‖² {found.least[-1]:.4g}, bound {found.bound[-1]:.4g}",
    )
