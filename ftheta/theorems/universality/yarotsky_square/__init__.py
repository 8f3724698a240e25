"""Deep networks follow polynomials with exponentially small error."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import inf
from typing import Annotated

import jax.numpy as jnp
import numpy as np

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
    Series,
    Witness,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.relu import count
from ftheta.relu.line.sawtooth import square, square_error
from ftheta.subjects import Target
from ftheta.subjects.continuity import missing_on_interval

from . import polynomials as poly

SAMPLES = 257  # where a function that is no polynomial is compared with its network
FUNCTIONS = {
    "x²": lambda x: x * x,
    "x³ − x": lambda x: x**3 - x,
    "T₄": lambda x: 8 * x**4 - 8 * x**2 + 1,
    "|x|": jnp.abs,
}


def function(
    rng: np.random.Generator,
    *,
    name: Annotated[str, Knob(says="which function", symbol="p", choices=tuple(FUNCTIONS))] = "x²",
    radius: Annotated[
        float, Knob(0.5, 4, "half-width of the interval", "B", least=0.01, most=100)
    ] = 1.0,
) -> Target:
    return Target(f"{name} on [−{radius:g}, {radius:g}]", FUNCTIONS[name], (-radius,), (radius,))


def absolute_value(rng: np.random.Generator) -> Target:
    return function(rng, name="|x|")


@hypothesis(
    rf"$f$ is a polynomial of one variable, of degree at most {poly.MOST_DEGREE}",
    remedy="write it with +, −, × and whole powers alone",
)
def one_polynomial(target: Target) -> Finding:
    missing = missing_on_interval(target)
    if missing:
        return Finding.failed(missing)
    p = poly.read_polynomial(target.f, target.lo[0], target.hi[0])
    if isinstance(p, str):
        return Finding.failed(p)
    return Finding.proved(
        f"degree {p.degree}", "its program applied to x, in rationals", Enclosure.exact(p.degree)
    )


@theorem(
    title="Squares, products and polynomials by depth",
    gist="Deep ReLU networks compute squares, products and polynomials with an error that falls exponentially in the "
    "depth, so smooth functions are cheap for deep networks.",
    see_also=("depth-separation", "pieces-1d", "uat-step3-monomials"),
    sources=("gribonval-slides", "scaman-slides", "yarotsky2017"),
    assumes=(one_polynomial,),
    on=function,
    breaks_on=absolute_value,
    presets={
        "textbook": {},
        "cubic": {"name": "x³ − x", "levels": 6},
        "Chebyshev": {"name": "T₄", "levels": 5},
        "deep": {"levels": 8},
        "at the edge": {"levels": 1},
        "broken on purpose": {"name": "|x|"},
    },
)
def yarotsky_square(
    target: Target,
    rng: np.random.Generator,
    *,
    levels: Annotated[int, Knob(1, 8, "levels of the sawtooth", "m", most=9)] = 4,
    point: Annotated[float, Knob(0, 1, "where the network of the square is read", "x")] = 0.3,
) -> Evidence:
    r"""Let $g(x)=2x_+-4(x-\frac12)_+$. On $[0,1]$, $f_m=x-\sum_{s=1}^m4^{-s}g^{\circ s}(x)$ interpolates $x^2$ at
    $k2^{-m}$ and
    $$\max_{0\le x\le1}|x^2-f_m(x)|=4^{-(m+1)}$$
    with $m$ hidden layers of 3 neurons: depth and size $O(\log\frac1\varepsilon)$. Products follow by
    $xy=\frac12((x+y)^2-x^2-y^2)$, polynomials by Horner's scheme, with an error bound that comes with the network."""
    if target.dimension != 1:
        return Evidence((), summary="a function of several variables")
    f = poly.realise(square(levels))
    error, _ = poly.largest_error(f, poly.SQUARE, Fraction(0), Fraction(1))
    made = poly.follow(target.f, target.lo[0], target.hi[0], levels)
    within = error_within_bound(made)
    return Evidence(
        claims=(within,),
        examples=partial(_square, levels),
        charts=_draw_network(made, target.name),
        numbers={
            "error of the square": error,
            "f_m at the point": Enclosure.exact(f(Fraction(point))),
            "neurons of the square": Enclosure.exact(count(square(levels)).neurons),
            "error of the polynomial": within.left,
        },
        summary=f"x² within {error.hi:.6g} by {3 * levels} neurons; {target.name} within {within.right.hi:.3g} "
        f"(found {within.left.lo:.3g}) by {made.neurons} neurons and {made.levels} levels",
    )


def error_within_bound(made: poly.Followed) -> AtMost:
    """The error is within its bound: over the whole interval for a polynomial; else at points, with a witness."""
    what = "largest |p − network| on the interval"
    bound = Enclosure.exact(made.bound)
    if made.is_polynomial:
        error, _ = poly.largest_error(made.network, made.polynomial, made.low, made.high)
        B = max(abs(made.low), abs(made.high))
        size = sum(abs(c) * B**k for k, c in enumerate(made.polynomial.coefficients))
        # the network 0 errs by no more than |p|
        return AtMost(what, error, bound, trivial=float(size) or inf)
    points = np.linspace(float(made.low), float(made.high), SAMPLES).tolist()
    gap, x = max((abs(float(made.f(x)) - float(made.network(Fraction(x)))), x) for x in points)
    off = abs(enclose_number(made.f, x) - Enclosure.exact(made.network(Fraction(x))))
    how = "the function in intervals and the network in rational arithmetic at this point"
    return AtMost(
        what,
        Enclosure.at_least(gap, samples=SAMPLES),
        bound,
        witness=Witness({"x": x}, off, bound, how),
    )


def _square(levels: int) -> Examples:
    r"""$x^2$ on $[0,1]$: the error of $f_m$, its nodes and its neurons, in rationals."""
    ladder = [poly.realise(square(m)) for m in range(1, levels + 1)]
    errors = [poly.largest_error(f, poly.SQUARE, Fraction(0), Fraction(1))[0] for f in ladder]
    bounds = [square_error(m) for m in range(1, levels + 1)]
    nodes = [Fraction(k, 2**levels) for k in range(2**levels + 1)]
    at_nodes = max(abs(ladder[-1](x) - x * x) for x in nodes)
    neurons = count(square(levels)).neurons
    exact = Enclosure.exact
    return Examples(
        claims=(
            Identity("max |x² − f_m| on [0, 1]", errors[-1], exact(bounds[-1])),
            Identity("largest |x² − f_m| at the nodes k 2^−m", exact(at_nodes), exact(0)),
            Identity("hidden neurons of f_m", exact(neurons), exact(3 * levels)),
        ),
        charts=(_draw_decay(range(1, levels + 1), errors, bounds),),
    )


def _draw_network(made: poly.Followed, name: str) -> tuple[Curves, Curves]:
    """The function and its network; and their difference with its bound."""
    x = np.linspace(float(made.low), float(made.high), 513)
    net = np.array([float(made.network(Fraction(t))) for t in x.tolist()])
    truth = np.array([float(made.f(t)) for t in x.tolist()])
    bound = np.full(len(x), float(made.bound))
    return (
        draw_curves(
            f"{name} and its network",
            x,
            x="x",
            y="value",
            reference={name: truth},
            measured={"network": net},
        ),
        draw_curves(
            "network minus function",
            x,
            x="x",
            y="error",
            measured={"error": net - truth},
            bound={"bound": bound, "−bound": -bound},
        ),
    )


def _draw_decay(
    levels: Sequence[int], errors: Sequence[Enclosure], bounds: Sequence[Fraction]
) -> Curves:
    """The error of $x^2$ on $[0,1]$ against the number of levels."""
    series = (
        Series("largest error", levels, [e.middle for e in errors], mark="points"),
        Series("4^−(m+1)", levels, [float(b) for b in bounds], "bound"),
    )
    return Curves(
        "the error of x² falls fourfold with every level",
        Axis("levels m"),
        Axis("error", "log"),
        series,
    )
