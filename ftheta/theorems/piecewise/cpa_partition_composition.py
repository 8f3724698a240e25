"""Piecewise-affine after piecewise-affine: the cells of a composition, each counted once."""

from typing import Annotated

import numpy as np

from ftheta.logic import AtMost, Basis, Enclosure, Evidence, Examples, Identity, Knob, theorem
from ftheta.networks import Dense, Description, random_mlp
from ftheta.pieces import count_pieces
from ftheta.pieces.functions.composition import Composition, Listing, Window, enclose_rational
from ftheta.pieces.functions.partitions import Piece
from ftheta.pieces.functions.polyhedra import everywhere
from ftheta.pieces.normal_forms import normal_form, relu_network
from ftheta.pieces.pictures import axes_of
from ftheta.relu.line.hat import DEEP
from ftheta.relu.network import ExactNetwork
from ftheta.subjects import Network
from ftheta.theorems.charts_cells import draw_cells
from ftheta.theorems.claims_cells import agreement_claim
from ftheta.theorems.knobs import HiddenActivation, WindowRadius

_ONE = Dense(np.ones((1, 1)), np.zeros(1), "relu")
_LINES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
COMPOSED = {
    # the negative half-line is sent to 0, where both cells of the second ReLU end
    "r∘r": Description((_ONE, _ONE, Dense(np.ones((1, 1)), np.zeros(1)))),
    # min{|x|, 1}: the hat after itself
    "h∘h": Description((*DEEP.layers[:-1], *DEEP.layers)),
    # f = (r(x₁), r(x₂)) sends a quadrant to 0, where four cells of g meet, and two others to a common edge
    "four quadrants at a point": Description(
        (
            Dense(np.eye(2), np.zeros(2), "relu"),
            Dense(_LINES, -np.eye(3)[2], "relu"),
            Dense(np.ones((1, 3)), np.zeros(1)),
        )
    ),
}
"""Compositions whose cells are known in closed form."""


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str, Knob(says="which network", symbol="g∘f", choices=("random", *COMPOSED))
    ] = "random",
    inputs: Annotated[int, Knob(1, 64, "number of inputs", "d", log=True, most=1024)] = 2,
    width: Annotated[int, Knob(1, 32, "neurons in each hidden layer", "w", log=True, most=64)] = 8,
    hidden: HiddenActivation = "relu",
) -> Network:
    if kind in COMPOSED:
        return Network.described(COMPOSED[kind], kind)
    layers = random_mlp(rng, (inputs, width, width, 1), hidden, bias=0.5)
    return Network.described(layers, f"random {hidden} network {'-'.join(map(str, layers.widths))}")


def smooth_network(rng: np.random.Generator) -> Network:
    return network(rng, hidden="tanh")


@theorem(
    title="Compositions of piecewise-affine functions are piecewise affine",
    gist="Composing piecewise-affine functions gives a piecewise-affine function, and its cells can be listed so that "
    "each is counted once: the step that makes every deep ReLU network piecewise affine.",
    see_also=("relu-net-is-cpa", "regions-deep", "convex-cpa-and-dc"),
    same_for_all={
        "volume of all cells in the window": "the cells of every network fill the window, whose size is a knob",
        "pairs of cells whose interiors meet": "counts exceptions among the cells of the network, and there are none",
        "cells that are flat or empty": "counts exceptions among the cells of the network, and there are none",
        "cells in the window, and activation cells": "a count: two networks may have equally many",
    },
    sources=("murari-slides",),
    assumes=(relu_network,),
    on=network,
    breaks_on=smooth_network,
    presets={
        "textbook": {},
        "ReLU after ReLU": {"kind": "r∘r"},
        "hat after hat": {"kind": "h∘h", "after": 2},
        "a face with four cells around it": {"kind": "four quadrants at a point"},
        "large": {"width": 20, "radius": 3.0},
        "broken on purpose": {"hidden": "tanh"},
    },
    errata=r"""Murari's slides call the cells polytopes; they are polyhedra, for finitely many polytopes do not cover
    $\mathbb R^d$. Its exercise drops empty and flat cells and claims that a partition is left. It is not: if $f|_{P_j}$
    maps into a common face of $P'_k$ and $P'_l$, both have the same pre-image. With $f=g=r$ the cell $(-\infty,0]$ is
    listed twice. One owner for every face repairs it.""",
)
def cpa_partition_composition(
    net: Network,
    rng: np.random.Generator,
    *,
    after: Annotated[
        int, Knob(1, 6, "hidden layers that belong to f; the others to g", "k", most=100)
    ] = 1,
    radius: WindowRadius = 2.0,
    max_cells: Annotated[
        int, Knob(10, 5000, "cells at most", "N", log=True, least=1, most=20_000)
    ] = 2000,
) -> Evidence:
    r"""Let $f:\mathbb R^d\to\mathbb R^m$ and $g$ be continuous and affine on closed full-dimensional polyhedra $P_j$
    and $P'_k$ that cover and have disjoint interiors. Then $g\circ f$ is continuous and affine on the cells
    $$(f|_{P_j})^{-1}(P'_k)\cap P_j=\{x\in P_j:f|_{P_j}(x)\in P'_k\}.$$
    The full-dimensional ones cover $\mathbb R^d$. They are a partition if every part of $P_j$ that $f$ maps into a face
    of several $P'_k$ is given to one of them: the one that $f(x)+(\varepsilon,\varepsilon^2,\dots)$ enters."""
    form = normal_form(net)
    if form.network is None:
        return Evidence((), summary="no normal form, hence no cells")
    view = Window.of(form.network, None if net.data is None else net.data.x, rng, radius)
    k = min(after, len(view.net.steps) - 1)
    whole = made = None
    if not view.has_more_pieces(form.network, max_cells):
        whole = Composition.of(view.net, everywhere(view.frame.dimension), k, max_cells)
        made = whole or Composition.of(view.net, view.frame, k, max_cells)
    twice, once = count_relu_twice()
    misprint = Identity(
        "r∘r: full-dimensional cells listed, and those of a partition",
        enclose_rational(twice),
        enclose_rational(once),
    )
    if made is None:
        return Evidence(
            (),
            as_printed=(misprint,),
            summary=f"more than {max_cells:,} cells: take a smaller window",
        )
    cells = Listing(made.owned, view.frame)
    inner = Listing(made.inner, view.frame)
    pieces = count_pieces(form.network, view.domain, max_cells=20 * max_cells)
    if made.listed:
        listed = enclose_rational(len(made.listed))
        volume = Listing(made.listed, view.frame).volume
        printed = (
            misprint,
            Identity("volume of all listed cells, and of the window", volume, view.volume),
        )
    else:
        listed = Enclosure.between(len(cells.pieces), np.inf)
        printed = (misprint,)
    inner_count = enclose_rational(len(made.inner))
    owned_count = enclose_rational(len(made.owned))
    claims = [
        Identity("volume of all cells in the window, and of the window", cells.volume, view.volume),
        Identity(
            "pairs of cells whose interiors meet in the window", cells.overlaps, enclose_rational(0)
        ),
        Identity("cells that are flat or empty", cells.flat, enclose_rational(0)),
        Identity("cells in the window, and activation cells of the network", cells.count, pieces),
        AtMost("cells of f ≤ cells of g∘f", inner_count, owned_count),
    ]
    if form.refusal or form.basis is not Basis.EXACT:
        claims.append(agreement_claim(view, net, made.owned, net.input_shape))
    else:
        claims += _exact_agreement(view, made.owned)
    where = "" if whole else " in the window"
    axes = axes_of(view.domain)
    return Evidence(
        tuple(claims),
        (
            draw_cells(inner, f"cells of f, {net.name}", axes),
            draw_cells(cells, "cells of g∘f", axes),
        ),
        {
            "cells": owned_count,
            "cells listed": listed,
            "cells of f": inner_count,
            "unbounded cells": enclose_rational(cells.unbounded_count),
        },
        as_printed=printed,
        summary=f"{len(made.inner):,} cells of f, {len(made.owned):,} of g∘f{where}; a list has {listed.lo:,.0f}",
        examples=_examples,
    )


def _exact_agreement(view: Window, pieces: list[Piece]) -> list[Identity]:
    """The network equals the affine map of every piece, where that is affordable in rationals."""
    worst = view.largest_error(pieces)
    what = f"largest |g(f(x)) − (Ax + c)| at vertices and inner points of {len(pieces):,} cells"
    return [] if worst is None else [Identity(what, enclose_rational(worst), enclose_rational(0))]


def _examples() -> Examples:
    """ReLU after ReLU, the smallest composition whose list of pairs is no partition."""
    twice, once = count_relu_twice()
    return Examples(
        numbers={"listed for r∘r": enclose_rational(twice), "cells of r∘r": enclose_rational(once)}
    )


def count_relu_twice() -> tuple[int, int]:
    r"""Cells of $r\circ r$ as a list of pairs has them, and those of the partition."""
    r = ExactNetwork.dense([[[1]], [[1]], [[1]]], [[0], [0], [0]])
    made = Composition.of(r, everywhere(1), 1, 8)
    assert made is not None and made.listed is not None
    return len(made.listed), len(made.owned)
