"""One hidden layer cuts space by hyperplanes: how many regions there are."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import comb
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Identity,
    Knob,
    Series,
    theorem,
)
from ftheta.networks.description import Dense, Description
from ftheta.pieces import Space, count_pieces, pieces
from ftheta.pieces.bounds import arrangement, format_count
from ftheta.pieces.normal_forms import listed_form, neurons_as_told, normal_form, relu_network
from ftheta.pieces.pictures import picture
from ftheta.pieces.slices import slice_of
from ftheta.subjects import Network
from ftheta.theorems.knobs import MostCells, MostWork, WindowRadius

from .arrangements import (
    LARGEST,
    MOST_STEPS,
    Lattice,
    central,
    count_bounded,
    count_regions,
    find_lattice,
    first_layer,
    in_central_position,
    in_general_position,
)

POSITIONS = ("general", "central", "grid", "more than it tells")


def network(
    rng: np.random.Generator,
    *,
    hyperplanes: Annotated[
        int, Knob(1, 40, "neurons of the hidden layer", "n", log=True, most=128)
    ] = 5,
    inputs: Annotated[int, Knob(1, 4, "number of inputs", "d", most=64)] = 2,
    position: Annotated[
        str, Knob(says="how the hyperplanes lie", symbol="A", choices=POSITIONS)
    ] = "general",
) -> Network:
    layers = place_hyperplanes(hyperplanes, inputs, position, rng)
    listed = Network.described(layers, f"{hyperplanes} hyperplanes, {position}")
    more = rng.normal(size=(hyperplanes + 3, inputs))
    if position != "more than it tells":
        return listed
    return replace(
        listed,
        apply=lambda params, x: listed.apply(params, x) + jnp.abs(more @ x + more[:, 0]).sum(),
    )


def place_hyperplanes(n: int, d: int, position: str, rng: np.random.Generator) -> Description:
    """`n` hyperplanes: in the plane with evenly spread directions, else Gaussian; or through 0; or along the axes."""
    turn = np.pi * (np.arange(n) + rng.uniform(0, 0.5, n)) / n
    normals = np.column_stack([np.cos(turn), np.sin(turn)]) if d == 2 else rng.normal(size=(n, d))
    offsets = rng.uniform(-1, 1, n)
    if position == "central":
        offsets = np.zeros(n)
    if position == "grid":
        normals = np.eye(d)[np.arange(n) % d]
        offsets = np.arange(n) // d - 0.5 * ((n - 1) // d)
    return Description(
        (Dense(normals, offsets, "relu"), Dense(rng.normal(size=(1, n)), np.zeros(1)))
    )


def neurons_in_secret(rng: np.random.Generator) -> Network:
    return network(rng, position="more than it tells")


@theorem(
    title="Regions of one hidden layer",
    gist="The neurons of the first hidden layer cut the input space by hyperplanes, and how many regions they make is "
    "known exactly: polynomially many in the width, so that one layer cannot have the exponentially many of depth.",
    see_also=("regions-deep", "relu-net-is-cpa", "vc-uniform-convergence", "pieces-1d"),
    sources=("gribonval-slides", "scaman-slides", "zaslavsky1975"),
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
    radius: WindowRadius = 4.0,
    max_cells: MostCells = 50_000,
    max_work: MostWork = 400_000_000,
) -> Evidence:
    r"""The zero sets of the $n$ neurons of the first hidden layer are hyperplanes in $\mathbb R^d$; they cut it into
    $$\sum_i|\mu_i|=(-1)^d\chi(-1)\le\sum_{i=0}^d\binom ni$$
    regions, where $\chi(t)=\sum_i\mu_it^i$ is the characteristic polynomial of their intersections. In general
    position there is equality, and $\binom{n-1}d$ regions are bounded. Hyperplanes through one point, otherwise
    general, make $2\sum_{i<d}\binom{n-1}i$. Above $d=4$ the arrangement is cut by a plane, where $d=2$."""
    form = normal_form(net).network
    if form is None or not form.steps[0].rectified.any():
        return Evidence((), summary="the first layer has no ReLUs")
    layer = first_layer(form)
    n = first_layer(listed_form(net) or form).widths[1]
    domain = slice_of(form.widths[0], None if net.data is None else net.data.x, rng, radius)
    cells = pieces(layer, domain, maps=False, max_cells=max_cells, max_work=max_work)
    whole = form.widths[0] <= LARGEST
    d, chart = (
        (form.widths[0], Space(form.widths[0]).chart) if whole else (domain.dimension, domain.chart)
    )
    count = (
        count_pieces(layer, Space(d), max_cells=max_cells, max_work=max_work)
        if whole
        else cells.count
    )
    found = find_lattice(layer, chart, d)
    most = Enclosure.exact(arrangement(n, d))
    claims: list[AtMost | Identity] = [
        AtMost(
            f"regions {'of space' if whole else 'in the window'}", count, most, 2.0 ** min(n, 1000)
        )
    ]
    numbers = {
        "regions": count,
        "regions in general position": most,
        "regions in the window": cells.count,
    }
    if found is not None:
        mu = Enclosure.exact(found.regions)
        claims += (
            [Identity("regions of space, and Σ|μ|", count, mu)]
            if whole
            else [AtMost("Σ|μ| of the plane", mu, most)]
        )
        numbers |= {"Σ|μ|": mu, "bounded regions": Enclosure.exact(found.bounded_regions)}
    return Evidence(
        tuple(claims),
        (
            picture(
                cells, f"regions of {net.name}", cells.activation.sum(axis=1), "active neurons"
            ),
            *([] if found is None else [_chart_growth(found.chis, d)]),
        ),
        numbers,
        summary=f"{'at least ' * (count.hi > count.lo)}{count.lo:,.0f} regions, "
        f"{format_count(arrangement(n, d))} at most",
        examples=None if found is None else partial(_examples, found, n),
    )


def _examples(found: Lattice, n: int) -> Examples:
    """The formulas for `n` hyperplanes in general position, or in general position through one point, where these
    hyperplanes are found to be so."""
    if len(found.rows) != n or comb(n, found.d + 1) > MOST_STEPS:
        return Examples(())
    all_regions = Enclosure.exact(found.regions)
    closed = Enclosure.exact(found.bounded_regions)
    if in_general_position(found.rows, found.d):
        formula = Enclosure.exact(arrangement(n, found.d))
        inside = Enclosure.exact(comb(n - 1, found.d))
        return Examples(
            (
                Identity("in general position: Σ|μ|, and the formula", all_regions, formula),
                Identity("in general position: bounded regions, and the formula", closed, inside),
            )
        )
    if in_central_position(found.rows, found.d):
        formula = Enclosure.exact(central(n, found.d))
        return Examples(
            (Identity("through one point: Σ|μ|, and the formula", all_regions, formula),)
        )
    return Examples(())


def _chart_growth(chis: Sequence[Sequence[int]], d: int) -> Curves:
    """Regions of the first hyperplanes, beside those of general position."""
    n = range(len(chis))
    most = [arrangement(k, d) for k in n]
    series = (
        Series("these hyperplanes", n, [count_regions(chi) for chi in chis], mark="points"),
        Series(f"general position, d = {d}", n, most, "bound"),
        Series(
            "bounded ones among them", n, [count_bounded(chi) for chi in chis], "other", "points"
        ),
        Series(
            "all bounded, general position", n, [comb(k - 1, d) if k else 0 for k in n], "reference"
        ),
    )
    return Curves(
        "regions, one hyperplane after the other", Axis("hyperplanes"), Axis("regions"), series
    )
