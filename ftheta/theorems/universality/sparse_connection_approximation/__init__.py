"""What a budget of neurons or of connections buys, and what depth adds to it."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Annotated

import numpy as np

from ftheta.estimates import fit_rate
from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Identity,
    Knob,
    Rate,
    Series,
    Table,
    theorem,
)
from ftheta.networks import Description, random_mlp
from ftheta.networks.description import require_layers
from ftheta.networks.realisation import compare_outputs, prune_weights
from ftheta.relu.counts import count
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.line.pieces import along
from ftheta.relu.line.points import on_line
from ftheta.relu.line.points import square_error as error_on_cells
from ftheta.relu.line.sawtooth import sparse_zigzag, square, square_error
from ftheta.relu.line.separation import distance
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function, has_layers

from . import budgets, sparsity

LEVELS = range(3, 9)  # of the deep squares in the chart


def sparse_network(
    rng: np.random.Generator,
    *,
    width: Annotated[
        int, Knob(2, 64, "neurons in each of two hidden layers", "w", log=True, most=256)
    ] = 16,
    share: Annotated[
        float, Knob(0, 0.99, "share of the weights that are zero", "ρ", least=0, most=1)
    ] = 0.5,
    skip: Annotated[
        bool, Knob(says="a skip connection that the list of layers does not know")
    ] = False,
) -> Network:
    layers = prune_weights(random_mlp(rng, (2, width, width, 1), bias=0.5), share, rng)
    if not skip:
        return Network.described(layers, f"random network with {share:.0%} zeros")
    apply = lambda params, x: layers.apply(params, x) + x[..., :1]
    return Network("network with a hidden skip connection", apply, layers.params, (2,), layers)


def hidden_skip(rng: np.random.Generator) -> Network:
    return sparse_network(rng, skip=True)


@theorem(
    title="Approximation on a budget of neurons or connections",
    gist="The cost of a network may be counted in neurons or in non-zero weights: dangling neurons cost nothing, and "
    "deep sparse networks oscillate exponentially more than shallow ones on the same budget.",
    see_also=("depth-separation", "pieces-1d", "network-calculus", "maiorov-pinkus-counts"),
    sources=("gribonval-slides", "gribonval2022"),
    assumes=(has_layers, describes_this_function),
    on=sparse_network,
    breaks_on=hidden_skip,
    presets={
        "textbook": {},
        "64 pieces from 24 weights": {"a": 4, "k": 3},
        "free knots": {"target": "√x", "pieces": 32},
        "wide": {"width": 64, "share": 0.8},
        "at the edge": {"a": 1, "k": 1, "pieces": 1, "share": 0.99},
        "broken on purpose": {"skip": True},
    },
    errata=r"""The classes $A^\alpha_q$ for the two budgets need not agree: $N\le W$ once dangling neurons are gone, but
    $W$ may be of order $N^2$.""",
)
def sparse_connection_approximation(
    net: Network,
    rng: np.random.Generator,
    *,
    a: Annotated[int, Knob(1, 8, "pieces of one zig-zag", "a", most=16)] = 5,
    k: Annotated[int, Knob(1, 4, "zig-zags one after the other", "k", most=4)] = 2,
    target: Annotated[
        str, Knob(says="function to approximate", symbol="f", choices=tuple(budgets.CURVES))
    ] = "x²",
    pieces: Annotated[
        int, Knob(1, 64, "affine pieces of the approximation of x²", "n", log=True, most=500)
    ] = 16,
    points: Annotated[
        int, Knob(16, 1024, "random inputs where a network without data is read", "m", log=True)
    ] = 256,
) -> Evidence:
    r"""$E(f,\Sigma_n)=\inf\{\|f-f_\theta\|:\text{budget of }\theta\le n\}$, the budget being the number $W$ of non-zero
    weights or $N$ of neurons; $A^\alpha_q=\{f:\sum_n[n^\alpha E(f,\Sigma_{n-1})]^q/n<\infty\}$ is a quasi-normed linear
    space, unchanged by skip connections. Without dangling neurons $N\le W\le(N+d)(N+m)$ for $d$ inputs and $m$ outputs.
    Depth oscillates: with $L=2k$ affine maps, $W=2ak$ connections make $a^k=(W/L)^{L/2}$ pieces."""
    told = require_layers(net.description)
    d = told.widths[0]
    m = told.widths[-1]
    kept = sparsity.count_budget(told)
    x = (
        rng.normal(size=(points, d))
        if net.data is None
        else np.asarray(net.data.x, np.float64).reshape(-1, d)[:points]
    )
    same = compare_outputs(net, sparsity.without_dangling(told), x)
    pruned_errors = sparsity.prune(told, x)
    W = enclose_rational(kept.connections)
    N = enclose_rational(kept.neurons)
    what = "f, and f without its dangling neurons, where they differ most"
    return Evidence(
        claims=(
            Identity(what, same.left, same.right, same.again, atol=same.tolerance),
            AtMost("live neurons N ≤ live connections W", N, W),
            AtMost(
                "W ≤ (N + d)(N + m)", W, enclose_rational((kept.neurons + d) * (kept.neurons + m))
            ),
        ),
        examples=partial(_examples, a, k, pieces, target),
        charts=(_draw_pruning(pruned_errors),),
        numbers={"live W": W, "live N": N, "W for 1 % error": pruned_errors.within(0.01)},
        tables=(tabulate_layers(told),),
        summary=f"{kept.connections:,} of {kept.all_connections:,} connections and {kept.neurons:,} of "
        f"{kept.all_neurons:,} neurons are live; {a**k} pieces from {2 * a * k} connections",
    )


def _examples(a: int, k: int, pieces: int, target: str) -> Examples:
    """Depth that oscillates, the best pieces for x², and error against both budgets for a curve."""
    zigzag = Zigzag.of(a, k)
    errors = budgets.measure_errors(target)
    rates = (rate_against(errors, "neurons N", 1), rate_against(errors, "connections W", 2))
    return Examples(
        claims=(*zigzag.claims(), *claims_about_square(pieces), *rates),
        charts=(_draw_errors(errors),),
        numbers=zigzag.numbers | fit_exponents(errors),
    )


@dataclass(frozen=True, slots=True)
class Zigzag:
    """k sparse zig-zags of a pieces, one after the other: connections W, affine maps L, pieces on [0, 1]."""

    a: int
    k: int
    W: int
    L: int
    pieces: int

    @classmethod
    def of(cls, a: int, k: int) -> "Zigzag":
        """Built and counted."""
        net = sparse_zigzag(a, k)
        size = count(net)
        return cls(a, k, size.connections, size.affine_layers, along(net, [0], [1]).within(0, 1))

    @property
    def numbers(self) -> dict[str, Enclosure]:
        return {
            "W": enclose_rational(self.W),
            "L": enclose_rational(self.L),
            "pieces": enclose_rational(self.pieces),
        }

    def claims(self) -> tuple[Identity, ...]:
        """Its budgets, and how many pieces they make."""
        promised = Fraction(self.W, self.L) ** (self.L // 2)
        return (
            Identity(
                "connections W = 2ak",
                enclose_rational(self.W),
                enclose_rational(2 * self.a * self.k),
            ),
            Identity("affine maps L = 2k", enclose_rational(self.L), enclose_rational(2 * self.k)),
            Identity(
                "pieces on [0, 1] = (W/L)^(L/2)",
                enclose_rational(self.pieces),
                enclose_rational(promised),
            ),
        )


def claims_about_square(n: int) -> tuple[Identity, ...]:
    """The best n pieces for x², in rationals: the error, the budgets, and what a skip connection changes."""
    f = budgets.best_square(n)
    plain = budgets.realise(f)
    short = budgets.realise_with_skip(f)
    size = count(plain)
    less = count(short)
    error = error_on_cells(on_line(plain)[0], n)
    return (
        Identity(
            f"8n² max |x² − f| for the best f of n = {n} pieces",
            enclose_rational(8 * n * n * error),
            enclose_rational(1),
        ),
        Identity("its neurons", enclose_rational(size.neurons), enclose_rational(n)),
        Identity("its connections", enclose_rational(size.connections), enclose_rational(2 * n)),
        Identity(
            "∫₀¹|f − f with a skip connection|",
            enclose_rational(distance(f, on_line(short)[0])),
            enclose_rational(0),
        ),
        Identity(
            "neurons that the skip connection saves",
            enclose_rational(size.neurons - less.neurons),
            enclose_rational(1),
        ),
    )


def rate_against(errors: budgets.Errors, budget: str, each: int) -> Rate:
    """Error against a budget of which every neuron takes `each`."""
    scales = tuple(float(each * n) for n in budgets.SIZES)
    slope = fit_rate(np.array(scales), np.array(errors.best))
    what = f"E({errors.curve.name}, Σ) against {budget}"
    return Rate(what, 2.0, slope, scales, errors.best, slack=0.1, sharp=True)


def fit_exponents(errors: budgets.Errors) -> dict[str, Enclosure]:
    """The orders of the errors in the number of neurons, and the constant of the best knots."""
    sizes = np.array(budgets.SIZES)
    return {
        "α": -fit_rate(sizes, np.array(errors.best)),
        "α with equal knots": -fit_rate(sizes, np.array(errors.even)),
        "n² E": Enclosure.equal(errors.best[-1] * budgets.SIZES[-1] ** 2),
    }


def tabulate_layers(description: Description) -> Table:
    """Layer by layer: weights, connections, neurons, and what of it is live."""
    kept = sparsity.find_live(description)
    rows = []
    for i, (layer, (before, after)) in enumerate(zip(description.layers, pairwise(kept)), 1):
        used = np.count_nonzero(layer.weight)
        inner = np.count_nonzero(layer.weight[np.ix_(after, before)])
        share = f"{used / max(layer.weight.size, 1):.1%}"
        rows.append(
            (i, layer.weight.size, int(used), share, int(inner), len(after), int(after.sum()))
        )
    columns = (
        "layer",
        "weights",
        "connections",
        "share",
        "live connections",
        "outputs",
        "live outputs",
    )
    return Table("sparsity", columns, tuple(rows))


def _draw_pruning(found: sparsity.Pruning) -> Curves:
    series = (
        Series("by live connections W", found.connections, found.errors),
        Series("by live neurons N", found.neurons, found.errors, "other"),
    )
    title = "the largest weights alone: error against budget"
    return Curves(title, Axis("budget"), Axis("relative root mean square error"), series)


def _draw_errors(errors: budgets.Errors) -> Curves:
    """One hidden layer against both budgets, beside depth for x² and beside equal knots for √x."""
    series = [
        Series("one hidden layer, N", budgets.SIZES, errors.best),
        Series("one hidden layer, W", [2 * n for n in budgets.SIZES], errors.best, "other"),
    ]
    if errors.curve is budgets.SQUARED:
        sizes = [count(square(m)) for m in LEVELS]
        deep = [float(square_error(m)) for m in LEVELS]
        series.append(Series("deep, N", [size.neurons for size in sizes], deep, "measured"))
        series.append(Series("deep, W", [size.connections for size in sizes], deep, "other"))
    else:
        series.append(Series("equal knots, N", budgets.SIZES, errors.even, "reference"))
    title = f"largest error for {errors.curve.name} against both budgets"
    return Curves(
        title,
        Axis("budget: neurons N or connections W", "log"),
        Axis("error", "log"),
        tuple(series),
    )
