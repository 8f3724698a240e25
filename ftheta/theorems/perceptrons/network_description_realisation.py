"""A list of layers describes a network; the function it computes is its realisation."""

from itertools import pairwise
from typing import Annotated

import numpy as np

from ftheta.logic import AtMost, Enclosure, Evidence, Identity, Knob, theorem
from ftheta.networks import ACTIVATIONS, count, random_mlp
from ftheta.networks import realisation as real
from ftheta.subjects import Network
from ftheta.subjects.layers import described, describes_this_function

SIZES = ("3-5-2", "784-512-256-10", "1-1", "2-1-1-1-1-2")
PARTS = ("nothing", "biases", "activations")


def dense(
    rng: np.random.Generator,
    *,
    sizes: Annotated[str, Knob(says="sizes of the layers", symbol="d", choices=SIZES)] = "3-5-2",
    activation: Annotated[str, Knob(says="the activation", symbol="ϱ", choices=tuple(ACTIVATIONS))] = "relu",
    pruned: Annotated[float, Knob(0, 1, "share of the weights that are set to zero", "s")] = 0.0,
    forgets: Annotated[str, Knob(says="what the description leaves out", choices=PARTS)] = "nothing",
) -> Network:
    theta = real.pruned(random_mlp(rng, [int(d) for d in sizes.split("-")], activation, bias=0.5), pruned, rng)
    told = real.forgetting(theta, forgets)
    return Network(f"dense {sizes}, {activation}", theta.apply, theta.params, theta.widths[:1], told)


def biases_left_out(rng: np.random.Generator) -> Network:
    return dense(rng, forgets="biases")


@theorem(
    title="A network's description and its realisation",
    sources=("seed 0", "seed 1", "seed 2", "seed 3", "seed 4"),
    of_parameters=True,
    assumes=(described, describes_this_function),
    on=dense,
    breaks_on=biases_left_out,
    presets={
        "textbook": {},
        "half a million parameters": {"sizes": "784-512-256-10"},
        "at the edge": {"sizes": "1-1", "pruned": 1.0},
        "broken on purpose": {"forgets": "activations", "activation": "tanh"},
    },
    errata=r"""Seed 2 types the output matrix of a shallow network $\mathbb R^d\to\mathbb R^c$ as $d\times h$, must be
    $c\times h$; it swaps $(c,d)$ between slides and numbers the $L+1$ affine maps around $L$ activations $1,\dots,L$,
    must be $0,\dots,L$. Seed 3 dates the multi-layer perceptron “75”; it is of 1986.""",
)
def network_description_realisation(
    net: Network,
    rng: np.random.Generator,
    *,
    points: Annotated[int, Knob(1, 1000, "inputs at which it is evaluated", "m", log=True, most=10_000)] = 64,
) -> Evidence:
    r"""The description $\theta=(W_\ell,b_\ell)_{\ell\le L}$, $W_\ell\in\mathbb R^{d_\ell\times d_{\ell-1}}$, realises
    $$f_\theta=A_L\circ\varrho\circ A_{L-1}\circ\dots\circ\varrho\circ A_1,\qquad A_\ell(x)=W_\ell x+b_\ell,$$
    through $2L-1$ maps. It has $\sum_{\ell<L}d_\ell$ neurons, at most $\sum_\ell d_{\ell-1}d_\ell$ connections and
    $\sum_\ell(d_{\ell-1}+1)d_\ell$ parameters. $\theta\mapsto f_\theta$ is not injective: neurons may change places."""
    theta, exact = real.layers_of(net.description), Enclosure.exact
    d, counts, x = theta.widths, count(theta), rng.normal(size=(points, theta.widths[0]))
    passed, seen, other = real.states(theta, x), real.compared(net, theta, x), real.permuted(theta, rng)
    swapped, full = real.compared(net, other, x), sum(m * n for m, n in pairwise(d))
    claims = [
        Identity("parameters: stored, and Σ (d₋ + 1) d", exact(net.parameters), exact(full + sum(d[1:]))),
        AtMost("connections ≤ Σ d₋ d", exact(counts.connections), exact(full)),
        Identity(f"f_θ(x) and its last map, {points} inputs", seen.left, seen.right, seen.again, atol=seen.tolerance),
        Identity("f_θ(x), neurons reordered", swapped.left, swapped.right, swapped.again, atol=swapped.tolerance),
    ]
    if counts.parameters <= real.STORED:
        lost = exact(real.lost_in_a_file(theta))
        claims.append(Identity("numbers changed by writing to a file and reading back", lost, exact(0)))
    sizes = {"parameters": counts.parameters, "connections": counts.connections, "neurons": counts.neurons}
    sizes |= {"maps": len(passed), "parameters moved by the permutation": real.differing(theta, other)}
    return Evidence(
        claims=tuple(claims),
        as_printed=real.misprints(theta),
        charts=(real.diagram(theta, net.name), real.sizes(passed)),
        tables=(real.layer_table(theta),),
        numbers={name: exact(value) for name, value in sizes.items()},
        summary=", ".join(f"{value:,} {name}" for name, value in sizes.items()),
    )
