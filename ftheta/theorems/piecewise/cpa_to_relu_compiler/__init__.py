"""Every piecewise-affine function is a ReLU network: from pieces to weights and back."""

from typing import Annotated

import numpy as np

from ftheta.logic import Evidence, Finding, FthetaError, Knob, hypothesis, theorem
from ftheta.networks import random_mlp
from ftheta.pieces.functions.composition import enclose_rational
from ftheta.pieces.normal_forms import Form, normal_form
from ftheta.relu.reading.form import relu_form
from ftheta.subjects import Dataset, Network, Target

from .compiler import Compiled, Source, fills_convex_set, make_mesh_function
from .mesh_function import MeshFunction

KINDS = ("square", "random points", "network", "U-shape")
Given = Target | Dataset | Network


def function(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which function", symbol="f", choices=KINDS)] = "square",
    cells: Annotated[int, Knob(1, 6, "cells along a side; neurons in each of two hidden layers", "n", most=12)] = 2,
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
    return given.f if isinstance(given.f, MeshFunction) else Form(relu_form(given.f, *given.example))


@hypothesis(
    "a continuous piecewise-affine function: values on a convex mesh, a ReLU network, a program of such parts",
    remedy="extend the mesh to a convex one; give one label a row; use abs, maximum, clip, ReLU in the program",
    name="a continuous piecewise-affine function",
)
def piecewise_affine(given: Given) -> Finding:
    try:
        found = read(given)
    except FthetaError as error:
        return Finding.failed(error.what)
    if isinstance(found, MeshFunction):
        return fills_convex_set(found)
    if found.refusal:
        return Finding.failed(found.refusal)
    return Finding.proved(found.meaning, "a normal form was made of its graph", basis=found.basis)


@theorem(
    title="Piecewise-affine functions are ReLU networks: a compiler",
    gist="Every continuous piecewise-affine function, given by values on a mesh or by another network, can be compiled "
    "into the weights of a ReLU network exactly, and read back.",
    see_also=("convex-cpa-and-dc", "cpa-depth-bound", "max-network", "fem-basis-relu"),
    same_for_all="the compiler is exact: between the given network and the one compiled from its pieces nothing is "
    "left, whatever network it is",
    sources=("murari-slides", "gribonval-slides", "arora2018"),
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
    padding.""",
)
def cpa_to_relu_compiler(
    given: Given,
    rng: np.random.Generator,
    *,
    output: Annotated[int, Knob(0, 9, "which output of a network", "j", most=10_000)] = 0,
    radius: Annotated[float, Knob(0.1, 10, "half-width of the window", "R", log=True, least=1e-3, most=1e3)] = 2.0,
    max_cells: Annotated[int, Knob(10, 2000, "cells at most", "N", log=True, least=1, most=5000)] = 1000,
) -> Evidence:
    r"""The continuous piecewise-affine functions $\mathbb R^d\to\mathbb R$ are the ReLU networks. Write $f=g-h$ with
    $g=\max_{k\le M}\ell_k$ and $h=\sum_Hw_Hr(\nu_H)$ convex; build $g$ by a tree of pairwise maxima with
    $\lceil\log_2M\rceil+1$ affine maps and $h$ by one hidden layer; pad the shallower one, run both in parallel and
    apply $[1,-1]$. The network is $f$ on a cell if it is at its vertices and along its directions to infinity."""
    source = Source.of(read(given), rng, output, radius, max_cells)
    made = source and Compiled.of(source.pieces, 4 * max_cells)
    if source is None or made is None:
        return Evidence((), summary=f"no pieces, or more than {max_cells:,}: take a smaller window")
    return Evidence(
        tuple(source.claims(made, max_cells)),
        source.charts(made),
        {name: enclose_rational(size) for name, size in made.sizes.items()},
        (source.table(made),),
        summary=made.summary,
    )
