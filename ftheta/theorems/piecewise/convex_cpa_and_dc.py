"""Convex piecewise-affine functions are maxima; all others are differences of two of them."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks import random_mlp
from ftheta.pieces.functions.composition import Window, known
from ftheta.pieces.functions.convex_form import from_data, from_network
from ftheta.pieces.normal_forms import normal_form
from ftheta.relu.elementary.hat import shallow
from ftheta.subjects import Dataset, Network

KINDS = ("random", "hat", "noisy bowl", "tanh")
ROWS, COLUMNS = 200, 3


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
    sources=("seed 2", "hannah2013", "kripfganz1987"),
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
    ridge: Annotated[str, Knob(says="what is added along a concave hyperplane", choices=("r(ν)", "|ν|"))] = "r(ν)",
    output: Annotated[int, Knob(0, 9, "which output of the network", "j", most=10_000)] = 0,
    radius: Annotated[float, Knob(0.1, 10, "half-width of the window", "R", log=True, least=1e-3, most=1e3)] = 2.0,
    at: Annotated[float, Knob(-2, 2, "all coordinates of the point where g and h are printed", "x", most=1e3)] = 0.5,
    max_cells: Annotated[int, Knob(10, 5000, "cells at most", "N", log=True, least=1, most=10_000)] = 2000,
) -> Evidence:
    r"""A continuous piecewise-affine $f$ on a convex set is convex if and only if its slope does not fall across any
    facet, and then it is the maximum of its affine pieces. Every such $f=g-h$ with $g,h$ convex: with the jumps
    $f_+-f_-=c\,\nu$ across facets in $\{\nu=0\}$ and $w_H=\max|c|$ over the facets in $H$ with $c<0$,
    $$h=\sum_Hw_H\,r(\nu_H)\quad\text{or}\quad\tfrac12\sum_Hw_H|\nu_H|,\qquad g=f+h=\max_k\ell_k.$$"""
    made, told = (from_data(given.x, given.y), ()) if isinstance(given, Dataset) else (None, ())
    form = normal_form(given) if isinstance(given, Network) else None
    if isinstance(given, Network) and form and form.network:
        view = Window.of(form.network, None if given.data is None else given.data.x, rng, radius)
        made = from_network(view, output, max_cells, ridge == "|ν|")
        if made and (form.refusal or form.basis is not Basis.EXACT):
            told = (view.agreement(given, made.pieces, given.input_shape, output),)
    if made is None:
        return Evidence((), summary=f"no pieces, or more than {max_cells:,}: take a smaller window")
    return Evidence(
        (*made.claims, *told),
        made.charts,
        {name: known(n) for name, n in (made.counts | made.at(Fraction(at))).items()},
        made.tables,
        summary=made.summary,
    )
