"""Deep networks follow polynomials with exponentially small error."""

from fractions import Fraction
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.logic import Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.relu import count
from ftheta.relu.line import polynomials as poly
from ftheta.relu.line.sawtooth import square, square_error
from ftheta.subjects import Target

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
    radius: Annotated[float, Knob(0.5, 4, "half-width of the interval", "B", least=0.01, most=100)] = 1.0,
) -> Target:
    return Target(f"{name} on [−{radius:g}, {radius:g}]", FUNCTIONS[name], (-radius,), (radius,))


def absolute_value(rng: np.random.Generator) -> Target:
    return function(rng, name="|x|")


@hypothesis(
    rf"$f$ is a polynomial of one variable, of degree at most {poly.MOST_DEGREE}",
    remedy="write it with +, −, × and whole powers alone",
)
def one_polynomial(target: Target) -> Finding:
    if target.dimension != 1:
        return Finding.failed(f"a function of {target.dimension} variables")
    p = poly.read_polynomial(target.f, target.lo[0], target.hi[0])
    if isinstance(p, str):
        return Finding.failed(p)
    return Finding.proved(f"degree {p.degree}", "its program applied to x, in rationals", Enclosure.exact(p.degree))


@theorem(
    title="Squares, products and polynomials by depth",
    sources=("seed 1", "seed 3", "yarotsky2017"),
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
    ladder, exact = [poly.realised(square(m)) for m in range(1, levels + 1)], Enclosure.exact
    errors, f = [poly.largest_error(f, poly.SQUARE, Fraction(0), Fraction(1))[0] for f in ladder], ladder[-1]
    at_nodes = max(abs(f(x) - x * x) for x in (Fraction(k, 2**levels) for k in range(2**levels + 1)))
    bounds = [square_error(m) for m in range(1, levels + 1)]
    made = poly.follow(target.f, target.lo[0], target.hi[0], levels)
    last, neurons = made.claim(), exact(count(square(levels)).neurons)
    return Evidence(
        (
            Identity("max |x² − f_m| on [0, 1]", errors[-1], exact(bounds[-1])),
            Identity("largest |x² − f_m| at the nodes k 2^−m", exact(at_nodes), exact(0)),
            Identity("hidden neurons of f_m", neurons, exact(3 * levels)),
            last,
        ),
        (*poly.pictures(made, target.name), poly.decay(range(1, levels + 1), errors, bounds)),
        {
            "error of the square": errors[-1],
            "f_m at the point": exact(f(Fraction(point))),
            "neurons of the square": neurons,
            "error of the polynomial": last.left,
        },
        summary=f"x² within {errors[-1].hi:.6g} by {3 * levels} neurons; {target.name} within {last.right.hi:.3g} "
        f"(found {last.left.lo:.3g}) by {made.neurons} neurons and {made.levels} levels",
    )
