"""Every piecewise-affine function is a ReLU network: from pieces to weights and back."""

from typing import Annotated

import numpy as np

from ftheta.logic import (
    Basis,
    Chart,
    Claim,
    Evidence,
    Finding,
    FthetaError,
    Identity,
    Knob,
    Table,
    hypothesis,
    theorem,
)
from ftheta.networks import random_mlp
from ftheta.pieces.functions.composition import enclose_rational
from ftheta.pieces.normal_forms import Form, normal_form
from ftheta.relu.counts import count
from ftheta.relu.meshes.nodal import compile_cpa
from ftheta.relu.network import ExactNetwork
from ftheta.relu.reading.form import relu_form
from ftheta.subjects import Dataset, Network, Target
from ftheta.theorems.knobs import WindowRadius

from .charts import draw_pieces, draw_pipeline
from .compiler import Compiled
from .mesh_function import MeshFunction, make_mesh_function
from .sources import Source

ZERO = enclose_rational(0)
KINDS = ("square", "random points", "network", "U-shape")
Given = Target | Dataset | Network


def function(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which function", symbol="f", choices=KINDS)] = "square",
    cells: Annotated[
        int, Knob(1, 6, "cells along a side; neurons in each of two hidden layers", "n", most=12)
    ] = 2,
) -> Given:
    if kind == "network":
        layers = random_mlp(rng, (2, cells, cells, 1), bias=0.5)
        return Network.described(layers, f"random network {'-'.join(map(str, layers.widths))}")
    made = make_mesh_function(rng, kind, cells)
    return Target(f"values on a mesh, {kind}", made, *made.box)


def gap_between_arms(rng: np.random.Generator) -> Given:
    return function(rng, kind="U-shape", cells=2)


def read(given: Given) -> MeshFunction | Form:
    if isinstance(given, Network):
        return normal_form(given)
    if isinstance(given, Dataset):
        return MeshFunction.delaunay(given.x, np.zeros(0) if given.y is None else given.y)
    return (
        given.f if isinstance(given.f, MeshFunction) else Form(relu_form(given.f, *given.example))
    )


@hypothesis(
    "a continuous piecewise-affine function: values on a convex mesh, a ReLU network, a program of such parts",
    remedy="extend the mesh to a convex one; give one label per row; use abs, maximum, clip, ReLU in the program",
    name="a continuous piecewise-affine function",
)
def piecewise_affine(given: Given) -> Finding:
    try:
        found = read(given)
    except FthetaError as error:
        return Finding.failed(error.what)
    if isinstance(found, MeshFunction):
        return _fills_convex_set(found)
    if found.refusal:
        return Finding.failed(found.refusal)
    return Finding.proved(found.meaning, "a normal form was made of its graph", basis=found.basis)


def _fills_convex_set(function: MeshFunction) -> Finding:
    """A mesh with a gap or a dent may hold functions that no maximum goes on from."""
    good = function.mesh.is_convex
    note = f"{len(function.mesh.simplices):,} simplices that {'fill' if good else 'do not fill'} a convex set"
    return Finding.decide(
        good, note, "its boundary is compared with its hull in rationals", basis=Basis.EXACT
    )


@theorem(
    title="Piecewise-affine functions are ReLU networks: a compiler",
    gist="Every continuous piecewise-affine function, given by values on a mesh or by another network, can be compiled "
    "into the weights of a ReLU network exactly, and read back.",
    see_also=("convex-cpa-and-dc", "cpa-depth-bound", "max-network", "fem-basis-relu"),
    same_for_all={
        "round trip: largest |given network − f|": "the network compiled from the pieces of the given one equals it "
        "in rationals"
    },
    sources=("murari-slides", "gribonval-slides", "arora2018", "devore2021", "petersen2024"),
    assumes=(piecewise_affine,),
    on=function,
    breaks_on=gap_between_arms,
    audited=False,
    presets={
        "textbook": {},
        "network and back": {"kind": "network", "cells": 4},
        "random points": {"kind": "random points", "cells": 2},
        "large": {"cells": 6},
        "broken on purpose": {"kind": "U-shape"},
    },
    errata=r"""Murari's slides lets $g$ and $h$ have the same number of layers without loss of generality: that is
    padding. They print $f=[1\;{-1}]^\top[g;h]$: a column cannot follow two outputs, the row $[1\;{-1}]$ can.""",
)
def cpa_to_relu_compiler(
    given: Given,
    rng: np.random.Generator,
    *,
    output: Annotated[int, Knob(0, 9, "which output of a network", "j", most=10_000)] = 0,
    radius: WindowRadius = 2.0,
    max_cells: Annotated[
        int, Knob(10, 2000, "cells at most", "N", log=True, least=1, most=5000)
    ] = 1000,
) -> Evidence:
    r"""The continuous piecewise-affine functions $\mathbb R^d\to\mathbb R$ are the ReLU networks. Write $f=g-h$ with
    $g=\max_{k\le M}\ell_k$ and $h=\sum_Hw_Hr(\nu_H)$ convex; build $g$ by a tree of pairwise maxima with
    $\lceil\log_2M\rceil+1$ affine maps and $h$ by one hidden layer; pad the shallower one, run both in parallel and
    apply $[1,-1]$. The network is $f$ on a cell if it is at its vertices and along its directions to infinity."""
    source = Source.of(read(given), rng, output, radius, max_cells)
    made = source and Compiled.of(source.pieces, 4 * max_cells)
    if source is None or made is None:
        return Evidence((), summary=f"no pieces, or more than {max_cells:,}: take a smaller window")
    n = made.sizes
    return Evidence(
        claims=(
            _claim_equal_on_cells(made),
            _claim_depth(made),
            *_claim_round_trip(source, made, max_cells),
        ),
        charts=_draw(source, made),
        numbers={name: enclose_rational(size) for name, size in n.items()},
        tables=(_tabulate_counts(source, made),),
        as_printed=(_claim_column_of_signs(),),
        summary=f"{n['pieces']:,} pieces, g a maximum of M = {n['M']}: L = {n['L']}, N = {n['N']:,}, W = {n['W']:,}",
    )


def _claim_equal_on_cells(made: Compiled) -> Claim:
    """The network is f at the vertices of all cells and along their directions to infinity, hence on them."""
    rays = sum(not corner[-1] for corner in made.generators)
    where = f"{len(made.generators) - rays:,} vertices" + (
        f" and {rays:,} directions" if rays else ""
    )
    what = f"largest |network − f| at all {where} of the cells"
    return Identity(what, enclose_rational(made.gap(made.network)), ZERO)


def _claim_depth(made: Compiled) -> Claim:
    """Its depth is that of the tree of maxima, or of the one hidden layer that is subtracted."""
    what = "affine maps L, and ⌈log₂ M⌉ + 1 (with an h, at least two)"
    return Identity(what, enclose_rational(len(made.network.steps)), enclose_rational(made.depth))


def _claim_column_of_signs() -> Claim:
    """The last map as a column, as Murari's slides print it: it would follow one output, not g and h."""
    column = np.array([[1], [-1]])
    pair = ("g", "h")
    what = "columns of [1 −1]ᵀ = outputs before it"
    return Identity(what, enclose_rational(column.shape[1]), enclose_rational(len(pair)))


def _claim_round_trip(source: Source, made: Compiled, max_cells: int) -> tuple[Claim, ...]:
    """A network that was given is the one that was written; a mesh is read once more from the network, if that is
    small enough."""
    if source.net is not None:
        what = "round trip: largest |given network − f| at these points"
        return (Identity(what, enclose_rational(made.gap(source.net)), ZERO),)
    back = made.again(max_cells)
    if back is None:
        return ()
    gap = max(back.gap(made.network), back.gap(back.network))
    what = f"round trip: network → {len(back.difference.pieces):,} pieces → network, largest gap everywhere"
    return (Identity(what, enclose_rational(gap), ZERO),)


def _draw(source: Source, made: Compiled) -> tuple[Chart, ...]:
    """The pieces, where they can be drawn, and what is made of what."""
    if source.frame.dimension > 2:
        return (draw_pipeline(made),)
    return (draw_pieces(source, made), draw_pipeline(made))


def _tabulate_counts(source: Source, made: Compiled) -> Table:
    """Sizes of the compiled network beside a second construction, for a mesh, or beside the network that was given."""
    nets: dict[str, ExactNetwork] = {"maximum less ridges": made.network}
    if source.mesh is not None and source.mesh.mesh.dimension <= 2:
        mesh = source.mesh.mesh
        nets["sums of maxima of three"] = compile_cpa(
            mesh.points, mesh.simplices, source.mesh.values
        )
    if source.net is not None:
        nets["as given"] = source.net
    rows = [
        (name, len(net.steps), count(net).neurons, count(net).connections)
        for name, net in nets.items()
    ]
    return Table("counts", ("network", "L", "N", "W"), tuple(rows))
