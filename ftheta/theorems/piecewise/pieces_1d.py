"""Along a line a ReLU network has at most so many pieces; depth multiplies, width adds."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Annotated

import numpy as np

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
    hypothesis,
    theorem,
)
from ftheta.networks import ACTIVATIONS, random_mlp
from ftheta.networks.description import require_layers
from ftheta.pieces import Segment, count_pieces
from ftheta.relu.counts import count
from ftheta.relu.describe import describe_layers, plain_form
from ftheta.relu.exact import exact, from_description
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.line.pieces import Along, along, broken_triples, narrow_bound, product_bound
from ftheta.relu.line.sawtooth import sawtooth, sparse_zigzag
from ftheta.relu.network import ExactNetwork
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function
from ftheta.theorems.charts_line import draw_graph, draw_on_segment

MOST_WEIGHTS = 2000  # beyond the first layer; more would take too long in rationals


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str, Knob(says="which network", choices=("sawtooth", "two by two", "random"))
    ] = "sawtooth",
    depth: Annotated[int, Knob(1, 10, "hidden layers", "L − 1")] = 4,
    width: Annotated[
        int, Knob(1, 12, "neurons in each hidden layer of the random network", "m")
    ] = 8,
    hidden: Annotated[
        str, Knob(says="activation of the random one", symbol="σ", choices=tuple(ACTIVATIONS))
    ] = "relu",
) -> Network:
    if kind == "random" or hidden != "relu":
        return Network.described(
            random_mlp(rng, (1, *[width] * depth, 1), hidden, bias=0.5), f"random {hidden} network"
        )
    return Network.described(
        describe_layers(sawtooth(depth) if kind == "sawtooth" else two_by_two()), kind
    )


def hyperbolic_tangents(rng: np.random.Generator) -> Network:
    return network(rng, depth=1, width=3, hidden="tanh")


@hypothesis(
    r"the network is a list of layers $W_L\circ r\circ\cdots\circ r\circ W_1$ with $r(t)=\max\{0,t\}$",
    remedy="give ReLU layers that end in an affine map",
    name="ReLU layers",
)
def relu_layers(net: Network) -> Finding:
    why = plain_form(net.description)
    if net.description is None or why:
        return Finding.failed(f"this one has {why}")
    return Finding.proved(
        f"widths {'-'.join(map(str, net.description.widths))}", "read off the list"
    )


@theorem(
    title="Number of affine pieces along a line",
    gist="Restricted to a line, a ReLU network has at most the product of its widths plus one affine pieces: depth "
    "multiplies the number of pieces while width only adds, and folding a tent map shows that this growth is real.",
    see_also=("regions-deep", "depth-separation", "cpa-1d-one-hidden-layer"),
    sources=("gribonval-slides", "telgarsky2016", "gribonval2022"),
    assumes=(relu_layers, describes_this_function),
    on=network,
    breaks_on=hyperbolic_tangents,
    presets={
        "textbook": {},
        "large": {"depth": 10, "folds": 10},
        "chance": {"kind": "random"},
        "at the edge": {"kind": "two by two", "folds": 1},
        "broken on purpose": {"hidden": "tanh"},
    },
    errata=r"""Gribonval's slides call the bounds sharp. Only the exponents are: widths $(2,2)$ allow
    $7=1+m_1+m_1m_2$ pieces,
    not $9$. That formula is special to $m_1\le2$: widths $(3,2)$ reach the product $12$, more than $1+3+6$.""",
)
def pieces_1d(
    net: Network,
    rng: np.random.Generator,
    *,
    folds: Annotated[int, Knob(1, 10, "how often the tent map is folded", "k", most=12)] = 6,
) -> Evidence:
    r"""Along any line $t\mapsto f(x+tv)$ a ReLU network with hidden widths $m_1,\dots,m_{L-1}$ has at most
    $\prod_\ell(m_\ell+1)$ affine pieces, $O(N^{L-1})$ for $N$ neurons and $O(W^{\lfloor L/2\rfloor})$ for $W$ non-zero
    weights. The exponents are sharp: the $k$-fold tent map has $2^k$ pieces on $[0,1]$ from $2k$ neurons, $k$ sparse
    zig-zags of $a$ pieces have $a^k=(W/L)^{L/2}$."""
    layers = require_layers(net.description)
    d = net.input_shape[0]
    ends = (
        rng.normal(size=(2, d))
        if net.data is None
        else np.asarray(net.data.x[[0, -1]], np.float64).reshape(2, d)
    )
    x, v = (np.zeros(1), np.ones(1)) if d == 1 else (ends[0], ends[1] - ends[0])
    widths = layers.widths[1:-1]
    most = Enclosure.exact(product_bound(widths))
    if plain_form(layers):
        seen = broken_triples(layers, x, v, 4096)
        apply = partial(layers.apply, layers.params)
        return Evidence(
            (AtMost("affine pieces", seen, most),),
            (draw_on_segment("f along the line", {"f(x + tv)": apply}, x, x + v),),
            summary=f"at least {seen.lo:g} affine pieces",
        )
    if sum(layer.weight.size for layer in layers.layers[1:]) > MOST_WEIGHTS:
        cells = count_pieces(from_description(layers), Segment(x, x + v), max_cells=10**6)
        claim = AtMost(
            "activation cells on a segment, no fewer than its affine pieces", cells, most
        )
        return Evidence(
            (claim,), numbers={"cells": cells}, summary=f"{cells.lo:,.0f} cells on the segment"
        )
    found = along(exact(layers), x.tolist(), v.tolist())
    pieces = enclose_rational(found.pieces)
    narrow = narrow_bound(widths)
    sharper = () if narrow == product_bound(widths) else (Enclosure.exact(narrow),)
    best = _count_small_networks()[0]
    return Evidence(
        claims=(
            AtMost("affine pieces, product bound", pieces, most),
            *(
                AtMost("affine pieces, with at most two zeros for m₁ ≤ 2", pieces, bound)
                for bound in sharper
            ),
        ),
        as_printed=(
            Identity(
                "most pieces for widths (2, 2) = product",
                enclose_rational(best),
                enclose_rational(product_bound((2, 2))),
            ),
        ),
        charts=(_chart_growth(found, widths, rng, net.name), _chart_profile(found)),
        numbers={"pieces": pieces, "product bound": most},
        summary=f"{found.pieces:,} affine pieces along the line; the product bound is {most.middle:.6g}",
        examples=partial(_examples, folds),
    )


# ---- networks with as many pieces as there can be --------------------------------------------------------------------


def _examples(folds: int) -> Examples:
    """The bounds are attained: by the folded tent, by sparse zig-zags, at widths (2, 2)."""
    best, wide, zigzags = _count_small_networks()
    tent = enclose_rational(_count_tent_pieces(folds))
    return Examples(
        claims=(
            Identity(
                f"pieces of the {folds}-fold tent on [0, 1]", tent, enclose_rational(2**folds)
            ),
            Identity(
                "pieces of two sparse zig-zags of 5",
                enclose_rational(zigzags),
                enclose_rational(25),
            ),
            Identity(
                "pieces of an example with widths (2, 2)",
                enclose_rational(best),
                enclose_rational(narrow_bound((2, 2))),
            ),
        ),
        numbers={
            "pieces of the tent": tent,
            "pieces at widths (2, 2)": enclose_rational(best),
            "pieces at widths (3, 2)": enclose_rational(wide),
            "weights of the zig-zags": enclose_rational(count(sparse_zigzag(5, 2)).connections),
        },
    )


@cache
def _count_tent_pieces(k: int) -> int:
    """The affine pieces of the $k$-fold tent map on [0, 1]."""
    return along(sawtooth(k), [0], [1]).within(0, 1)


@cache
def _count_small_networks() -> tuple[int, int, int]:
    """The affine pieces of `two_by_two`, of `three_by_two`, and of two sparse zig-zags of 5 on [0, 1]."""
    zigzags = along(sparse_zigzag(5, 2), [0], [1]).within(0, 1)
    return along(two_by_two(), [0], [1]).pieces, along(three_by_two(), [0], [1]).pieces, zigzags


def two_by_two() -> ExactNetwork:
    """Hidden widths 2 and 2 with seven pieces: as many as there can be."""
    second = [[1, -2], [-1, 2]], [Fraction(-1, 4), Fraction(1, 2)]
    return ExactNetwork.dense([[[1], [1]], second[0], [[1, 2]]], [[0, -1], second[1], [0]])


def three_by_two() -> ExactNetwork:
    """Hidden widths 3 and 2 with twelve pieces: the product bound, and more than 1 + 3 + 3·2."""
    second = [[-2, 2, -3], [2, -2, 3]], [Fraction(9, 2), Fraction(-14, 3)]
    return ExactNetwork.dense([[[1], [-1], [-1]], second[0], [[1, 2]]], [[0, 1, 2], second[1], [0]])


# ---- charts ----------------------------------------------------------------------------------------------------------


def _chart_growth(
    found: Along, widths: Sequence[int], rng: np.random.Generator, name: str
) -> Curves:
    """Pieces against depth: this network, a random one, the sawtooth, the bound."""
    depth = list(range(len(found.grown)))
    narrow = [min(m, 16) for m in widths]
    chance = along(exact(random_mlp(rng, (1, *narrow, 1), bias=0.5)), [0], [1]).grown
    folds = [1, *(_count_tent_pieces(k) for k in range(1, min(len(depth), 11)))]
    series = (
        Series(
            "product bound",
            depth,
            [min(product_bound(widths[:k]), 10**300) for k in depth],
            "bound",
        ),
        Series(name, depth, found.grown, "measured"),
        Series("random, one input", depth[: len(chance)], chance, "other"),
        Series("sawtooth, width 2", depth[: len(folds)], folds, "reference"),
    )
    return Curves(
        "pieces against depth", Axis("hidden layers"), Axis("affine pieces", "log"), series
    )


def _chart_profile(found: Along) -> Curves:
    """The first output along the line, with its kinks."""
    kinks = found.kinks or (Fraction(0),)
    lo = kinks[len(kinks) // 50]
    hi = kinks[-1 - len(kinks) // 50]
    margin = max((hi - lo) / 8, Fraction(1, 4))
    shown = [t for t in kinks if lo <= t <= hi][:2000]
    f = found.outputs[0]
    marks = Series(
        "kinks", [float(t) for t in shown], [float(f(t)) for t in shown], "reference", "points"
    )
    line = draw_graph("first output", f, [lo - margin, *shown, hi + margin])
    return Curves("along the line", Axis("t"), Axis("value"), (line, marks))
