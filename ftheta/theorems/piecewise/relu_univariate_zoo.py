"""Small functions of one variable are small ReLU networks: the exercises, and the smallest network of any."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    hypothesis,
    theorem,
)
from ftheta.relu.counts import count
from ftheta.relu.elementary import absolute, identity, minimum, ramp, repu_power, soft_threshold
from ftheta.relu.line.cpa1d import PiecewiseAffine, affine, enclose_rational, from_jumps
from ftheta.relu.line.fewest import fewest
from ftheta.relu.line.points import from_slopes, on_line
from ftheta.relu.line.program import LineFunction, exact_pieces, pieces_or_interpolant
from ftheta.relu.matrices import Number, fraction, rational
from ftheta.relu.network import ExactNetwork
from ftheta.subjects import Target
from ftheta.theorems.charts_line import draw_graph, draw_neurons, tabulate_neurons

NAMES = ("identity", "absolute value", "ramp", "soft threshold")
RAYS = ((1, 0), (1, 1), (-1, 0), (-1, -1))
"""Rays on the lines y = 0 and x = y, where the neurons of `minimum` vanish: all is linear on the cones between."""


def exercise(
    rng: np.random.Generator,
    *,
    function: Annotated[
        str, Knob(says="which function", symbol="f", choices=(*NAMES, "parabola"))
    ] = "soft threshold",
    threshold: float = 1.0,
) -> Target:
    if function == "parabola":
        return parabola(rng)
    return Target(function, LineFunction(shape(function, threshold)), (-3.0,), (3.0,))


def parabola(rng: np.random.Generator) -> Target:
    return Target("x²", jnp.square, (-2.0,), (2.0,))


@hypothesis(
    r"$f:\mathbb R\to\mathbb R$ is continuous and piecewise affine",
    remedy="write f of one number in jax.numpy with +, multiples, abs, maximum, minimum, clip",
    name="a continuous piecewise-affine function",
)
def piecewise_affine(f: Target) -> Finding:
    read = exact_pieces(f.f, f.dimension)
    if isinstance(read, str):
        return Finding.failed(read)
    pieces, basis = read
    return Finding.proved(
        f"{len(pieces.slopes)} affine pieces",
        "read off the graph",
        enclose_rational(len(pieces.slopes)),
        basis=basis,
    )


@theorem(
    title="ReLU networks of small functions",
    gist="The identity, the absolute value, the minimum, the ramp and the soft threshold are ReLU networks of two or "
    "three neurons, and the smallest one-hidden-layer network of any piecewise-affine function can be read off.",
    see_also=("hat-function", "cpa-1d-one-hidden-layer", "ista-lista", "network-calculus"),
    sources=("gribonval-slides", "murari-slides"),
    assumes=(piecewise_affine,),
    on=exercise,
    breaks_on=parabola,
    presets={
        "textbook": {},
        "power sixty": {"function": "absolute value", "power": 60},
        "at the edge": {"threshold": 0.0, "power": 1},
        "broken on purpose": {"function": "parabola"},
    },
    errata=r"""Murari's slides state the formula for $x^p$ for all $p\in\mathbb N$. With $t^0=1$ its right side is
    2 at $p=0$:
    it holds for $p\ge1$. For $p>1$ it is a network of rectified powers, not of ReLUs.""",
)
def relu_univariate_zoo(
    target: Target,
    rng: np.random.Generator,
    *,
    power: Annotated[int, Knob(1, 12, "exponent of the power", "p", most=200)] = 3,
    threshold: Annotated[float, Knob(0, 2, "threshold of the soft threshold", "λ", most=1e6)] = 1.0,
) -> Evidence:
    r"""With $r(t)=\max\{0,t\}$, for all $x,y\in\mathbb R$: $x=r(x)-r(-x)$, $|x|=r(x)+r(-x)$, $\min\{x,y\}=x-r(x-y)$,
    $\min\{1,r(x)\}=r(x)-r(x-1)$, $S_\lambda(x)=r(x-\lambda)-r(-x-\lambda)$ for $\lambda\ge0$, and
    $x^p=r(x)^p+(-1)^pr(-x)^p$ for integers $p\ge1$. A continuous piecewise-affine $f$ with $m\ge1$ kinks needs $m$ or
    $m+1$ neurons; $m$ do exactly when minus its first slope is a sum of some of its jumps of slope."""
    f, elsewhere = pieces_or_interpolant(target.f, target.lo, target.hi)
    net, least = fewest(f)
    m = len(f.kinks)
    neurons = count(net).neurons
    off = elsewhere.left if elsewhere else enclose_rational((on_line(net)[0] - f).largest[1])
    odd = enclose_rational(printed_power(1, 0))
    return Evidence(
        claims=(
            Identity("sup |f − its smallest network|", off, enclose_rational(0), elsewhere),
            AtMost("neurons of f", enclose_rational(neurons), enclose_rational(max(m + 1, 2))),
        ),
        as_printed=(
            Identity("r(x)^p + (−1)^p r(−x)^p = x^p at p = 0, x = 1", odd, enclose_rational(1)),
        ),
        charts=(draw_neurons(f, net, f"{target.name} and its neurons"),),
        numbers={
            "kinks": enclose_rational(m),
            "neurons": enclose_rational(neurons),
            "fewest neurons possible": least,
        },
        tables=(tabulate_neurons(net),),
        summary=f"{target.name} has {m} kinks and takes {neurons} neurons",
        examples=partial(_examples, threshold, power),
    )


# ---- the formulas of the slides --------------------------------------------------------------------------------------


def _examples(threshold: float, p: int) -> Examples:
    """The formulas for all real numbers, each reduced to finitely many exact equalities."""
    zero = enclose_rational(0)
    errors = {
        name: (shape(name, threshold) - on_line(formula(name, threshold))[0]).largest[1]
        for name in NAMES
    }
    return Examples(
        claims=(
            *(
                Identity(f"sup |formula − {name}|", enclose_rational(error), zero)
                for name, error in errors.items()
            ),
            Identity(
                "error of min{x, y} on rays, all being linear between",
                enclose_rational(minimum_error()),
                zero,
            ),
            Identity(
                f"error of x^{p} at 0, ±1, …, ±{p}, which determine it",
                enclose_rational(power_error(p)),
                zero,
            ),
        ),
        charts=(_chart_shapes(threshold), _chart_powers(p)),
        numbers={"formula for x^0 at 1": enclose_rational(printed_power(1, 0))},
    )


def shape(name: str, threshold: Number = 1) -> PiecewiseAffine:
    """The function itself, by its kinks and slopes."""
    level = fraction(rational(threshold))
    match name:
        case "identity":
            return affine(1)
        case "absolute value":
            return from_slopes([0], [-1, 1], 0, 0)
        case "ramp":
            return from_slopes([0, 1], [0, 1, 0], 0, 0)
        case _:
            jumps = {-level: Fraction(-1), level: Fraction(1)} if level else {}
            return from_jumps(1, jumps, 0, 0)


def formula(name: str, threshold: Number = 1) -> ExactNetwork:
    """The network of the formula."""
    nets = {"identity": identity, "absolute value": absolute, "ramp": ramp}
    return nets[name]() if name in nets else soft_threshold(threshold)


def minimum_error() -> Fraction:
    r"""The largest error of $\min\{x,y\}$ on the four rays; zero there is zero on the plane."""
    net = minimum()
    return max(abs(net(ray)[0] - min(ray)) for ray in RAYS)


def power_error(p: int) -> int:
    """The largest error of the formula for x^p at the integers from -p to p: as many as determine it on either side."""
    return max(abs(repu_power(x, p) - x**p) for x in range(-p, p + 1))


def printed_power(x: int, p: int) -> int:
    r"""$r(x)^p+(-1)^pr(-x)^p$ with $t^0=1$, for every $p\ge0$."""
    return max(x, 0) ** p + (-1) ** p * max(-x, 0) ** p


# ---- charts ----------------------------------------------------------------------------------------------------------


def _chart_shapes(threshold: Number) -> Curves:
    points = [Fraction(k, 16) for k in range(-48, 49)]
    series = [draw_graph(name, shape(name, threshold), points, "other") for name in NAMES]
    return Curves("the exercise sketches", Axis("x"), Axis("value"), tuple(series))


def _chart_powers(p: int) -> Curves:
    points = [Fraction(k, 32) for k in range(-40, 41)]
    series = (
        draw_graph(f"r(x)^{p}", lambda x: max(x, 0) ** p, points, "other"),
        draw_graph(f"±r(−x)^{p}", lambda x: (-1) ** p * max(-x, 0) ** p, points, "other"),
        draw_graph(f"their sum, x^{p}", lambda x: repu_power(x, p), points, "measured"),
        draw_graph(
            "at p = 0: 2, not 1",
            lambda x: printed_power(1 if x >= 0 else -1, 0),
            points,
            "reference",
        ),
    )
    return Curves(f"x^{p} from two rectified powers", Axis("x"), Axis("value"), series)
