"""Depth multiplies linear regions: how many a deep network can have, and one that has many."""

from dataclasses import replace
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.logic import Enclosure, Evidence, Knob, theorem
from ftheta.networks import random_mlp
from ftheta.pieces import pieces
from ftheta.pieces.counting import bounds as bound
from ftheta.pieces.counting.depth import attained, bounded, bounds_table, ladder, neurons_as_told, shortly
from ftheta.pieces.normal_forms import normal_form, relu_network, told_form
from ftheta.pieces.pictures import picture
from ftheta.pieces.slices import slice_of
from ftheta.subjects import Network

KINDS = ("Montúfar", "folding", "random", "more than it tells")


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which network", symbol="f", choices=KINDS)] = "Montúfar",
    inputs: Annotated[int, Knob(1, 4, "number of inputs", "n₀", most=64)] = 2,
    width: Annotated[int, Knob(1, 32, "neurons in each hidden layer", "n", log=True, most=64)] = 4,
    hidden_layers: Annotated[int, Knob(1, 6, "number of hidden layers", "H", most=10)] = 3,
) -> Network:
    widths = [width] * hidden_layers
    name = f"{kind} ({inputs}; {', '.join(map(str, widths))})"
    if kind == "folding" and width >= inputs:
        return Network.described(bound.folding_network(inputs, width, hidden_layers), name)
    if kind == "Montúfar" and width >= inputs:
        return Network.described(bound.montufar_network(inputs, widths), name)
    told = Network.described(random_mlp(rng, (inputs, *widths, 1), bias=0.5), name)
    apply = lambda params, x: told.apply(params, jnp.abs(jnp.abs(jnp.abs(16 * x - 8) - 4) - 2) - 1)
    return replace(told, apply=apply) if kind == "more than it tells" else told


def folds_in_secret(rng: np.random.Generator) -> Network:
    return network(rng, kind="more than it tells", width=3, hidden_layers=2)


@theorem(
    title="Linear regions of deep networks",
    sources=("seed 1", "seed 3", "montufar2014", "serra2018"),
    assumes=(relu_network, neurons_as_told),
    on=network,
    breaks_on=folds_in_secret,
    presets={
        "textbook": {},
        "folded five times": {"kind": "folding", "hidden_layers": 5},
        "large": {"width": 8, "hidden_layers": 3},
        "bottleneck of the bounds": {"kind": "random", "width": 3, "hidden_layers": 2, "radius": 5.0},
        "at the edge": {"inputs": 1, "width": 1, "hidden_layers": 1},
        "broken on purpose": {"kind": "more than it tells"},
    },
)
def regions_deep(
    net: Network,
    rng: np.random.Generator,
    *,
    radius: Annotated[float, Knob(0.1, 10, "half-width of the slice", "R", log=True, least=1e-3, most=1e3)] = 0.5,
    folds: Annotated[int, Knob(1, 5, "foldings of the square", "k", most=7)] = 3,
    max_cells: Annotated[int, Knob(100, 100_000, "cells at most", "N", log=True, least=1, most=300_000)] = 50_000,
    max_work: Annotated[
        int, Knob(10**6, 2 * 10**9, "elementary steps at most", "S", log=True, least=1000, most=6 * 10**9)
    ] = 400_000_000,
) -> Evidence:
    r"""A ReLU network with $n_0$ inputs and hidden widths $n_1,\dots,n_H$ has at most
    $$\sum_{(j_\ell)}\prod_{\ell=1}^H\binom{n_\ell}{j_\ell}\le\prod_{\ell=1}^H\sum_{j\le d_\ell}\binom{n_\ell}j,\qquad
    j_\ell\le\min(n_0,n_1-j_1,\dots,n_{\ell-1}-j_{\ell-1},n_\ell),\quad d_\ell=\min(n_0,\dots,n_{\ell-1})$$
    linear regions. If all $n_\ell\ge n_0$, some network has $\prod_{\ell<H}\lfloor n_\ell/n_0\rfloor^{n_0}\cdot
    \sum_{j\le n_0}\binom{n_H}j$ of them. On a plane through the inputs, as counted here, the bounds hold with $n_0=2$;
    pieces are the cells of constant activation, of which a linear region has one or more."""
    form = normal_form(net).network
    if form is None:
        return Evidence((), summary="no normal form, hence no cells")
    domain = slice_of(form.widths[0], None if net.data is None else net.data.x, rng, radius, 0.5)
    cells = pieces(form, domain, maps=False, max_cells=max_cells, max_work=max_work)
    if not len(cells):
        return Evidence((), summary="the budget ran out before the first cell was found")
    d, layers = domain.dimension, bound.layers_of(told_form(net) or form)
    claims, made = bounded(cells.count, d, layers), attained(d, layers, folds, max_work)
    lower, upper = bound.montufar_lower(d, [layer.neurons for layer in layers]), bound.serra_upper(d, layers)
    numbers = {"pieces": cells.count, "lower bound": Enclosure.exact(lower), "Serra bound": claims[0].right}
    numbers |= {"product bound": Enclosure.exact(bound.product_upper(d, layers))} | {
        f"regions, {name}": claim.left for name, claim in made.items()
    }
    return Evidence(
        (*claims, *made.values()),
        (
            picture(cells, f"pieces of {net.name}", cells.activation.sum(axis=1), "active neurons"),
            ladder(cells, layers),
        ),
        numbers,
        (bounds_table(d, form.widths[0], layers),),
        summary=f"{'' if cells.certificate.complete else 'at least '}{len(cells):,} pieces on the slice, "
        f"{shortly(upper)} at most; some network of these widths has {shortly(lower)}",
    )
