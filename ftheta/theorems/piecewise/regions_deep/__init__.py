"""Depth multiplies linear regions: how many a deep network can have, and one that has many."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf
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
    Table,
    theorem,
)
from ftheta.networks import random_mlp
from ftheta.pieces import Box, pieces
from ftheta.pieces.bounds import (
    HiddenLayer,
    format_count,
    layers_of,
    montufar_lower,
    product_upper,
    serra_upper,
)
from ftheta.pieces.complex import Complex
from ftheta.pieces.normal_forms import listed_form, neurons_as_told, normal_form, relu_network
from ftheta.pieces.pictures import picture
from ftheta.pieces.slices import slice_of
from ftheta.relu.exact import from_description
from ftheta.subjects import Network
from ftheta.theorems.knobs import MostCells, MostWork, SliceRadius

from .constructions import folding_network, montufar_network
from .counting import count_layer_by_layer, count_linear_regions

MOST_BUILT = 20_000  # pieces of a construction that is built to be counted
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
        return Network.described(folding_network(inputs, width, hidden_layers), name)
    if kind == "Montúfar" and width >= inputs:
        return Network.described(montufar_network(inputs, widths), name)
    told = Network.described(random_mlp(rng, (inputs, *widths, 1), bias=0.5), name)
    apply = lambda params, x: told.apply(params, jnp.abs(jnp.abs(jnp.abs(16 * x - 8) - 4) - 2) - 1)
    return replace(told, apply=apply) if kind == "more than it tells" else told


def folds_in_secret(rng: np.random.Generator) -> Network:
    return network(rng, kind="more than it tells", width=3, hidden_layers=2)


@theorem(
    title="Linear regions of deep networks",
    gist="Depth multiplies the number of linear regions while width only adds to it: upper bounds from the widths, and "
    "folding networks that come close to them, explain what depth can buy and how far a given network is from it.",
    see_also=("regions-shallow", "pieces-1d", "relu-net-is-cpa", "depth-separation"),
    sources=("gribonval-slides", "scaman-slides", "montufar2014", "serra2018"),
    assumes=(relu_network, neurons_as_told),
    on=network,
    breaks_on=folds_in_secret,
    presets={
        "textbook": {},
        "folded five times": {"kind": "folding", "hidden_layers": 5},
        "large": {"width": 8, "hidden_layers": 3},
        "bottleneck of the bounds": {
            "kind": "random",
            "width": 3,
            "hidden_layers": 2,
            "radius": 5.0,
        },
        "at the edge": {"inputs": 1, "width": 1, "hidden_layers": 1},
        "broken on purpose": {"kind": "more than it tells"},
    },
)
def regions_deep(
    net: Network,
    rng: np.random.Generator,
    *,
    radius: SliceRadius = 0.5,
    folds: Annotated[int, Knob(1, 5, "foldings of the square", "k", most=7)] = 3,
    max_cells: MostCells = 50_000,
    max_work: MostWork = 400_000_000,
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
    d = domain.dimension
    layers = layers_of(listed_form(net) or form)
    lower = montufar_lower(d, [layer.neurons for layer in layers])
    upper = serra_upper(d, layers)
    neurons = sum(layer.neurons for layer in layers)
    all_patterns = 2.0**neurons if neurons < 1000 else inf
    serra = Enclosure.exact(upper)
    return Evidence(
        claims=(
            AtMost("pieces on the slice ≤ bound of Serra et al.", cells.count, serra, all_patterns),
        ),
        charts=(
            picture(cells, f"pieces of {net.name}", cells.activation.sum(axis=1), "active neurons"),
            _chart_layers(cells, layers),
        ),
        numbers={
            "pieces": cells.count,
            "lower bound": Enclosure.exact(lower),
            "Serra bound": serra,
            "product bound": Enclosure.exact(product_upper(d, layers)),
        },
        tables=(_tabulate_bounds(d, form.widths[0], layers),),
        summary=f"{'' if cells.certificate.complete else 'at least '}{len(cells):,} pieces on the slice, "
        f"{format_count(upper)} at most; some network of these widths has {format_count(lower)}",
        examples=partial(_examples, d, layers, folds, max_work),
    )


# ---- examples --------------------------------------------------------------------------------------------------------


def _examples(d: int, layers: Sequence[HiddenLayer], folds: int, max_work: int) -> Examples:
    """Both bounds compared for these widths, and the linear regions of constructions in the cube."""
    # whole numbers beyond float64
    share = Enclosure.exact(Fraction(serra_upper(d, layers), product_upper(d, layers)))
    cube = Box(np.zeros(d), np.ones(d))
    folding = pieces(from_description(folding_network(d, 2 * d, folds)), cube, max_work=max_work)
    claims: list[AtMost | Identity] = [
        AtMost("bound of Serra et al. ≤ product bound (their quotient)", share, Enclosure.exact(1)),
        Identity(
            f"linear regions of the cube folded {folds} times",
            count_linear_regions(folding),
            Enclosure.exact(2 ** (folds * d)),
        ),
    ]
    widths = [layer.neurons for layer in layers]
    lower = montufar_lower(d, widths)
    buildable = bool(widths) and min(widths) >= d and (widths[-1] > d or len(widths) == 1)
    if buildable and lower <= MOST_BUILT:
        built = pieces(from_description(montufar_network(d, widths)), cube, max_work=max_work)
        what = "linear regions of the network of Montúfar et al. with these widths"
        claims.append(Identity(what, count_linear_regions(built), Enclosure.exact(lower)))
    return Examples(claims=tuple(claims))


# ---- charts and tables -----------------------------------------------------------------------------------------------


def _tabulate_bounds(d: int, inputs: int, layers: Sequence[HiddenLayer]) -> Table:
    """The bounds on the slice and in all inputs; those beyond float64 as powers of ten."""
    rules = {
        "attained by some network": lambda k: montufar_lower(
            k, [layer.neurons for layer in layers]
        ),
        "Serra et al.": lambda k: serra_upper(k, layers),
        "product": lambda k: product_upper(k, layers),
    }
    rows = tuple(
        (name, format_count(rule(d)), format_count(rule(inputs))) for name, rule in rules.items()
    )
    return Table(
        "bounds", ("bound", f"on the slice (d = {d})", f"in all inputs (d = {inputs})"), rows
    )


def _chart_layers(cells: Complex, layers: Sequence[HiddenLayer]) -> Curves:
    """Pieces after every hidden layer, between the bounds."""
    d = cells.dimension
    depth = range(1, len(layers) + 1)
    parts = [layers[:k] for k in depth]
    series = [
        Series("pieces found", depth, count_layer_by_layer(cells), mark="points"),
        Series(
            "product bound", depth, [_as_float(product_upper(d, part)) for part in parts], "bound"
        ),
        Series(
            "Serra et al.", depth, [_as_float(serra_upper(d, part)) for part in parts], "reference"
        ),
    ]
    lower = [montufar_lower(d, [layer.neurons for layer in part]) for part in parts]
    if lower and min(lower) > 0:
        series.append(
            Series("attained by some network", depth, [_as_float(n) for n in lower], "other")
        )
    return Curves(
        "pieces, layer by layer", Axis("hidden layers"), Axis("pieces", "log"), tuple(series)
    )


def _as_float(n: int) -> float:
    return float(min(n, 10**300))
