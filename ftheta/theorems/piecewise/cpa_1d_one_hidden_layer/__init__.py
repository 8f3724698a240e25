"""On the line one hidden layer is enough: kinks plus one neurons, weights read off the slopes."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.logic import AtMost, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.relu.counts import count
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.line.fewest import fewest
from ftheta.relu.line.points import line_network, on_line
from ftheta.relu.line.program import exact_pieces, pieces_or_interpolant
from ftheta.subjects import Dataset, Target
from ftheta.theorems.charts_line import draw_neurons, tabulate_neurons

from .spline import interpolate, pairs


def points(
    rng: np.random.Generator,
    *,
    points: Annotated[
        int, Knob(4, 400, "points to interpolate; 4 are those of the textbook", "n", most=500)
    ] = 4,
    clashes: Annotated[int, Knob(0, 4, "points given a second time with another value", "c")] = 0,
) -> Dataset:
    x = np.arange(points, dtype=np.float64)
    y = np.array([0.0, 1.0, 0.0, 2.0]) if points == 4 else rng.integers(-64, 65, points) / 16.0
    x = np.append(x, x[:clashes])
    y = np.append(y, y[:clashes] + 1)
    return Dataset(f"{len(x)} points", x[:, None], y)


def two_values_at_one_point(rng: np.random.Generator) -> Dataset:
    return points(rng, points=4, clashes=1)


@hypothesis(
    "a function of one variable that is continuous and piecewise affine, or points that determine one",
    remedy="give rows of one number with one label, one label for each abscissa; or a function of abs, maximum, clip",
)
def function_on_the_line(given: Dataset | Target) -> Finding:
    read = (
        exact_pieces(given.f, given.dimension)
        if isinstance(given, Target)
        else pairs(given.x, given.y)
    )
    if isinstance(read, str):
        return Finding.failed(read)
    if isinstance(read, tuple):
        return Finding.proved(
            f"{len(read[0].slopes)} affine pieces", "read off the graph", basis=read[1]
        )
    clashes = len(read) - len({a for a, _ in read})
    note = f"{len(read)} different points, {clashes} of them above another"
    return (
        Finding.failed(note, enclose_rational(clashes))
        if clashes
        else Finding.proved(note, "counted", enclose_rational(clashes))
    )


@theorem(
    title="Piecewise-affine functions on the line have one hidden layer",
    gist="On the line one hidden layer is enough for every continuous piecewise-affine function, with about one neuron "
    "per breakpoint and weights read off the slopes; data are interpolated in the same way.",
    see_also=("hat-function", "pieces-1d", "fem-basis-relu", "cpa-depth-bound"),
    sources=("gribonval-slides", "arora2018"),
    assumes=(function_on_the_line,),
    on=points,
    breaks_on=two_values_at_one_point,
    presets={
        "textbook": {},
        "four hundred points": {"points": 400},
        "at the edge": {"points": 5},
        "broken on purpose": {"clashes": 1},
    },
)
def cpa_1d_one_hidden_layer(
    given: Dataset | Target,
    rng: np.random.Generator,
    *,
    at: Annotated[
        float, Knob(-5, 20, "where to evaluate the network", "x", least=-1e6, most=1e6)
    ] = 10.0,
) -> Evidence:
    r"""Let $f:\mathbb R\to\mathbb R$ be continuous and affine between $t_1<\dots<t_m$, $m\ge1$, with slopes
    $s_0\ne s_1\ne\dots\ne s_m$. With $r(t)=\max\{0,t\}$
    $$f(x)=f(t_1)-s_0\,r(t_1-x)+s_1\,r(x-t_1)+\sum_{i=2}^m(s_i-s_{i-1})\,r(x-t_i):$$
    one hidden layer of $m+1$ neurons, $m$ if $s_0s_1=0$. No network with one hidden layer has fewer than $m$."""
    if isinstance(given, Target):
        f, elsewhere = pieces_or_interpolant(given.f, given.lo, given.hi)
    else:
        f, elsewhere = interpolate(given.x, given.y)
    off = elsewhere.left if elsewhere else enclose_rational(0)
    net = line_network(f)
    back = on_line(net)[0]
    neurons = count(net).neurons
    m = len(f.kinks)
    least = fewest(f)[1]
    flat = m > 0 and 0 in f.slopes[:2]
    return Evidence(
        claims=(
            Identity(
                "sup |network − f|", enclose_rational((back - f).largest[1]), enclose_rational(0)
            ),
            Identity(
                "largest distance of f from what was given", off, enclose_rational(0), elsewhere
            ),
            Identity(
                "neurons", enclose_rational(neurons), enclose_rational(m + 1 - flat if m else 2)
            ),
            AtMost("fewest neurons possible", least, enclose_rational(neurons)),
        ),
        charts=(draw_neurons(f, net, f"{given.name}: f and its ReLU atoms"),),
        numbers={
            "f(x)": enclose_rational(f(Fraction(at))),
            "kinks": enclose_rational(m),
            "neurons": enclose_rational(neurons),
            "fewest neurons possible": least,
            "slope to the right": enclose_rational(f.slopes[-1]),
        },
        tables=(tabulate_neurons(net),),
        summary=f"{m} kinks, {neurons} neurons in one hidden layer; f({at:g}) = {float(f(Fraction(at))):.6g}",
    )
