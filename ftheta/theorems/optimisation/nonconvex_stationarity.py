"""Gradient descent on any smooth function finds an approximate stationary point."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx

from ftheta.estimates import fit_rate, largest, mean, worst_ratio
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
    Rate,
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Training
from ftheta.subjects.problems import SMOOTH_LOSS_OF_A_NETWORK, descent_of, smooth_and_bounded_below
from ftheta.subjects.stated import as_stated
from ftheta.training.descent import Path
from ftheta.training.worst_cases import flattest_gradient

ROUNDING = 1e-13  # of the value at the start
COUNTS = (16, 64, 256, 1024, 4096)  # steps of SGD


def cosine(
    rng: np.random.Generator,
    *,
    start: Annotated[
        float,
        Knob(0.1, 3.1, "where gradient descent on 1 − cos x begins", "x₀", least=1e-3, most=3.1415),
    ] = 3.1,
) -> Training:
    wave = lambda x: jnp.sum(1 - jnp.cos(x))
    return Training("1 − cos x", wave, np.array([start]), np.zeros(1), smoothness=1.0)


def steeper_wave(rng: np.random.Generator) -> Training:
    wave = lambda x: jnp.sum(1 - jnp.cos(5 * x))
    return Training(
        "1 − cos 5x, claimed to be 1-smooth", wave, np.array([0.5]), np.zeros(1), smoothness=1.0
    )


@hypothesis(r"$0<\tau\le\frac1L$", remedy="take a smaller step", name="a step of at most 1/L")
def step_at_most_one(run: Training, *, step: float) -> Finding:
    return Finding.decide(
        0 < step <= 1, f"τL = {step:g}", "a comparison of knobs", Enclosure.equal(step)
    )


@theorem(
    title="Gradient descent without convexity: an approximate stationary point",
    sources=("scaman-slides", "nesterov2018", "ghadimi2013"),
    gist="On any smooth loss, convex or not, gradient descent with a small enough step decreases at every step and "
    "soon meets a point whose gradient is small; that is all one can promise for a deep network.",
    see_also=("gd-strongly-convex", "pl-inequality", "nonconvex-tanh", "sgd-robbins-monro"),
    assumes=(smooth_and_bounded_below, step_at_most_one, as_stated),
    adapters=(SMOOTH_LOSS_OF_A_NETWORK,),
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
    subject: Training,
    rng: np.random.Generator,
    *,
    steps: Annotated[int, Knob(1, 2000, "number of steps", "K", log=True, most=5000)] = 200,
    step: Annotated[
        float, Knob(0.05, 1.0, "step as a fraction of 1/L", "τL", least=1e-6, most=4)
    ] = 0.1,
    noise: Annotated[
        float, Knob(0.0, 2.0, "standard deviation of the gradient noise of SGD", "σ", most=10)
    ] = 1.0,
    paths: Annotated[int, Knob(20, 2000, "runs of SGD", "n", log=True)] = 200,
) -> Evidence:
    r"""If $F$ is $L$-smooth and bounded below and $\tau\le\frac1L$, then
    $F_{k+1}\le F_k-\frac\tau2\|\nabla F_k\|^2$ and
    $$\min_{k<K}\|\nabla F(\theta_k)\|^2\le\frac{2(F_0-F^*)}{\tau K}.$$
    With unbiased gradients of variance $\sigma^2$ and
    $\tau=\frac1{L\sqrt K}$ the average of $\mathbb E\|\nabla F(\theta_k)\|^2$ is at most
    $\frac{2L(F_0-F^*)+\sigma^2}{\sqrt K}$."""
    path, L, room = descent_of(subject, steps, step)
    tau = step / L
    least = np.minimum.accumulate(path.slopes[:-1])
    bound = 2 * room / (tau * np.arange(1, len(path)))
    return Evidence(
        claims=(_claim_decrease(subject.objective, path, tau), _claim_flat_point(least, bound)),
        charts=(_draw_gradients(subject.name, least, bound, room, tau, L),),
        numbers={"L": L, "least squared gradient": least[-1], "bound": bound[-1], "F₀ − F*": room},
        summary=f"L = {L:.4g}: {len(path) - 1} steps, least ‖∇F‖² {least[-1]:.4g}, bound {bound[-1]:.4g}",
        examples=partial(_examples, deepcopy(rng), steps, noise, paths),
    )


# -- gradient descent on the subject ------------------------------------------------------------------------


def _claim_decrease(objective: Callable[[Any], Any], path: Path, tau: float) -> AtMost:
    r"""$F_{k+1}\le F_k-\frac\tau2\|\nabla F_k\|^2$, rounding of the values apart."""
    broken = np.diff(path.values) + tau / 2 * path.slopes[:-1]
    worst = largest(broken)
    rounding = ROUNDING * float(np.abs(path.values[:1]).max())
    witness = None
    if worst > rounding:
        k = int(np.argmax(np.nan_to_num(broken, nan=np.inf)))
        witness = _step_again(objective, path.points[k], tau, k)
    what = "max over k of F_{k+1} − F_k + (τ/2)‖∇F_k‖²"
    return AtMost(what, Enclosure.equal(worst), Enclosure.exact(0), witness=witness, atol=rounding)


def _step_again(objective: Callable[[Any], Any], theta: np.ndarray, tau: float, k: int) -> Witness:
    """One step from θ_k, and what it should gain, in intervals."""

    def missing(theta: Any, tau: Any) -> Any:
        slope = jax.grad(objective)(theta)
        gain = objective(theta) - objective(theta - tau * slope)
        return tau / 2 * jnp.sum(slope * slope) - gain

    left = enclose_number(missing, theta, tau)
    return Witness(
        {"k": float(k)}, left, Enclosure.exact(0), "one step from θ_k, in intervals rounded outward"
    )


def _claim_flat_point(least: np.ndarray, bound: np.ndarray) -> AtMost:
    r"""$\min_{k<K}\|\nabla F_k\|^2$ for $K=1,\dots$ beside its bounds."""
    what = "max over K of min_{k<K} ‖∇F_k‖² / (2(F₀ − F*)/(τK))"
    return AtMost(what, Enclosure.equal(worst_ratio(least, bound)), Enclosure.exact(1))


def _draw_gradients(
    name: str, least: np.ndarray, bound: np.ndarray, room: float, tau: float, L: float
) -> Curves:
    K = np.arange(1, len(least) + 1)
    shown = least > 1e-6 * bound[-1]
    sharp = room / (tau * K + 0.5 / L)
    curves = (
        Series("bound 2(F₀ − F*)/(τK)", K, bound, "bound"),
        Series("least ‖∇F‖²", K[shown], least[shown]),
        Series("Huber function made for K", K, sharp, "reference"),
    )
    return Curves(
        f"the least gradient of {name}", Axis("steps K", "log"), Axis("min ‖∇F_k‖²", "log"), curves
    )


# -- examples -----------------------------------------------------------------------------------------------


def _examples(rng: np.random.Generator, steps: int, noise: float, paths: int) -> Examples:
    """The order 1/K is attained, the descent of 1 − cos x for every x, and SGD on it."""
    averages, rate, figure = _descend_noisy_cosine(rng, 2.0, noise, paths)
    return Examples(
        (_claim_attained(steps), claim_cosine_inequality(), *averages, rate), charts=(figure,)
    )


def _claim_attained(steps: int) -> Identity:
    """The order 1/K is attained, in rationals."""
    slope, formula = flattest_gradient(steps)
    what = f"min ‖∇F‖² − L(F₀ − F*)/(K + ½) on a Huber function, K = {steps}"
    return Identity(what, Enclosure.exact(slope - formula), Enclosure.exact(0))


def claim_cosine_inequality() -> AtMost:
    r"""The descent of $F=1-\cos x$ with $\tau=1$, $1-\cos(x-\sin x)\le1-\cos x-\frac12\sin^2x$, is
    $|\sin\frac{x-\sin x}2|\le\sin^2\frac x2$ by $1-\cos x-\frac12\sin^2x=\frac12(1-\cos x)^2$.

    On $[0,1.2]$ it follows from $x-\sin x\le\frac{x^3}6$ and $\sin\frac x2\ge\frac x\pi$; within 1 of $\pi$,
    $e=\pi-x$, from $\cos a\le1-\frac{a^2}2+\frac{a^4}{24}$ and $a=\frac{e+\sin e}2\in[e-\frac{e^3}{12},e]$. In between
    balls decide; the function is even and has period $2\pi$.
    """
    with ctx.workprec(64):
        pieces = 4096
        worst = arb(0)
        lo = arb("1.19")
        width = (arb.pi() - arb("0.99") - arb("1.19")) / pieces
        for i in range(pieces):
            x = (lo + i * width).union(lo + (i + 1) * width)
            worst = worst.max(abs(((x - x.sin()) / 2).sin()) / (x / 2).sin() ** 2)
    most = Enclosure.at_most(Enclosure.ball(worst).hi, Enclosure.exact(1).basis)
    return AtMost(
        "largest |sin((x − sin x)/2)| / sin²(x/2) on [1.2, π − 1]", most, Enclosure.exact(1)
    )


def _descend_noisy_cosine(
    rng: np.random.Generator, start: float, sigma: float, paths: int
) -> tuple[tuple[AtMost, ...], Rate, Curves]:
    r"""SGD on $1-\cos x$ with gradient noise of variance $\sigma^2$ and $\tau=1/\sqrt K$: the average of
    $\|\nabla F(\theta_k)\|^2$ over $k<K$ beside $(2(F_0-F^*)+\sigma^2)/\sqrt K$."""
    room = 1 - np.cos(start)
    found = []
    for K in COUNTS:
        x = np.full(paths, float(start))
        total = np.zeros(paths)
        for noise in sigma * rng.choice([-1.0, 1.0], size=(K, paths)):
            total += np.sin(x) ** 2
            x -= (np.sin(x) + noise) / np.sqrt(K)
        found.append(total / K)
    bounds = [(2 * room + sigma**2) / np.sqrt(K) for K in COUNTS]
    seen = [mean(f, within=(0.0, 1.0)) for f in found]  # averages of sin²
    claims = tuple(
        AtMost(f"mean of ‖∇F‖² over {K} noisy steps", m, Enclosure.equal(b))
        for K, m, b in zip(COUNTS, seen, bounds)
    )
    middles = [float(f.mean()) for f in found]
    slope = fit_rate(np.array(COUNTS[1:]), np.array(middles[1:]))
    rate = Rate(
        "average ‖∇F‖² of SGD",
        0.5,
        slope,
        tuple(map(float, COUNTS[1:])),
        tuple(middles[1:]),
        slack=0.1,
    )
    curves = (
        Series("bound (2LΔ + σ²)/√K", COUNTS, bounds, "bound"),
        Series("measured", COUNTS, middles, lo=[m.lo for m in seen], hi=[m.hi for m in seen]),
    )
    return (
        claims,
        rate,
        Curves(
            "SGD on 1 − cos x with steps 1/√K",
            Axis("steps K", "log"),
            Axis("mean ‖∇F_k‖²", "log"),
            curves,
        ),
    )
