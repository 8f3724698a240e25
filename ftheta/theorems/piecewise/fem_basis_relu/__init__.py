"""Finite elements are ReLU networks: one hidden layer on the line, two in the plane and in space."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ftheta.logic import (
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    FthetaError,
    Identity,
    Knob,
    Series,
    SubjectError,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.relu.counts import count
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.matrices import fraction
from ftheta.relu.maxima.sums import depth_bound
from ftheta.relu.meshes.simplex_cells import box_mesh
from ftheta.subjects import Dataset, Target

from .charts import draw_elements
from .elements import Elements
from .poisson import Poisson
from .uniform import Uniform, hexagon_gap

MOST = 400  # simplices
POINTS = 64  # where networks are compared if cells are too many,
EVALUATIONS = 200_000  # as far as so many neurons, in rationals, allow
SHAPES = ("uniform", "scattered")
VALUES = ("hat", "wave")


def mesh(
    rng: np.random.Generator,
    *,
    dimension: Annotated[int, Knob(1, 3, "dimension of the mesh", "d")] = 2,
    cells: Annotated[int, Knob(2, 12, "cubes along every axis", "n")] = 4,
    shape: Annotated[str, Knob(says="how the vertices lie", choices=SHAPES)] = "uniform",
    values: Annotated[str, Knob(says="values at the vertices", symbol="v", choices=VALUES)] = "hat",
    clash: Annotated[
        float, Knob(0, 1, "error of one value at one corner", "ε", least=-1e3, most=1e3)
    ] = 0.0,
) -> Dataset:
    x, y = place_simplices(
        dimension, min(cells, 3) if dimension == 3 else cells, shape, values, clash, rng
    )
    return Dataset(f"{values} on {len(x)} {shape} simplices", x, y)


def place_simplices(
    d: int, n: int, shape: str, values: str, clash: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Simplices by their corners and values there; `clash` is added to one corner of the last simplex."""
    points, simplices = box_mesh([-n / 2] * d, [n / 2] * d, n)
    x = np.array([[float(fraction(t)) for t in p] for p in points])
    if shape == "scattered":
        inside = (np.abs(x) < n / 2).all(axis=1)
        # less than half a cell: no simplex turns over
        x[inside] += rng.integers(-5, 6, (int(inside.sum()), d)) / 32
    hat = (x == x[np.argmin((x**2).sum(axis=1))]).all(axis=1).astype(float)
    wave = np.round(64 * np.prod(np.sin(2.5 * x / n + 0.5), axis=1)) / 64
    y = (hat if values == "hat" else wave)[np.array(simplices)]
    y[-1, -1] += clash
    return x[np.array(simplices)], y


def two_values_at_a_corner(rng: np.random.Generator) -> Dataset:
    return mesh(rng, clash=0.5)


def elements(given: Dataset | Target) -> Elements:
    if isinstance(given, Dataset):
        return Elements.of_arrays(given.x, given.y)
    f = given.of_point
    line = given.dimension == 1

    def value(x: list[float]) -> float:
        found = np.asarray(f(np.float64(x[0]) if line else np.array(x)))
        if found.size != 1:
            raise SubjectError("The function has more than one output.", got=f"{found.size} values")
        return float(found.reshape(()))

    return Elements.of_function(value, given.lo, given.hi)


@hypothesis(
    "simplices meet in common faces",
    remedy="split simplices at hanging vertices; drop flat ones; d = 1, 2, 3",
)
def conforming(given: Dataset | Target) -> Finding:
    try:
        m = elements(given).mesh
    except FthetaError as error:
        return Finding.failed(error.what)
    note = f"{len(m.simplices)} simplices, {len(m.points)} vertices, d = {m.dimension}"
    return Finding.decide(
        len(m.simplices) <= MOST and m.dimension <= 3, note, "faces compared", basis=Basis.EXACT
    )


@hypothesis(
    "one value for each vertex",
    remedy="give shared corners the same value: the interpolant is continuous",
)
def one_value_a_vertex(given: Dataset | Target) -> Finding:
    try:
        clashes = len(elements(given).clashes)
    except FthetaError as error:
        return Finding.failed(error.what)
    note = f"{clashes} corners with another value than the vertex has"
    return (
        Finding.failed(note, enclose_rational(clashes))
        if clashes
        else Finding.proved(note, "counted")
    )


@theorem(
    title="Finite elements are ReLU networks",
    gist="Piecewise-linear finite elements are small ReLU networks, one hidden layer on the line and two in the plane "
    "and in space, so that networks contain the approximation spaces of classical numerical analysis.",
    see_also=(
        "hat-function",
        "cpa-to-relu-compiler",
        "cpa-depth-bound",
        "one-hidden-layer-not-integrable",
    ),
    same_for_all={
        "sup |network − interpolant|": "the network of the given values equals their interpolant in rationals",
        "largest coefficient of Σ φᵢ − 1": "the nodal functions of the given mesh add up to one in rationals",
        "a nodal function of few affine maps": "the number of affine maps depends on the dimension of the mesh",
    },
    sources=("gribonval-slides", "he2020", "arora2018"),
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
    found = elements(given)
    on_the_line = found.dimension == 1
    own_mesh = isinstance(given, Dataset)  # of a function it is chosen here
    poisson = (
        Poisson.solve([fraction(x) for x, *_ in found.mesh.points])
        if on_the_line and own_mesh
        else None
    )
    size = count(found.network)
    numbers = {"neurons": enclose_rational(size.neurons)}
    claims: list[Claim] = [_interpolation_claim(found, rng)]
    if own_mesh:
        claims += _basis_claims(found)
    if poisson is not None:
        claims += _poisson_claims(poisson)
        numbers["Poisson: sup error"] = enclose_rational(poisson.largest_error)
    return Evidence(
        claims=tuple(claims),
        charts=tuple(draw_elements(found, given.name)),
        numbers=numbers,
        summary=f"{len(found.mesh.simplices)} simplices: {size.affine_layers} affine maps, {size.neurons} neurons",
        examples=partial(_examples, None if own_mesh else found, poisson, nodes),
    )


def _interpolation_claim(given: Elements, rng: np.random.Generator) -> Identity:
    """The compiled network against the interpolant: on all of the mesh, or at points where that is too much."""
    net = given.network
    what = f"sup |network − interpolant| on {len(given.mesh.simplices)} simplices"
    if given.clashes:
        x, v = given.clashes[0]
        gap = enclose_rational(abs(net(x)[0] - fraction(v)))
        again = Witness(
            {"x": tuple(float(fraction(t)) for t in x)},
            gap,
            enclose_rational(0),
            "neuron by neuron in rationals",
        )
        return Identity(what, gap, enclose_rational(0), again)
    found = given.gap(net, given.values)
    if found is None:
        points = min(POINTS, max(1, EVALUATIONS // count(net).neurons))
        off = float(given.gap_at(net, points, rng))
        return Identity(
            f"{what}, at points", Enclosure.measured(off, samples=points), enclose_rational(0)
        )
    return Identity(what, enclose_rational(found[0]), enclose_rational(0))


def _basis_claims(given: Elements) -> tuple[Identity | Exists, ...]:
    """Nodal networks are barycentric coordinates, and these add up to one; depth and neurons."""
    (gap, looked) = given.basis_gap()
    d = given.dimension
    size = count(given.hat)
    L = enclose_rational(size.affine_layers)
    near = f"sup |φ − barycentric coordinate| on the mesh, {looked} of {len(given.mesh.points)} vertices"
    claims: list[Identity | Exists] = [
        *([Identity(near, enclose_rational(gap), enclose_rational(0))] if looked else []),
        Identity(
            "largest coefficient of Σ φᵢ − 1 on a simplex",
            enclose_rational(given.unity_gap()),
            enclose_rational(0),
        ),
        Exists(
            "a nodal function of few affine maps",
            {"vertex": float(given.central)},
            L,
            enclose_rational(depth_bound(d)),
        ),
    ]
    if d == 1 and given.central not in given.mesh.boundary_vertices:
        claims.append(
            Identity(
                "neurons of a nodal function on the line",
                enclose_rational(size.neurons),
                enclose_rational(3),
            )
        )
    return tuple(claims)


def _poisson_claims(poisson: Poisson) -> tuple[Identity, Identity]:
    """Exact at the nodes; between them the error of interpolation, $h^2/8$ on the longest interval."""
    share = 8 * poisson.largest_error / poisson.widest**2
    return (
        Identity(
            f"Poisson: largest |u_h − u| at the {len(poisson.nodes)} nodes",
            enclose_rational(poisson.nodal_error),
            enclose_rational(0),
        ),
        Identity("Poisson: 8 sup |u_h − u| / h²", enclose_rational(share), enclose_rational(1)),
    )


# ---- examples --------------------------------------------------------------------------------------------------------


def _examples(
    mesh_chosen_here: Elements | None, on_the_subject: Poisson | None, nodes: int
) -> Examples:
    """The hat of the uniform mesh; the nodal functions of a mesh that was chosen here; Poisson's equation on an
    interval, unless the mesh handed in is one."""
    uniform = Uniform.build()
    numbers = uniform.numbers()
    claims: tuple[Claim, ...] = _uniform_claims(uniform)
    if mesh_chosen_here is not None:
        claims = (*_basis_claims(mesh_chosen_here), *claims)
    if on_the_subject is not None:
        return Examples(claims, (_chart_poisson(on_the_subject),), numbers=numbers)
    poisson = Poisson.solve([Fraction(k, nodes) for k in range(nodes + 1)])
    numbers |= {"Poisson: sup error": enclose_rational(poisson.largest_error)}
    return Examples(
        (*claims, *_poisson_claims(poisson)), (_chart_poisson(poisson),), numbers=numbers
    )


def _uniform_claims(uniform: Uniform) -> tuple[Identity, ...]:
    """No fewer affine maps do; the integral and the shape of the hat in the plane."""
    sizes = [count(net).affine_layers for net in uniform.nets]
    depths = [
        Identity(
            f"affine maps of the hat in dimension {d}, and those that it needs",
            enclose_rational(L),
            enclose_rational(uniform.count_needed_maps(d)),
        )
        for d, L in enumerate(sizes, 1)
    ]
    mass = Identity(
        "integral of the hat in the plane", enclose_rational(uniform.mass), enclose_rational(1)
    )
    hexagon = Identity(
        "max(|x|,|y|,|x−y|) − (max(x,y,0) − min(x,y,0)) on six rays",
        enclose_rational(hexagon_gap()),
        enclose_rational(0),
    )
    return (*depths, mass, hexagon)


def _chart_poisson(poisson: Poisson) -> Curves:
    a = poisson.nodes[0]
    b = poisson.nodes[-1]
    x = [a + (b - a) * k / 96 for k in range(97)]
    series = (
        Series(
            "closed form",
            [float(t) for t in x],
            [float(poisson.closed_form(t)) for t in x],
            "reference",
        ),
        Series(
            "u_h, sum of networks",
            [float(t) for t in poisson.nodes],
            [float(u) for u in poisson.found],
        ),
    )
    return Curves("−u″ = 1 with networks as elements", Axis("x"), Axis("u"), series)
