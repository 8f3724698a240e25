"""One hidden layer cuts space by hyperplanes: how many regions there are."""

from dataclasses import replace
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.logic import AtMost, Enclosure, Evidence, Identity, Knob, theorem
from ftheta.pieces import Space, count_pieces, pieces
from ftheta.pieces.counting import arrangements as lines
from ftheta.pieces.counting.bounds import arrangement
from ftheta.pieces.counting.depth import neurons_as_told, shortly
from ftheta.pieces.normal_forms import normal_form, relu_network, told_form
from ftheta.pieces.pictures import picture
from ftheta.pieces.slices import slice_of
from ftheta.subjects import Network

POSITIONS = ("general", "central", "grid", "more than it tells")


def network(
    rng: np.random.Generator,
    *,
    hyperplanes: Annotated[int, Knob(1, 40, "neurons of the hidden layer", "n", log=True, most=128)] = 5,
    inputs: Annotated[int, Knob(1, 4, "number of inputs", "d", most=64)] = 2,
    position: Annotated[str, Knob(says="how the hyperplanes lie", symbol="A", choices=POSITIONS)] = "general",
) -> Network:
    told = Network.described(lines.drawn(hyperplanes, inputs, position, rng), f"{hyperplanes} hyperplanes, {position}")
    more = rng.normal(size=(hyperplanes + 3, inputs))
    apply = lambda params, x: told.apply(params, x) + jnp.abs(more @ x + more[:, 0]).sum()
    return replace(told, apply=apply) if position == "more than it tells" else told


def neurons_in_secret(rng: np.random.Generator) -> Network:
    return network(rng, position="more than it tells")


@theorem(
    title="Regions of one hidden layer",
    sources=("seed 1", "seed 3", "zaslavsky1975"),
    assumes=(relu_network, neurons_as_told),
    on=network,
    breaks_on=neurons_in_secret,
    presets={
        "textbook": {},
        "ten planes in space": {"hyperplanes": 10, "inputs": 3},
        "through one point": {"hyperplanes": 4, "inputs": 3, "position": "central"},
        "large": {"hyperplanes": 40, "radius": 2.0},
        "at the edge": {"hyperplanes": 8, "position": "grid"},
        "broken on purpose": {"position": "more than it tells"},
    },
)
def regions_shallow(
    net: Network,
    rng: np.random.Generator,
    *,
    radius: Annotated[float, Knob(0.1, 10, "half-width of the window", "R", log=True, least=1e-3, most=1e3)] = 4.0,
    max_cells: Annotated[int, Knob(100, 100_000, "cells at most", "N", log=True, least=1, most=300_000)] = 50_000,
    max_work: Annotated[
        int, Knob(10**6, 2 * 10**9, "elementary steps at most", "S", log=True, least=1000, most=6 * 10**9)
    ] = 400_000_000,
) -> Evidence:
    r"""The zero sets of the $n$ neurons of the first hidden layer are hyperplanes in $\mathbb R^d$; they cut it into
    $$\sum_i|\mu_i|=(-1)^d\chi(-1)\le\sum_{i=0}^d\binom ni$$
    regions, where $\chi(t)=\sum_i\mu_it^i$ is the characteristic polynomial of their intersections. In general
    position there is equality, and $\binom{n-1}d$ regions are bounded. Hyperplanes through one point, otherwise
    general, make $2\sum_{i<d}\binom{n-1}i$. Above $d=4$ the arrangement is cut by a plane, where $d=2$."""
    form = normal_form(net).network
    if form is None or not form.steps[0].rectified.any():
        return Evidence((), summary="the first layer has no ReLUs")
    layer, n = lines.first_layer(form), lines.first_layer(told_form(net) or form).widths[1]
    domain = slice_of(form.widths[0], None if net.data is None else net.data.x, rng, radius)
    cells = pieces(layer, domain, maps=False, max_cells=max_cells, max_work=max_work)
    whole = form.widths[0] <= lines.LARGEST
    d, chart = (form.widths[0], Space(form.widths[0]).chart) if whole else (domain.dimension, domain.chart)
    count = count_pieces(layer, Space(d), max_cells=max_cells, max_work=max_work) if whole else cells.count
    found, most = lines.lattice(layer, chart, d), Enclosure.exact(arrangement(n, d))
    claims: list[AtMost | Identity] = [
        AtMost(f"regions {'of space' if whole else 'in the window'}", count, most, 2.0 ** min(n, 1000))
    ]
    numbers = {"regions": count, "regions in general position": most, "regions in the window": cells.count}
    if found is not None:
        mu = Enclosure.exact(found.regions)
        claims += (
            [Identity("regions of space, and Σ|μ|", count, mu)] if whole else [AtMost("Σ|μ| of the plane", mu, most)]
        )
        claims += found.in_position(n)
        numbers |= {"Σ|μ|": mu, "bounded regions": Enclosure.exact(found.bounded)}
    return Evidence(
        tuple(claims),
        (
            picture(cells, f"regions of {net.name}", cells.activation.sum(axis=1), "active neurons"),
            *([] if found is None else [lines.growth(found.chis, d)]),
        ),
        numbers,
        summary=f"{'at least ' * (count.hi > count.lo)}{count.lo:,.0f} regions, {shortly(arrangement(n, d))} at most",
    )
