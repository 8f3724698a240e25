"""A list of layers describes a network; the function it computes is its realisation."""

from functools import partial
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Bars,
    Enclosure,
    Evidence,
    Examples,
    Identity,
    Knob,
    Table,
    theorem,
)
from ftheta.networks import ACTIVATIONS, Dense, Description, count, random_mlp
from ftheta.networks import realisation as real
from ftheta.networks.activations import LEAK
from ftheta.networks.description import require_layers
from ftheta.networks.spec.read import read
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function, has_layers
from ftheta.theorems.charts_networks import draw_layers

SIZES = ("3-5-2", "784-512-256-10", "1-1", "2-1-1-1-1-2")
PARTS = ("nothing", "biases", "activations")


def dense(
    rng: np.random.Generator,
    *,
    sizes: Annotated[str, Knob(says="sizes of the layers", symbol="d", choices=SIZES)] = "3-5-2",
    activation: Annotated[
        str, Knob(says="the activation", symbol="ϱ", choices=tuple(ACTIVATIONS))
    ] = "relu",
    pruned: Annotated[float, Knob(0, 1, "share of the weights that are set to zero", "s")] = 0.0,
    forgets: Annotated[
        str, Knob(says="what the description leaves out", choices=PARTS)
    ] = "nothing",
) -> Network:
    theta = real.prune_weights(
        random_mlp(rng, [int(d) for d in sizes.split("-")], activation, bias=0.5), pruned, rng
    )
    told = real.forget(theta, forgets)
    return Network(
        f"dense {sizes}, {activation}", theta.apply, theta.params, theta.widths[:1], told
    )


def biases_left_out(rng: np.random.Generator) -> Network:
    return dense(rng, forgets="biases")


@theorem(
    title="A network's description and its realisation",
    sources=("peyre-slides", "gribonval-slides", "murari-slides", "scaman-slides", "peyre-notes"),
    gist="A network is two things, a list of weights and the function that it computes; counting layers, neurons and "
    "parameters belongs to the first, and many lists describe the same function.",
    see_also=("depth-conventions", "network-calculus", "landscape-equivalent-minima"),
    of_parameters=True,
    assumes=(has_layers, describes_this_function),
    on=dense,
    breaks_on=biases_left_out,
    presets={
        "textbook": {},
        "half a million parameters": {"sizes": "784-512-256-10"},
        "at the edge": {"sizes": "1-1", "pruned": 1.0},
        "broken on purpose": {"forgets": "activations", "activation": "tanh"},
    },
    errata=r"""Murari's slides type the output matrix of a shallow network $\mathbb R^d\to\mathbb R^c$ as
    $d\times h$, must be $c\times h$; they swap $(c,d)$ between slides and number the $L+1$ affine maps around $L$
    activations $1,\dots,L$, must be $0,\dots,L$. Scaman's slides date the multi-layer perceptron “75”; it is
    of 1986.""",
)
def network_description_realisation(
    net: Network,
    rng: np.random.Generator,
    *,
    points: Annotated[
        int, Knob(1, 1000, "inputs at which it is evaluated", "m", log=True, most=10_000)
    ] = 64,
) -> Evidence:
    r"""The description $\theta=(W_\ell,b_\ell)_{\ell\le L}$, $W_\ell\in\mathbb R^{d_\ell\times d_{\ell-1}}$, realises
    $$f_\theta=A_L\circ\varrho\circ A_{L-1}\circ\dots\circ\varrho\circ A_1,\qquad A_\ell(x)=W_\ell x+b_\ell,$$
    through $2L-1$ maps. It has $\sum_{\ell<L}d_\ell$ neurons, at most $\sum_\ell d_{\ell-1}d_\ell$ connections and
    $\sum_\ell(d_{\ell-1}+1)d_\ell$ parameters. $\theta\mapsto f_\theta$ is not injective: neurons may change places."""
    theta = require_layers(net.description)
    counts = count(theta)
    x = rng.normal(size=(points, theta.widths[0]))
    passed = real.states(theta, x)
    seen = real.compare_outputs(net, theta, x)
    other = real.permute_neurons(theta, rng)
    swapped = real.compare_outputs(net, other, x)
    widths = theta.widths
    full = sum(m * n for m, n in pairwise(widths))
    sizes = {
        "parameters": counts.parameters,
        "connections": counts.connections,
        "neurons": counts.neurons,
        "maps": len(passed),
        "parameters moved by the permutation": real.count_differing(theta, other),
    }
    return Evidence(
        claims=(
            Identity(
                "parameters: stored, and Σ (d₋ + 1) d",
                Enclosure.exact(net.parameters),
                Enclosure.exact(full + sum(widths[1:])),
            ),
            AtMost(
                "connections ≤ Σ d₋ d", Enclosure.exact(counts.connections), Enclosure.exact(full)
            ),
            _claim_same_output(f"f_θ(x) and its last map, {points} inputs", seen),
            _claim_same_output("f_θ(x), neurons reordered", swapped),
        ),
        as_printed=_misprints(theta),
        charts=(draw_layers(theta, net.name), _draw_sizes(passed)),
        tables=(_tabulate_layers(theta),),
        numbers={name: Enclosure.exact(value) for name, value in sizes.items()},
        summary=", ".join(f"{value:,} {name}" for name, value in sizes.items()),
        examples=partial(_examples, theta),
    )


def _claim_same_output(what: str, seen: real.Comparison) -> Identity:
    return Identity(what, seen.left, seen.right, seen.again, atol=seen.tolerance)


def _misprints(description: Description) -> tuple[Identity, ...]:
    """The shape of the last matrix of a shallow network and the number of affine maps, as a source prints them."""
    d = description.widths
    depth = len(description.layers)
    exact = Enclosure.exact
    maps = Identity(
        "L activations between affine maps numbered 1, …, L", exact(depth - 1), exact(depth)
    )
    if depth != 2:
        return (maps,)
    weights = exact(d[1] * (d[0] + d[2]))
    return (
        maps,
        Identity("weights of a shallow network with A₁ ∈ ℝ^(d×h)", exact(2 * d[0] * d[1]), weights),
    )


def _draw_sizes(passed: list[tuple[str, np.ndarray]]) -> Bars:
    """The root mean square of every intermediate output."""
    shown = passed if len(passed) <= 40 else passed[:20] + passed[-20:]
    values = [float(np.sqrt(np.mean(np.square(state)))) for _, state in shown]
    kept = [v if isfinite(v) else 0.0 for v in values]
    return Bars(
        "size of the intermediate outputs",
        Axis("root mean square"),
        tuple(n for n, _ in shown),
        ("g",),
        [kept],
    )


def _tabulate_layers(description: Description) -> Table:
    rows = tuple(
        (
            i,
            layer.weight.shape[1],
            len(layer.bias),
            int(np.count_nonzero(layer.weight)),
            len(layer.bias),
            layer.activation,
        )
        for i, layer in enumerate(description.layers, 1)
    )
    return Table("layers", ("ℓ", "inputs", "outputs", "connections", "biases", "activation"), rows)


def _examples(theta: Description) -> Examples:
    """The description written to a file and read back; a network whose activation changes from neuron to neuron."""
    claims = [_claim_one_activation()]
    if count(theta).parameters <= real.STORED:
        lost = Enclosure.exact(real.lost_in_a_file(theta))
        name = "numbers changed by writing to a file and reading back"
        claims.append(Identity(name, lost, Enclosure.exact(0)))
    return Examples(tuple(claims))


def _claim_one_activation() -> Identity:
    """$z=\\max(z,0)-\\max(-z,0)$, and with another factor so is the leaky ReLU: a network of neurons of these three
    kinds is one of ReLUs alone, of which it has more."""
    rng = np.random.default_rng(0)
    hidden, head = random_mlp(rng, (3, 6, 2), bias=0.5).layers
    words = ["relu", "identity", "leaky-relu"] * 2
    arrays = {"W0": hidden.weight, "b0": hidden.bias, "W1": head.weight, "b1": head.bias}
    mixed = Network.of_import(read(arrays, Path("mixed.npz"), activation=[words]), "mixed")
    slopes = {"relu": 0.0, "identity": 1.0, "leaky-relu": float(LEAK)}
    below = np.array([slopes[word] for word in words])
    of_relus = Description(
        (
            Dense(
                np.vstack([hidden.weight, -hidden.weight]),
                np.concatenate([hidden.bias, -hidden.bias]),
                "relu",
            ),
            Dense(np.hstack([head.weight, -head.weight * below]), head.bias),
        )
    )
    seen = real.compare_outputs(mixed, of_relus, rng.normal(size=(64, 3)))
    return _claim_same_output(
        "a network of ReLU, leaky and linear neurons, and of ReLUs alone", seen
    )
