"""How deep a network must be for any piecewise-affine function: logarithmic in the dimension."""

from typing import Annotated

import numpy as np

from ftheta.logic import AtMost, Basis, Evidence, Identity, Knob, theorem
from ftheta.pieces.functions.broken_kinks import OnSlice
from ftheta.pieces.normal_forms import normal_form, relu_network
from ftheta.pieces.slices import slice_of
from ftheta.relu.counts import count
from ftheta.relu.line.cpa1d import known
from ftheta.relu.maxima import depth_bounds as bounds
from ftheta.relu.maxima.sums import depth_bound, recent_hidden_layers
from ftheta.subjects import Network


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which network", symbol="f", choices=bounds.KINDS)] = bounds.KINDS[0],
    inputs: Annotated[int, Knob(1, 28, "number of inputs", "d", log=True, most=64)] = 2,
    width: Annotated[int, Knob(1, 64, "neurons in each hidden layer", "w", log=True)] = 8,
    hidden_layers: Annotated[int, Knob(1, 5, "hidden layers of the random network", "H")] = 4,
) -> Network:
    return Network.described(bounds.example(kind, inputs, width, hidden_layers, rng), f"{kind}, d = {inputs}")


def smooth_network(rng: np.random.Generator) -> Network:
    return network(rng, kind="tanh")


@theorem(
    title="Depth that is enough for every piecewise-affine function",
    sources=("seed 1", "arora2018", "wang2005", "bakaev2025"),
    assumes=(relu_network,),
    on=network,
    breaks_on=smooth_network,
    presets={
        "textbook": {},
        "a random network, deeper than it need be": {"kind": "random", "inputs": 3, "width": 16},
        "twenty-eight dimensions": {"inputs": 28},
        "at the edge": {"kind": "random", "inputs": 1, "hidden_layers": 1, "forms": 2},
        "broken on purpose": {"kind": "tanh"},
    },
    errata=r"Seed 1 states $\lceil\log_2(d+1)\rceil+1$ layers: correct, since 2025 no longer the best for $d\ge4$.",
)
def cpa_depth_bound(
    net: Network,
    rng: np.random.Generator,
    *,
    forms: Annotated[int, Knob(2, 8, "affine forms of the maximum that is converted", "M")] = 6,
    radius: Annotated[float, Knob(0.1, 10, "half-width of the slice", "R", log=True, least=1e-3, most=1e3)] = 2.0,
) -> Evidence:
    r"""Every continuous piecewise-affine $f:\mathbb R^d\to\mathbb R$ is a ReLU network with
    $\lceil\log_2(d+1)\rceil$ hidden layers, because $f=\sum_js_j\max_{i\in S_j}\ell_i$ with $|S_j|\le d+1$; for $d\ge3$
    $\lceil\log_3(d-1)\rceil+1$ are enough. One is not enough for $\max\{0,x_1,x_2\}$, nor for any $f$ whose gradient
    jumps differently at two points of a hyperplane that are on no other kink."""
    form = normal_form(net)
    if form.network is None:
        return Evidence((), summary="no normal form, hence no layers to count")
    d, used = form.network.widths[0], count(form.network).activations
    domain = slice_of(d, None if net.data is None else net.data.x, rng, radius)
    here, most = OnSlice.of(form.network, domain, rng), min(used, bounds.enough(d))
    dimension, small = d if d <= 3 else 2, bounds.three_way_maximum()
    parts = bounds.converted(dimension, min(forms, 5) if dimension == 3 else forms, rng)
    inputs = rng.normal(size=(64, *net.input_shape))
    read = () if form.basis is Basis.EXACT else (bounds.reading(net, form.network, inputs),)
    return Evidence(
        claims=(
            *read,
            AtMost("hidden layers that f needs ≤ those that are enough", known(here.needs.layers), known(most)),
            Identity("hidden layers that max{0, x₁, x₂} needs, and the bound", known(small.layers), known(2)),
            *parts.claims(dimension),
            Identity("dimensions in which the recent bound is worse", known(bounds.worse_dimensions()), known(0)),
        ),
        charts=(bounds.growth(d, used), *here.charts(f"pieces of {net.name}")),
        numbers={
            "affine maps that are enough": known(depth_bound(d)),
            "hidden layers that are enough": known(depth_bound(d) - 1),
            "since 2025": known(recent_hidden_layers(d) if d >= 3 else depth_bound(d) - 1),
            "hidden layers used": known(used),
            "hidden layers needed at least": known(here.needs.layers),
        },
        tables=(bounds.bounds_table(d),),
        summary=f"{used} hidden layers used; at least {here.needs.layers} needed, {bounds.enough(d)} enough (d = {d})",
    )
