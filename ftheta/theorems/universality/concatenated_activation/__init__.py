"""One activation made of a dense list of functions: a single neuron approximates everything."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.approximation.goal import Goal, goal_of
from ftheta.approximation.suprema import bounds_of, supremum
from ftheta.logic import (
    AtMost,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Table,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Target
from ftheta.subjects.continuity import continuous

from . import analytic
from . import concatenated as c

SHOWN = 9  # functions of the list in the chart
POINTS = 96  # of the curve of three units
HALF = Fraction(1, 2)
PERIODS = 2  # of the analytic activation in its chart, on either side
FUNCTIONS = {
    "wave": lambda x: jnp.sin(7 * x) * jnp.exp(-x),
    "root": lambda x: 2 * jnp.sqrt(x) - 1,
    "ramp": lambda x: 2 * x - 1,
    "twice too high": lambda x: 4 * x - 2,
}


def functions(
    rng: np.random.Generator,
    *,
    name: Annotated[str, Knob(says="the function", symbol="f", choices=tuple(FUNCTIONS))] = "wave",
) -> Target:
    return Target(name, FUNCTIONS[name], (0.0,), (1.0,))


def outside_the_ball(rng: np.random.Generator) -> Target:
    return functions(rng, name="twice too high")


@hypothesis(r"$|f|\le1$ on its interval", remedy="divide f by its largest value")
def in_the_unit_ball(f: Target) -> Finding:
    if f.dimension != 1:
        return Finding.failed(f"a function of {f.dimension} variables")
    top = supremum(bounds_of(f.f, 1), f.lo, f.hi, relative=0.05, budget=20_000).value
    if top.hi > 1 and top.lo <= 1:  # too close to call
        top = supremum(bounds_of(f.f, 1), f.lo, f.hi, relative=1e-7, budget=50_000).value
    note = f"largest |f| between {top.lo:.9g} and {top.hi:.9g}"
    if top.hi <= 1:
        return Finding.proved(note, "cells that fill the interval, rounded outward", top)
    if top.lo > 1 + 1e-9:
        return Finding.failed(note, top)
    return Finding.decide(
        top.hi <= 1 + 1e-5, note, "cells that fill the interval, to 10⁻⁵", top, basis=Basis.FLOAT
    )


@theorem(
    title="A single neuron with a concatenated activation",
    gist="An activation that strings together a dense list of functions makes a single neuron universal: universality "
    "alone says nothing about the size of a network, as all information hides in one enormous bias.",
    see_also=("maiorov-pinkus-counts", "uat-nonpolynomial-iff", "no-free-lunch"),
    same_for_all={
        "binary digits of n": "the digits that encode the function: how many depends on the grid and the precision, "
        "which are knobs"
    },
    sources=("gribonval-slides", "maiorov1999"),
    assumes=(continuous, in_the_unit_ball),
    on=functions,
    breaks_on=outside_the_ball,
    presets={
        "textbook": {},
        "a root": {"name": "root", "m": 64, "q": 32},
        "in the list": {"name": "ramp", "m": 4, "q": 4},
        "at the edge": {"m": 1, "q": 1},
        "broken on purpose": {"name": "twice too high"},
    },
    errata=r"""The slides of Gribonval, Garivier and Pustelnik shift to the wrong side: functions that follow one
    another to the right need $\varrho(\cdot+n_j)$, not $\varrho(\cdot-n_j)$; and gaps between them are needed for
    continuity.""",
)
def concatenated_activation(
    f: Target,
    rng: np.random.Generator,
    *,
    m: Annotated[int, Knob(1, 64, "cells of the interpolant", "m", log=True, most=100)] = 24,
    q: Annotated[int, Knob(1, 64, "levels between 0 and 1", "q", log=True, most=100)] = 16,
) -> Evidence:
    r"""Let $u_0,u_1,\dots$ be dense in the unit ball of $C[0,1]$ and $\varrho(t)=u_n(t-2n)$ on $[2n,2n+1]$, affine in
    between. Then $\varrho$ is continuous, and for all continuous $f:[0,1]\to[-1,1]$ and $\varepsilon>0$ one neuron
    does: $\|f-\varrho(\cdot+2n)\|_\infty<\varepsilon$ for some $n$. With $u_n$ piecewise affine, nodes $\frac km$ and
    values in $\frac1q\mathbb Z$: $$\|f-\varrho(\cdot+2n)\|_\infty\le\omega_f(\tfrac1m)+\tfrac1{2q},\qquad
    \log_2n\approx(m+1)\log_2(2q+1).$$ There is also an analytic, strictly increasing sigmoidal $\varrho$ for
    all of them, of which three units do:
    $$\Big\|f-\sum_{i=1}^3c_i\varrho(w_ix+\theta_i)\Big\|_\infty\le\omega_f(\tfrac1m)+\tfrac1q.$$"""
    goal = goal_of(f, None)
    exact = Enclosure.exact
    found = c.member_for(goal, m, q)
    bound = c.bound_for(goal, m, q)
    n = found.index
    scale = bound.hi
    error = c.error_of(goal, found, bound.hi)
    bits = exact(n.bit_length())
    smoothed = abs(error + Enclosure.between(-1.0, 1.0) * analytic.deviation(found))
    next_list = exact((c.before(m, q) + c.size(m, q)).bit_length())
    return Evidence(
        claims=(
            AtMost("sup |f − ϱ(· + 2n)| ≤ ω(1/m) + 1/(2q)", error, bound),
            AtMost("binary digits of n", bits, next_list),
            AtMost(
                "three units of an analytic sigmoidal ϱ: sup |f − Σ| ≤ ω(1/m) + 1/q",
                smoothed,
                bound + exact(Fraction(1, 2 * q)),
            ),
        ),
        as_printed=(
            AtMost("sup |f − ϱ(· − 2n)| ≤ the same bound", c.error_to_the_left(goal, scale), bound),
        ),
        examples=partial(_decode, found),
        charts=(_draw_neuron(goal, found), _draw_three_units(goal, found)),
        numbers={"error": error, "bound": bound, "bits of n": bits, "functions": c.size(m, q)},
        tables=(Table("the neuron x ↦ ϱ(x + 2n)", ("m", "q", "n"), ((m, q, str(n)),)),),
        summary=f"one neuron follows {f.name} within {error.hi:.4g} (bound {bound.hi:.4g}); its bias 2n has "
        f"{n.bit_length() + 1} binary digits"
        + (", float64 holds it" if n < c.DIGITS else ", too many for float64"),
    )


def _decode(found: c.Member) -> Examples:
    """The activation, decoded where this neuron looks, is the function of the list; and the activation itself."""
    n = found.index
    points = [Fraction(k, 3 * found.m) for k in range(3 * found.m + 1)]
    gap = max(abs(c.activation(2 * n + x) - found(x)) for x in points)
    least, _ = analytic.slopes(found)
    apart = [
        Enclosure.ball(abs(analytic.network(found, x) - analytic.as_ball(found(x))))
        for x in points[::2]
    ]
    return Examples(
        claims=(
            Identity(
                "ϱ(x + 2n) − uₙ(x) at thirds of cells", Enclosure.exact(gap), Enclosure.exact(0)
            ),
            AtMost(
                "|three units − uₙ(x)| at every other third",
                max(apart, key=lambda one: one.hi),
                Enclosure.exact(analytic.deviation(found).hi),
            ),
            AtMost(
                "½ ≤ slope before smoothing / κₙ", Enclosure.exact(HALF), Enclosure.exact(least)
            ),
        ),
        charts=(_draw_activation(), _draw_analytic(), _draw_digits()),
    )


def _draw_neuron(goal: Goal, found: c.Member) -> Curves:
    x = np.linspace(goal.lo[0], goal.hi[0], 401)
    neuron = [float(found(Fraction(k, 400))) for k in range(401)]
    return draw_curves(
        "a function and one neuron",
        x,
        x="x",
        y="value",
        reference={goal.name: goal.values(x[:, None])},
        measured={"one neuron ϱ(x + 2n)": neuron},
    )


def _draw_three_units(goal: Goal, found: c.Member) -> Curves:
    places = [Fraction(k, POINTS) for k in range(POINTS + 1)]
    x = np.linspace(goal.lo[0], goal.hi[0], POINTS + 1)
    return draw_curves(
        "a function and three units of an analytic activation",
        x,
        x="x",
        y="value",
        reference={goal.name: goal.values(x[:, None])},
        measured={"three units": [float(analytic.network(found, p)) for p in places]},
    )


def _draw_analytic() -> Curves:
    """The first periods on either side, where the functions of the list can still be seen on its way up."""
    length = analytic.period(0).level.length
    t = [Fraction(k * length, 48) for k in range(-48 * PERIODS, 48 * PERIODS + 1)]
    return draw_curves(
        "an analytic, strictly increasing sigmoidal activation, near 0",
        [float(s) for s in t],
        x="t",
        y="ϱ(t)",
        measured={"ϱ(t)": [float(analytic.activation(s)) for s in t]},
    )


def _draw_activation() -> Curves:
    t = [Fraction(k, 16) for k in range(-16, 32 * SHOWN)]
    values = [float(c.activation(s)) for s in t]
    title = "the concatenated activation, from its beginning"
    return draw_curves(title, [float(s) for s in t], x="t", y="ϱ(t)", measured={"ϱ(t)": values})


def _draw_digits() -> Curves:
    """Binary digits of the number against the accuracy for a Lipschitz function, m = 2q."""
    sizes = (1, 2, 4, 8, 16, 32)
    return draw_curves(
        "how far out the neuron looks",
        [1 / k for k in sizes],
        x="error 1/q, m = 2q",
        y="bits of n",
        log="xy",
        measured={"bits of n": [float(c.before(2 * k, k).bit_length()) for k in sizes]},
        bound={"what float64 can hold": [51.0] * len(sizes)},
    )
