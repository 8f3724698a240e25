"""Convex piecewise-affine functions are maxima; all others are differences of two of them."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.logic import (
    Axis,
    Basis,
    Chart,
    Curves,
    Evidence,
    Finding,
    Heatmap,
    Identity,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.logic.chart import Role
from ftheta.networks import random_mlp
from ftheta.pieces.functions.composition import Window, enclose_rational, floats
from ftheta.pieces.functions.convexity import Difference
from ftheta.pieces.functions.partitions import Piece
from ftheta.pieces.functions.polyhedra import Polyhedron
from ftheta.pieces.normal_forms import normal_form
from ftheta.pieces.pictures import axes_of
from ftheta.relu.line.hat import shallow
from ftheta.subjects import Dataset, Network
from ftheta.theorems.claims_cells import agreement_claim
from ftheta.theorems.knobs import WindowRadius

from .convex_form import ConvexForm, from_data, from_network

KINDS = ("random", "hat", "noisy bowl", "tanh")
ROWS = 200
COLUMNS = 3
SHOWN = 200  # rows of a table
GRID = 61  # points along a side of a heat map


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which function", symbol="f", choices=KINDS)] = "random",
    width: Annotated[int, Knob(1, 8, "neurons in each of two hidden layers", "w", most=16)] = 4,
    points: Annotated[int, Knob(4, 120, "points of the bowl", "n", log=True, most=200)] = 40,
) -> Network | Dataset:
    if kind == "hat":
        return Network.described(shallow(), "hat")
    if kind == "noisy bowl":
        x = rng.integers(-32, 33, (points, 2)) / 32.0
        return Dataset("noisy bowl", x, (x**2).sum(axis=1) + rng.integers(-8, 9, points) / 64.0)
    layers = random_mlp(rng, (2, width, width, 1), {"tanh": "tanh"}.get(kind, "relu"), bias=0.5)
    return Network.described(layers, f"random network {'-'.join(map(str, layers.widths))}")


def smooth_network(rng: np.random.Generator) -> Network | Dataset:
    return network(rng, kind="tanh")


@hypothesis(
    "a continuous piecewise-affine function, or data for a convex one",
    remedy="use piecewise-affine activations; or give rows of at most three numbers, one label each",
    name="a continuous piecewise-affine function",
)
def piecewise_affine(given: Network | Dataset) -> Finding:
    if isinstance(given, Dataset):
        columns = int(np.prod(given.x.shape[1:]))
        good = given.y is not None and given.y.size == len(given) <= ROWS and columns <= COLUMNS
        labels = 0 if given.y is None else given.y.size
        note = f"{len(given)} rows of {columns}, {labels} labels; at most {ROWS} of {COLUMNS}, one label each"
        return Finding.decide(good, note, "counted", basis=Basis.EXACT)
    form = normal_form(given)
    if form.refusal:
        return Finding.failed(form.refusal)
    return Finding.proved(form.meaning, "a normal form was made of its graph", basis=form.basis)


@theorem(
    title="Convex functions are maxima of affine ones, all others differences",
    gist="A convex piecewise-affine function is a maximum of affine ones, and every other one is the difference of two "
    "convex ones: the form behind compilers to networks, convex regression and difference-of-convex optimisation.",
    see_also=(
        "cpa-to-relu-compiler",
        "max-network",
        "structure-preserving-networks",
        "relu-net-is-cpa",
    ),
    sources=("murari-slides", "hannah2013", "kripfganz1987"),
    assumes=(piecewise_affine,),
    on=network,
    breaks_on=smooth_network,
    presets={
        "textbook": {},
        "hat": {"kind": "hat"},
        "convex regression": {"kind": "noisy bowl"},
        "whole hyperplanes, both sides": {"ridge": "|ν|"},
        "large": {"width": 6},
        "broken on purpose": {"kind": "tanh"},
    },
)
def convex_cpa_and_dc(
    given: Network | Dataset,
    rng: np.random.Generator,
    *,
    ridge: Annotated[
        str, Knob(says="what is added along a concave hyperplane", choices=("r(ν)", "|ν|"))
    ] = "r(ν)",
    output: Annotated[int, Knob(0, 9, "which output of the network", "j", most=10_000)] = 0,
    radius: WindowRadius = 2.0,
    at: Annotated[
        float, Knob(-2, 2, "all coordinates of the point where g and h are printed", "x", most=1e3)
    ] = 0.5,
    max_cells: Annotated[
        int, Knob(10, 5000, "cells at most", "N", log=True, least=1, most=10_000)
    ] = 2000,
) -> Evidence:
    r"""A continuous piecewise-affine $f$ on a convex set is convex if and only if its slope does not fall across any
    facet, and then it is the maximum of its affine pieces. Every such $f=g-h$ with $g,h$ convex: with the jumps
    $f_+-f_-=c\,\nu$ across facets in $\{\nu=0\}$ and $w_H=\max|c|$ over the facets in $H$ with $c<0$,
    $$h=\sum_Hw_H\,r(\nu_H)\quad\text{or}\quad\tfrac12\sum_Hw_H|\nu_H|,\qquad g=f+h=\max_k\ell_k.$$"""
    form = None
    claims: tuple[Identity, ...] = ()
    if isinstance(given, Dataset):
        form = from_data(given.x, given.y)
    else:
        normal = normal_form(given)
        if normal.network:
            view = Window.of(
                normal.network, None if given.data is None else given.data.x, rng, radius
            )
            form = from_network(normal.network, view, output, max_cells, ridge == "|ν|")
            if form and (normal.refusal or normal.basis is not Basis.EXACT):
                claims = (agreement_claim(view, given, form.pieces, given.input_shape, output),)
    if form is None:
        return Evidence((), summary=f"no pieces, or more than {max_cells:,}: take a smaller window")
    return Evidence(
        (*_form_claims(form), *claims),
        _draw_form(form),
        {name: enclose_rational(n) for name, n in (form.counts | form.at(Fraction(at))).items()},
        _tabulate_form(form),
        summary=form.summary,
    )


def _form_claims(form: ConvexForm) -> tuple[Identity, ...]:
    """The slope of g never falls, g is the maximum of its pieces, and a fit to data is the nearest."""
    zero = enclose_rational(0)
    nearest: tuple[Identity, ...] = ()
    if form.excess is not None:
        jensen = f"distance to the data, {form.distance:.4g}, less the least that Jensen allows"
        nearest = (Identity(jensen, enclose_rational(form.excess), zero),)
    falls = sum(jump < 0 for jump in form.difference.jumps)
    what = f"facets of f, of {len(form.difference.facets):,}, across which the slope of g falls"
    claims = [Identity(what, enclose_rational(falls), zero)]
    if not form.refined:
        return (*claims, *nearest)
    gap = f"largest |max ℓ − h − f| at corners and directions to infinity of {len(form.refined):,} cells"
    claims.append(Identity(gap, enclose_rational(form.gap), zero))
    if not form.difference.ridges:
        pieces = len({p.rows[0] for p in form.pieces})
        claims.append(
            Identity(
                "f is convex: pieces in its maximum, and its pieces",
                enclose_rational(len(form.forms)),
                enclose_rational(pieces),
            )
        )
    return (*claims, *nearest)


# ---- charts and tables -----------------------------------------------------------------------------------------------


def _draw_form(form: ConvexForm) -> tuple[Chart, ...]:
    axes = (Axis("x₁"), Axis("x₂")) if form.domain is None else axes_of(form.domain)
    graphs = _draw_parts(form.refined, form.frame, axes) if form.refined else []
    jumps = [_chart_jumps(form.difference)] if form.difference.facets else []
    return (*graphs, *jumps)


def values_on(refined: Sequence[Piece], points: np.ndarray) -> np.ndarray:
    """The rows of the pieces in float64 at points `(n, d)`: each in the cell whose sides it violates least."""
    homogeneous = np.column_stack([points, np.ones(len(points))])
    best = np.full(len(points), -np.inf)
    found = np.zeros((len(points), len(refined[0].rows)))
    for piece in refined:
        sides = np.array([np.array(s, float) / max(map(abs, s)) for s in piece.cell.sides])
        depth = (homogeneous @ sides.T).min(axis=1) if len(sides) else np.zeros(len(points))
        rows = np.array([floats(row) for row in piece.rows])
        better = depth > best
        found[better], best[better] = homogeneous[better] @ rows.T, depth[better]
    return found


def _draw_parts(
    refined: Sequence[Piece], frame: Polyhedron, axes: tuple[Axis, Axis]
) -> list[Chart]:
    """$f$, $g$ and $h$ in a box: graphs on a line, heat maps in the plane, nothing in higher dimensions."""
    ends = np.array([[x / c[-1] for x in c[:-1]] for c in frame.corners])
    low = ends.min(axis=0)
    high = ends.max(axis=0)
    names = ("f", "g, convex", "h, convex")
    if len(low) == 1:
        kinks = {
            c[0] / c[1]
            for p in refined
            for c in p.cell.corners
            if c[1] and low[0] < c[0] / c[1] < high[0]
        }
        x = np.sort([*kinks, *np.linspace(low[0], high[0], 65)])
        roles: tuple[Role, ...] = ("measured", "reference", "other")
        columns = values_on(refined, x[:, None]).T
        series = tuple(Series(name, x, y, role) for name, y, role in zip(names, columns, roles))
        return [Curves("f = g − h", axes[0], Axis("value"), series)]
    if len(low) > 2:
        return []
    x, y = (np.linspace(a, b, GRID) for a, b in zip(low, high))
    table = values_on(refined, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(
        GRID, GRID, 3
    )
    extent = (float(low[0]), float(high[0]), float(low[1]), float(high[1]))
    return [Heatmap(name, *axes, table[:, :, k], extent, "value") for k, name in enumerate(names)]


def _chart_jumps(difference: Difference) -> Curves:
    r"""Jumps across all facets in ascending order, as slopes: of $f$, and of $g=f+h$."""
    size = [float(np.linalg.norm(np.array(facet.plane[:-1], float))) for facet in difference.facets]
    rank = range(1, len(size) + 1)
    one = sorted(floats([facet.jump])[0] * n for facet, n in zip(difference.facets, size))
    both = sorted(floats([jump])[0] * n for jump, n in zip(difference.jumps, size))
    series = (
        Series("g = f + h", rank, both, "bound", "points"),
        Series("f", rank, one, mark="points"),
        Series("no jump", rank, [0.0] * len(size), "reference"),
    )
    x = Axis("facet, in ascending order")
    y = Axis("jump, negative where concave")
    return Curves("how far the slope jumps across each facet", x, y, series)


def _tabulate_form(form: ConvexForm) -> tuple[Table, ...]:
    d = form.frame.dimension
    slopes = []
    names = tuple(f"x{i + 1}" for i in range(d))
    for w, plane in form.difference.ridges[:SHOWN]:
        slopes.append((floats([w])[0], *map(float, plane)))
    largest = tuple(tuple(floats(row)) for row in form.forms[:SHOWN])
    tables = (
        [Table("g: affine pieces of the maximum", (*names, "constant"), largest)] if largest else []
    )
    if slopes:
        tables.append(
            Table("h: weights and hyperplanes", ("weight", *names, "constant"), tuple(slopes))
        )
    return tuple(tables)
