"""First step of the universality proof: exponentials of linear forms reduce many variables to one."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.approximation.goal import goal_of
from ftheta.approximation.ridge_exponentials import fit_exponentials, lattice
from ftheta.logic import (
    Adapter,
    AtMost,
    Axis,
    Bars,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Heatmap,
    Identity,
    Knob,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Family, Target
from ftheta.subjects.continuity import continuous_on_box, target_of

from . import algebra
from .budgets import ErrorBudget, make_budget, share_of_networks

SIDE = 61  # points of a picture, each way
FUNCTIONS = {
    "bump": lambda x, y: 1 / (1 + x * x + y * y),
    "cosh(x₁ + x₂)": lambda x, y: jnp.cosh(x + y),
    "wave": lambda x, y: jnp.sin(2 * x - y) + 0.5 * x,
}


def functions(
    rng: np.random.Generator,
    *,
    name: Annotated[str, Knob(says="the function", symbol="f", choices=tuple(FUNCTIONS))] = "bump",
    along: Annotated[
        str, Knob(says="where the directions lie", symbol="v", choices=("all", "x₁ only"))
    ] = "all",
) -> Family:
    target = Target(name, FUNCTIONS[name], (-1.0, -1.0), (1.0, 1.0), ("x", "y"))
    keep = lambda v: v if along == "all" else v * np.array([1.0, 0.0])
    return Family(
        f"{name}, directions: {along}",
        lambda reach, _: keep(lattice(2, reach, 1.0)),
        target,
        (2, 3),
    )


def one_axis(rng: np.random.Generator) -> Family:
    return functions(rng, along="x₁ only")


def directions_for(f: Target) -> Family:
    """A function alone: the directions lie on a lattice in units of the inverse size of its box."""
    spacing = 1.0 / float(goal_of(f, None).halves.max())
    return Family(f.name, lambda reach, _: lattice(f.dimension, reach, spacing), f, (2, 3))


def directions_of(subject: Family, reach: int) -> np.ndarray:
    return np.unique(subject.member(reach, np.random.default_rng(0)), axis=0)


@hypothesis("the exponentials separate points", remedy="take directions that span the space")
def separating(subject: Family, *, reach: int) -> Finding:
    directions = directions_of(subject, reach)
    found = algebra.rank(directions)
    d = directions.shape[1]
    note = f"{len(directions)} directions of rank {found} in dimension {d}"
    return Finding.decide(found == d, note, "the rank in rationals", basis=Basis.EXACT)


@hypothesis(
    r"$f$ is continuous on a box with $d\le3$",
    remedy="give a Target of at most three variables without jumps",
)
def continuous_in_few_variables(subject: Family) -> Finding:
    target = target_of(subject)
    if target.dimension > 3:
        return Finding.failed(f"{target.dimension} variables")
    sure = continuous_on_box(target)
    return (
        Finding.proved("its program cannot jump", "no jumps, no poles")
        if sure
        else Finding.assumed("it may jump")
    )


@theorem(
    title="Ridge exponentials reduce universality to one variable",
    gist="Exponentials of linear forms span an algebra, so a network that is universal for functions of one variable "
    "is universal in every dimension: the first step of the proof of universality.",
    see_also=(
        "uat-step2-mollification",
        "uat-step3-monomials",
        "uat-nonpolynomial-iff",
        "stone-weierstrass",
    ),
    same_for_all={
        "dimension ≤ rank of the directions": "of functions of as many variables both are the number of variables"
    },
    sources=("gribonval-slides", "leshno1993", "pinkus1999"),
    assumes=(separating, continuous_in_few_variables),
    adapters=(Adapter(Target, directions_for),),
    on=functions,
    breaks_on=one_axis,
    presets={
        "textbook": {},
        "two exponentials": {"name": "cosh(x₁ + x₂)", "reach": 1, "cells": 64},
        "at the edge": {"name": "wave", "reach": 1, "cells": 1},
        "broken on purpose": {"along": "x₁ only"},
    },
)
def uat_step1_ridge_exponentials(
    subject: Family,
    rng: np.random.Generator,
    *,
    reach: Annotated[int, Knob(1, 4, "directions on a lattice up to", "r", most=6)] = 2,
    cells: Annotated[int, Knob(1, 128, "ReLUs for one exponential", "n", log=True, most=512)] = 32,
) -> Evidence:
    r"""The span of $x\mapsto e^{\langle v,x\rangle}$ is an algebra, as $e^{\langle v,x\rangle}e^{\langle w,x\rangle}=
    e^{\langle v+w,x\rangle}$; it separates points and vanishes nowhere, so it is dense in $C(K)$. If $g=\sum_kc_k
    e^{\langle v_k,x\rangle}$ and one hidden layer $p_k$ is within $\varepsilon_k$ of $e^t$ on $\{\langle v_k,x
    \rangle:x\in K\}$, then $$\Big\|f-\sum_kc_k\,p_k(\langle v_k,\cdot\rangle)\Big\|_\infty\le
    \|f-g\|_\infty+\sum_k|c_k|\,\varepsilon_k.$$"""
    goal = goal_of(target_of(subject), None)
    directions = directions_of(subject, reach)
    made = make_budget(goal, fit_exponentials(goal, directions, cells), cells)
    error = made.error
    rank = Enclosure.exact(algebra.rank(directions))
    terms = int(np.count_nonzero(made.sums.coefficients))
    return Evidence(
        claims=(
            AtMost("dimension ≤ rank of the directions", Enclosure.exact(goal.dimension), rank),
            AtMost("sup |f − network| ≤ sup |f − g| + Σ|c_k|ε_k", error, made.total),
        ),
        examples=partial(_identities, directions),
        charts=(_draw_budget(made), _draw_decay(made, cells), _draw_error(made)),
        numbers={
            "exponentials": made.first.value,
            "networks": made.second,
            "bound": made.total,
            "error": error,
            "terms": terms,
            "neurons": made.network.neurons,
        },
        summary=f"{terms} exponentials follow {goal.name} within {made.first.value.hi:.4g}; with {cells} ReLUs each "
        f"the bound is {made.total.hi:.4g}, the error at most {error.hi:.4g}",
    )


def _identities(directions: np.ndarray) -> Examples:
    """Exponents add in products; a hyperbolic cosine is two exponentials."""
    product, summed = algebra.product_example(directions)
    cosh, by_two = algebra.cosh_by_two(Fraction(1, 3), Fraction(1, 2))
    return Examples(
        claims=(
            Identity("product of two sums: exponents add", product, summed),
            Identity("cosh(x₁ + x₂) by two exponentials", cosh, by_two),
        )
    )


def _draw_budget(made: ErrorBudget) -> Bars:
    parts = ("exponentials", "their networks", "whole bound", "error of the network")
    values = (made.first.value.hi, made.second.hi, made.total.hi, made.error.hi)
    return Bars(
        "the budget and what is spent of it", Axis("error"), parts, ("sup error",), (values,)
    )


def _draw_decay(made: ErrorBudget, cells: int) -> Curves:
    """How the budget falls with the cells of the interpolants."""
    ladder = sorted({max(1, cells >> k) for k in range(5)})
    first = made.first.value.hi
    second = [share_of_networks(made, n) for n in ladder]
    return draw_curves(
        "two-stage error budget",
        ladder,
        x="ReLUs per exponential",
        y="error",
        log="xy",
        measured={"their networks": second},
        reference={"exponentials": [first] * len(ladder)},
        bound={"whole bound": [first + share for share in second]},
    )


def _draw_error(made: ErrorBudget) -> Heatmap | Curves:
    """Network minus function: on the line, or over the first two coordinates with the others at their centre."""
    goal = made.goal
    if goal.dimension == 1:
        x = np.linspace(goal.lo[0], goal.hi[0], 401)[:, None]
        error = made.network.values(x) - goal.values(x)
        return draw_curves(
            "the error", x[:, 0], x="x", y="network − function", measured={"error": error}
        )
    sides = [np.linspace(goal.lo[j], goal.hi[j], SIDE) for j in (0, 1)]
    down, across = np.meshgrid(sides[1], sides[0], indexing="ij")
    rows = np.tile(goal.centre, (SIDE * SIDE, 1))
    rows[:, 0] = across.ravel()
    rows[:, 1] = down.ravel()
    error = (made.network.values(rows) - goal.values(rows)).reshape(SIDE, SIDE)
    extent = (goal.lo[0], goal.hi[0], goal.lo[1], goal.hi[1])
    return Heatmap("network − function", Axis("x₁"), Axis("x₂"), error, extent, "error")
