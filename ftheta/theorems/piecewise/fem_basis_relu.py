"""Finite elements are ReLU networks: one hidden layer on the line, two in the plane and in space."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.logic import Basis, Evidence, Finding, FthetaError, Knob, hypothesis, theorem
from ftheta.relu.counts import count
from ftheta.relu.line.cpa1d import known
from ftheta.relu.matrices import fraction, rational
from ftheta.relu.meshes import element_evidence as about
from ftheta.relu.meshes.elements import Elements
from ftheta.relu.meshes.poisson import Poisson
from ftheta.subjects import Dataset, Target

MOST = 400


def mesh(
    rng: np.random.Generator,
    *,
    dimension: Annotated[int, Knob(1, 3, "dimension of the mesh", "d")] = 2,
    cells: Annotated[int, Knob(2, 12, "cubes along every axis", "n")] = 4,
    shape: Annotated[str, Knob(says="how the vertices lie", choices=about.SHAPES)] = "uniform",
    values: Annotated[str, Knob(says="values at the vertices", symbol="v", choices=about.VALUES)] = "hat",
    clash: Annotated[float, Knob(0, 1, "error of one value at one corner", "ε", least=-1e3, most=1e3)] = 0.0,
) -> Dataset:
    x, y = about.example(dimension, min(cells, 3) if dimension == 3 else cells, shape, values, clash, rng)
    return Dataset(f"{values} on {len(x)} {shape} simplices", x, y)


def two_values_at_a_corner(rng: np.random.Generator) -> Dataset:
    return mesh(rng, clash=0.5)


def elements(given: Dataset | Target) -> Elements:
    if isinstance(given, Dataset):
        return Elements.of_arrays(given.x, given.y)
    apart = bool(given.arguments) or given.dimension == 1
    f = lambda x: float(np.asarray(given.f(*x) if apart else given.f(np.array(x))))
    return Elements.of_function(f, given.lo, given.hi)


@hypothesis("simplices meet in common faces", remedy="split simplices at hanging vertices; drop flat ones; d = 1, 2, 3")
def conforming(given: Dataset | Target) -> Finding:
    try:
        m = elements(given).mesh
    except FthetaError as error:
        return Finding.failed(error.what)
    note = f"{len(m.simplices)} simplices, {len(m.points)} vertices, d = {m.dimension}"
    return Finding.decide(len(m.simplices) <= MOST and m.dimension <= 3, note, "faces compared", basis=Basis.EXACT)


@hypothesis("one value for each vertex", remedy="give shared corners the same value: the interpolant is continuous")
def one_value_a_vertex(given: Dataset | Target) -> Finding:
    try:
        clashes = len(elements(given).clashes)
    except FthetaError as error:
        return Finding.failed(error.what)
    note = f"{clashes} corners with another value than the vertex has"
    return Finding.failed(note, known(clashes)) if clashes else Finding.proved(note, "counted")


@theorem(
    title="Finite elements are ReLU networks",
    sources=("seed 1", "he2020", "arora2018"),
    assumes=(conforming, one_value_a_vertex),
    on=mesh,
    breaks_on=two_values_at_a_corner,
    presets={
        "textbook": {},
        "scattered": {"shape": "scattered", "values": "wave", "cells": 5},
        "on the line": {"dimension": 1, "cells": 8, "values": "wave"},
        "in space": {"dimension": 3, "cells": 2},
        "at the edge": {"dimension": 1, "cells": 2, "nodes": 2},
        "broken on purpose": {"clash": 0.5},
    },
)
def fem_basis_relu(
    given: Dataset | Target,
    rng: np.random.Generator,
    *,
    nodes: Annotated[int, Knob(2, 64, "intervals for Poisson's equation", "m", log=True)] = 8,
) -> Evidence:
    r"""Let $\phi_i$ be the functions that are affine on every simplex of a mesh, 1 at vertex $i$ and 0 at the others.
    They are ReLU networks: on the line with $L=2$ affine maps and 3 neurons, for $d=2,3$ with $L=3$, and fewer maps do
    not do; $\sum_i\phi_i=1$, and $\sum_iv_i\phi_i$ is the interpolant. On a convex star $\phi=\max(0,\min_k\ell_k)$;
    on the uniform mesh of the plane $\phi=\max(0,1-\max(|x|,|y|,|x-y|))$ with integral 1, where
    $\max(|x|,|y|,|x-y|)=\max(x,y,0)-\min(x,y,0)$. With them, $-u''=1$ on an interval is solved exactly at the nodes."""
    found, uniform = elements(given), about.Uniform.built()
    line = found.mesh.points if found.dimension == 1 else [(rational(Fraction(k, nodes)),) for k in range(nodes + 1)]
    poisson, size = Poisson.solved([fraction(x) for x, *_ in line]), count(found.network)
    return Evidence(
        claims=(about.interpolates(found, rng), *about.is_a_basis(found), *uniform.claims(), *poisson.claims()),
        charts=(*about.pictures(found, given.name), poisson.chart()),
        numbers=uniform.numbers()
        | {"neurons": known(size.neurons), "Poisson: sup error": known(poisson.largest_error)},
        summary=f"{len(found.mesh.simplices)} simplices: {size.affine_layers} affine maps, {size.neurons} neurons",
    )
