"""Networks can be composed, added, stacked and padded, at a price known in advance."""

from typing import Annotated

import numpy as np

from ftheta.logic import Diagram, Evidence, Identity, Knob, Layer, theorem
from ftheta.networks import ACTIVATIONS, random_mlp
from ftheta.relu.algebra import bill, claims, operations, padded_gap
from ftheta.relu.counts import count
from ftheta.relu.describe import plain_form, told_layers
from ftheta.relu.exact import exact
from ftheta.relu.line.cpa1d import known
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function, relu_layers


def random_network(
    rng: np.random.Generator,
    *,
    inputs: Annotated[int, Knob(1, 64, "number of inputs", "d", log=True)] = 3,
    width: Annotated[int, Knob(1, 64, "neurons in each hidden layer", "w", log=True)] = 8,
    depth: Annotated[int, Knob(1, 6, "number of affine maps", "L")] = 3,
    outputs: Annotated[int, Knob(1, 10, "number of outputs", "m")] = 2,
    hidden: Annotated[str, Knob(says="activation of hidden layers", symbol="σ", choices=tuple(ACTIVATIONS))] = "relu",
) -> Network:
    layers = random_mlp(rng, (inputs, *[width] * (depth - 1), outputs), hidden, bias=0.5)
    return Network.described(layers, f"random {hidden} network {'-'.join(map(str, layers.widths))}")


def hyperbolic_tangents(rng: np.random.Generator) -> Network:
    return random_network(rng, hidden="tanh")


@theorem(
    title="Calculus of networks",
    sources=("seed 1", "seed 2", "petersen2018"),
    assumes=(relu_layers, describes_this_function),
    on=random_network,
    breaks_on=hyperbolic_tangents,
    presets={
        "textbook": {},
        "large": {"inputs": 64, "width": 48, "depth": 4, "outputs": 10, "extra": 8},
        "at the edge": {"inputs": 1, "width": 1, "depth": 1, "outputs": 1, "extra": 1},
        "broken on purpose": {"hidden": "tanh"},
    },
    errata=r"""Seed 2 lets two networks have the same number of layers without loss of generality and leaves that as an
    exercise: padding solves it, with $2m$ neurons a layer for $m$ outputs.""",
)
def network_calculus(
    net: Network,
    rng: np.random.Generator,
    *,
    extra: Annotated[int, Knob(1, 16, "layers added by padding", "k", most=32)] = 2,
) -> Evidence:
    r"""Let $f$ have $L$ affine maps, $N$ neurons, $W$ non-zero weights, $m$ outputs and $\omega$ non-zero weights in
    its last map. Padding by $k$ layers keeps $f$ and takes $L+k$, $N+2mk$, $W+\omega+2mk$. Composition merges two
    affine maps, $L_f+L_g-1$ and $N_f+N_g$; through $y=r(y)-r(-y)$ it takes $L_f+L_g$ and at most $2W_f+2W_g$ weights.
    Networks of one depth in parallel or on one input take $L$, $\sum N_i$, $\sum W_i$, added no more than that; $cf$
    and $f(A\,\cdot+b)$ take no more layers and neurons than $f$."""
    layers = told_layers(net.description)
    if why := plain_form(layers):
        again = padded_gap(layers, rng)
        claim = Identity(f"pad with {why}: sup |made − meant|", again.left, known(0), again)
        return Evidence((claim,), summary=f"padding moves f by {again.left.middle:.3g}")
    f = exact(layers)
    done = operations(f, extra)
    size, (table, bars) = count(f), bill(f, done)
    after = [Layer(f"step {i + 1}", n) for i, n in enumerate(done[0].made.widths[1:])]
    padded = count(done[0].made)
    return Evidence(
        claims=tuple(claims(done, rng.integers(-4, 5, (4, f.widths[0])).tolist())),
        charts=(bars, Diagram(f"f padded by {extra} layers", (Layer("input", f.widths[0]), *after))),
        numbers={
            "L": known(len(f.steps)),
            "N": known(size.neurons),
            "W": known(size.connections),
            "L after padding": known(len(done[0].made.steps)),
            "N after padding": known(padded.neurons),
            "W after padding": known(padded.connections),
        },
        tables=(table,),
        summary=f"seven operations on a network with L = {len(f.steps)}, N = {size.neurons}, W = {size.connections}",
    )
