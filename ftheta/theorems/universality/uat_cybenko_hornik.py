"""One hidden layer of sigmoids approximates every continuous function: Cybenko, Hornik, Stinchcombe and White."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.approximation import staircases as s
from ftheta.approximation.suprema import Oscillation, ranges
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
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Family, Target
from ftheta.subjects.continuity import continuous, target_of

SHOWN = 801  # points of a chart
FUNCTIONS = {
    "x": lambda x: x,
    "wave": lambda x: jnp.sin(6 * x) + x,
    "√|x − ½|": lambda x: jnp.sqrt(jnp.abs(x - 0.5)),
}


def sigmoids(
    rng: np.random.Generator,
    *,
    name: Annotated[str, Knob(says="the function", symbol="f", choices=tuple(FUNCTIONS))] = "wave",
    activation: Annotated[
        str, Knob(says="the activation", symbol="σ", choices=tuple(s.SIGMOIDS))
    ] = "sigmoid",
) -> Family:
    target = Target(f"{name} on [0, 1]", FUNCTIONS[name], (0.0,), (1.0,))
    return Family(
        f"{target.name} by {activation}", lambda k, _: s.SIGMOIDS[activation], target, (0,)
    )


def bounded_only(rng: np.random.Generator) -> Family:
    return sigmoids(rng, activation="constant ½")


def logistic_staircase_for(f: Target) -> Family:
    """A function alone: the activation is the logistic sigmoid."""
    return Family(f.name, lambda k, _: s.SIGMOIDS["sigmoid"], f, (0,))


def sigmoid_of(subject: Family) -> s.Scalar:
    return subject.member(0, np.random.default_rng(0))


@hypothesis(
    r"$\sigma$ is non-decreasing, $\sigma(-\infty)=0$, $\sigma(\infty)=1$",
    remedy="take a sigmoid, or scale and shift σ",
)
def sigmoidal(subject: Family, *, tail: float) -> Finding:
    sigma = sigmoid_of(subject)
    z = s.steepness(sigma, tail)
    off = s.shortfall(sigma, z)
    if not off <= tail:
        return Finding.failed(
            f"at ±{z:.3g} it is still {off:.3g} from its limits", Enclosure.at_most(off)
        )
    note = f"within {tail:g} of its limits beyond ±{z:g}"
    if sigma in s.SIGMOIDS.values():
        return Finding.proved(note, "monotone with limits 0 and 1 by its closed form")
    fall = s.find_fall(sigma, z)
    if fall is not None:
        return Finding.failed("it falls from z = {:.6g} to z = {:.6g}".format(*fall))
    return Finding.sampled(note)


@theorem(
    title="One hidden layer of sigmoids is universal",
    gist="A single hidden layer of sigmoids, wide enough, approximates every continuous function on a compact set: "
    "the classical universal approximation theorem, here with a network and its error.",
    see_also=("uat-nonpolynomial-iff", "barron-rate", "stone-weierstrass"),
    sources=(
        "peyre-slides",
        "gribonval-slides",
        "murari-slides",
        "peyre-notes",
        "cybenko1989",
        "hornik1989",
        "hornik1991",
    ),
    assumes=(continuous, sigmoidal),
    adapters=(Adapter(Target, logistic_staircase_for),),
    on=sigmoids,
    breaks_on=bounded_only,
    presets={
        "textbook": {},
        "a root": {"name": "√|x − ½|", "activation": "tanh"},
        "at the edge": {"name": "x", "cells": 2},
        "broken on purpose": {"activation": "constant ½"},
    },
    errata="Peyré's notes ask for a bounded σ alone: constants are bounded, and bounded σ with jumps need more care.",
)
def uat_cybenko_hornik(
    subject: Family,
    rng: np.random.Generator,
    *,
    cells: Annotated[int, Knob(2, 64, "steps of the staircase", "n", log=True, most=256)] = 24,
    tail: Annotated[
        float, Knob(1e-6, 1e-2, "how close σ gets to its limits in half a cell", "η", log=True)
    ] = 1e-4,
) -> Evidence:
    r"""Let $\sigma$ be non-decreasing with $\sigma(-\infty)=0$, $\sigma(\infty)=1$. For compact $K\subset\mathbb R^d$,
    sums $\sum_kc_k\,\sigma(\langle w_k,x\rangle+b_k)$ are dense in $C(K)$. On $[0,1]$ a staircase of $n$ steps has
    $$\|f-g\|_\infty\le\omega_f(\tfrac1n)+\eta\sum_k|f(m_k)-f(m_{k-1})|$$ where $\sigma$ is within $\eta$ of its limits
    half a cell away. For $f(x)=x$ and $\eta\to0$ the error is $\frac1{2n}$."""
    f = target_of(subject)
    sigma = sigmoid_of(subject)
    lo = f.lo[0]
    hi = f.hi[0]
    n = cells
    made = s.staircase(f.f, sigma, lo, hi, n, tail)
    spread = Oscillation.of(f.f, lo, hi)
    error = made.error().value
    bound = made.bound(spread, tail)
    witness = made.beyond(error, spread, tail)
    return Evidence(
        claims=(
            AtMost("sup |f − g| ≤ ω(1/n) + ηV", error, bound, spread.modulus(hi - lo).hi, witness),
        ),
        examples=partial(_jumps_for_the_identity, n),
        charts=(*_draw_staircase(made, f.name, bound.hi), _draw_decay(made, spread, tail)),
        numbers={"error": error, "bound": bound, "steepness": made.steepness},
        summary=f"{n - 1} neurons follow {f.name} within {error.hi:.4g} everywhere; the bound is {bound.hi:.4g}",
    )


def error_of_jumps(cells: int) -> Fraction:
    """The error of a staircase with jumps for f(x) = x on [0, 1]: the largest distance from a centre of its cell."""
    centres = [Fraction(2 * k + 1, 2 * cells) for k in range(cells)]
    return max(
        max(c - Fraction(k, cells), Fraction(k + 1, cells) - c) for k, c in enumerate(centres)
    )


def _jumps_for_the_identity(cells: int) -> Examples:
    error = Enclosure.exact(error_of_jumps(cells))
    closed = Enclosure.exact(Fraction(1, 2 * cells))
    claim = Identity("error of n jumps for f(x) = x", error, closed)
    return Examples((claim,), numbers={"error of n jumps for x": error})


def _draw_staircase(made: s.Staircase, name: str, bound: float) -> tuple[Curves, Curves]:
    """Target and approximant; their difference between its bounds."""
    x = np.linspace(made.lo, made.hi, SHOWN)
    truth = ranges(made.f, x[:, None], x[:, None]).lo
    net = made.on(x)
    ends = x[[0, -1]]
    neurons = f"{made.cells - 1} neuron{'s' * (made.cells > 2)}"
    error = (
        Series("network minus function", x, net - truth),
        Series("bound", ends, [bound] * 2, "bound"),
        Series("−bound", ends, [-bound] * 2, "bound"),
    )
    return (
        draw_curves(
            "a function and its staircase",
            x,
            x="x",
            y="value",
            reference={name: truth},
            measured={neurons: net},
        ),
        Curves("the error", Axis("x"), Axis("error"), error),
    )


def _draw_decay(made: s.Staircase, spread: Oscillation, tail: float) -> Curves:
    """The error on a grid against the number of neurons, with its bound."""
    counts = sorted({max(2, made.cells >> k) for k in range(6)})
    ladder = [s.staircase(made.f, made.sigma, made.lo, made.hi, n, tail) for n in counts]
    x = np.linspace(made.lo, made.hi, SHOWN)
    truth = ranges(made.f, x[:, None], x[:, None]).lo
    return draw_curves(
        "error against neurons",
        [n - 1 for n in counts],
        x="neurons",
        y="sup error",
        log="xy",
        measured={
            "largest error on a grid": [
                max(float(np.abs(g.on(x) - truth).max()), 1e-17) for g in ladder
            ]
        },
        bound={"ω(h) + ηV": [max(g.bound(spread, tail).hi, 1e-17) for g in ladder]},
    )
