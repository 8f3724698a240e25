"""Along a line a ReLU network has at most so many pieces; depth multiplies, width adds."""

from typing import Annotated

import numpy as np

from ftheta.logic import AtMost, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks import ACTIVATIONS, random_mlp
from ftheta.pieces import Segment, count_pieces
from ftheta.relu.describe import described, plain_form, told_layers
from ftheta.relu.exact import exact, from_description
from ftheta.relu.line.cpa1d import known
from ftheta.relu.line.pieces import along, bounds, broken_triples, examples, pictures, two_by_two
from ftheta.relu.line.sawtooth import sawtooth
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which network", choices=("sawtooth", "two by two", "random"))] = "sawtooth",
    depth: Annotated[int, Knob(1, 10, "hidden layers", "L − 1")] = 4,
    width: Annotated[int, Knob(1, 12, "neurons in each hidden layer of the random network", "m")] = 8,
    hidden: Annotated[str, Knob(says="activation of the random one", symbol="σ", choices=tuple(ACTIVATIONS))] = "relu",
) -> Network:
    if kind == "random" or hidden != "relu":
        return Network.described(
            random_mlp(rng, (1, *[width] * depth, 1), hidden, bias=0.5), f"random {hidden} network"
        )
    return Network.described(described(sawtooth(depth) if kind == "sawtooth" else two_by_two()), kind)


def hyperbolic_tangents(rng: np.random.Generator) -> Network:
    return network(rng, depth=1, width=3, hidden="tanh")


@hypothesis(
    r"the network is a list of layers $W_L\circ r\circ\cdots\circ r\circ W_1$ with $r(t)=\max\{0,t\}$",
    remedy="give ReLU layers that end in an affine map",
)
def relu_layers(net: Network) -> Finding:
    why = plain_form(net.description)
    if net.description is None or why:
        return Finding.failed(f"this one has {why}")
    return Finding.proved(f"widths {'-'.join(map(str, net.description.widths))}", "read off the list")


@theorem(
    title="Number of affine pieces along a line",
    sources=("seed 1", "telgarsky2016", "gribonval2022"),
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
    errata=r"""Seed 1 calls the bounds sharp. Only the exponents are: widths $(2,2)$ allow $7=1+m_1+m_1m_2$ pieces,
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
    layers, d = told_layers(net.description), net.input_shape[0]
    ends = rng.normal(size=(2, d)) if net.data is None else np.asarray(net.data.x[[0, -1]], np.float64).reshape(2, d)
    x, v = (np.zeros(1), np.ones(1)) if d == 1 else (ends[0], ends[1] - ends[0])
    most, narrow = bounds(widths := layers.widths[1:-1])
    if plain_form(layers):
        seen = broken_triples(layers, x, v, 4096)
        return Evidence((AtMost("affine pieces", seen, most),), summary=f"at least {seen.lo:g} affine pieces")
    if sum(layer.weight.size for layer in layers.layers[1:]) > 2000:  # rationals would take too long
        cells = count_pieces(from_description(layers), Segment(x, x + v), max_cells=10**6)
        claim = AtMost("activation cells on a segment, no fewer than its affine pieces", cells, most)
        return Evidence((claim,), numbers={"cells": cells}, summary=f"{cells.lo:,.0f} cells on the segment")
    found, (attained, misprint, numbers) = along(exact(layers), x.tolist(), v.tolist()), examples(folds)
    pieces = known(found.pieces)
    special = AtMost("affine pieces, with at most two zeros for m₁ ≤ 2", pieces, narrow)
    return Evidence(
        claims=(AtMost("affine pieces, product bound", pieces, most), special, *attained),
        as_printed=(misprint,),
        charts=pictures(found, widths, rng, net.name),
        numbers={"pieces": pieces, "product bound": most, **numbers},
        summary=f"{found.pieces:,} affine pieces along the line; the product bound is {most.middle:.6g}",
    )
