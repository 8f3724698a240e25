"""One hidden layer of sigmoids approximates every continuous function: Cybenko, Hornik, Stinchcombe and White."""

from fractions import Fraction
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.limits.universality import staircases as s
from ftheta.limits.universality.suprema import Oscillation
from ftheta.logic import AtMost, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.subjects import Family, Target
from ftheta.subjects.continuity import continuous, target_of

FUNCTIONS = {"x": lambda x: x, "wave": lambda x: jnp.sin(6 * x) + x, "√|x − ½|": lambda x: jnp.sqrt(jnp.abs(x - 0.5))}


def sigmoids(
    rng: np.random.Generator,
    *,
    name: Annotated[str, Knob(says="the function", symbol="f", choices=tuple(FUNCTIONS))] = "wave",
    activation: Annotated[str, Knob(says="the activation", symbol="σ", choices=tuple(s.SIGMOIDS))] = "sigmoid",
) -> Family:
    target = Target(f"{name} on [0, 1]", FUNCTIONS[name], (0.0,), (1.0,))
    return Family(f"{target.name} by {activation}", lambda k, _: s.SIGMOIDS[activation], target, (0,))


def bounded_only(rng: np.random.Generator) -> Family:
    return sigmoids(rng, activation="constant ½")


def sigmoid_of(subject: Target | Family) -> s.Scalar:
    return subject.member(0, np.random.default_rng(0)) if isinstance(subject, Family) else s.SIGMOIDS["sigmoid"]


@hypothesis(
    r"$\sigma$ is non-decreasing, $\sigma(-\infty)=0$, $\sigma(\infty)=1$",
    remedy="take a sigmoid, or scale and shift σ",
)
def sigmoidal(subject: Target | Family, *, tail: float) -> Finding:
    sigma = sigmoid_of(subject)
    z = s.steepness(sigma, tail)
    off = s.shortfall(sigma, z)
    if not off <= tail:
        return Finding.failed(f"at ±{z:.3g} it is still {off:.3g} from its limits", Enclosure.at_most(off))
    note = f"within {tail:g} of its limits beyond ±{z:g}"
    if sigma in s.SIGMOIDS.values():
        return Finding.proved(note, "monotone with limits 0 and 1 by its closed form")
    return Finding.sampled(note)


@theorem(
    title="One hidden layer of sigmoids is universal",
    sources=("seed 0", "seed 1", "seed 2", "seed 4", "cybenko1989", "hornik1989", "hornik1991"),
    assumes=(continuous, sigmoidal),
    on=sigmoids,
    breaks_on=bounded_only,
    presets={
        "textbook": {},
        "a root": {"name": "√|x − ½|", "activation": "tanh"},
        "at the edge": {"name": "x", "cells": 2},
        "broken on purpose": {"activation": "constant ½"},
    },
    errata="Seed 4 asks for a bounded σ alone: constants are bounded, and a bounded σ with jumps needs more care.",
)
def uat_cybenko_hornik(
    subject: Target | Family,
    rng: np.random.Generator,
    *,
    cells: Annotated[int, Knob(2, 64, "steps of the staircase", "n", log=True, most=256)] = 24,
    tail: Annotated[float, Knob(1e-6, 1e-2, "how close σ gets to its limits in half a cell", "η", log=True)] = 1e-4,
) -> Evidence:
    r"""Let $\sigma$ be non-decreasing with $\sigma(-\infty)=0$, $\sigma(\infty)=1$. For compact $K\subset\mathbb R^d$,
    sums $\sum_kc_k\,\sigma(\langle w_k,x\rangle+b_k)$ are dense in $C(K)$. On $[0,1]$ a staircase of $n$ steps has
    $$\|f-g\|_\infty\le\omega_f(\tfrac1n)+\eta\sum_k|f(m_k)-f(m_{k-1})|$$ where $\sigma$ is within $\eta$ of its limits
    half a cell away. For $f(x)=x$ and $\eta\to0$ the error is $\frac1{2n}$."""
    f, sigma = target_of(subject), sigmoid_of(subject)
    lo, hi, n = f.lo[0], f.hi[0], cells
    made, spread = s.staircase(f.f, sigma, lo, hi, n, tail), Oscillation.of(f.f, lo, hi)
    error, bound, line = made.error().value, made.bound(spread, tail), Enclosure.exact(s.steps_for_identity(n))
    witness = made.beyond(error, spread, tail)
    return Evidence(
        claims=(
            AtMost("sup |f − g| ≤ ω(1/n) + ηV", error, bound, spread.modulus(hi - lo).hi, witness),
            Identity("error of n jumps for f(x) = x", line, Enclosure.exact(Fraction(1, 2 * n))),
        ),
        charts=(*s.pictures(made, f.name, bound.hi), s.decay(f.f, sigma, lo, hi, spread, tail, n)),
        numbers={"error": error, "bound": bound, "error of n jumps for x": line, "steepness": made.steepness},
        summary=f"{n - 1} neurons follow {f.name} within {error.hi:.4g} everywhere; the bound is {bound.hi:.4g}",
    )
