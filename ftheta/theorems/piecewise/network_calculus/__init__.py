"""Networks can be composed, added, stacked and padded, at a price known in advance."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Axis,
    Bars,
    Curves,
    Diagram,
    Enclosure,
    Evidence,
    Examples,
    Identity,
    Knob,
    Layer,
    Table,
    Witness,
    theorem,
)
from ftheta.networks import Dense, Description, random_mlp
from ftheta.networks.description import require_layers
from ftheta.relu.counts import count
from ftheta.relu.describe import plain_form
from ftheta.relu.exact import exact
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.network import ExactNetwork
from ftheta.relu.symmetry.folding import distance
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function, relu_layers
from ftheta.theorems.charts_line import draw_on_segment
from ftheta.theorems.knobs import HiddenActivation

from .operations import Operation, apply_operations


def random_network(
    rng: np.random.Generator,
    *,
    inputs: Annotated[int, Knob(1, 64, "number of inputs", "d", log=True)] = 3,
    width: Annotated[int, Knob(1, 64, "neurons in each hidden layer", "w", log=True)] = 8,
    depth: Annotated[int, Knob(1, 6, "number of affine maps", "L")] = 3,
    outputs: Annotated[int, Knob(1, 10, "number of outputs", "m")] = 2,
    hidden: HiddenActivation = "relu",
) -> Network:
    layers = random_mlp(rng, (inputs, *[width] * (depth - 1), outputs), hidden, bias=0.5)
    return Network.described(layers, f"random {hidden} network {'-'.join(map(str, layers.widths))}")


def hyperbolic_tangents(rng: np.random.Generator) -> Network:
    return random_network(rng, hidden="tanh")


@theorem(
    title="Calculus of networks",
    gist="Networks can be composed, added, run in parallel and padded to the same depth, and the number of layers, "
    "neurons and weights of the result is known in advance: the book-keeping behind constructive approximation proofs.",
    see_also=("max-network", "cpa-to-relu-compiler", "yarotsky-square", "depth-conventions"),
    same_for_all={
        "pad: affine maps L": "depends on the depth of the network: networks of equal depth share it",
        "merged composition: affine maps L": "depends on the depth of the network: networks of equal depth share it",
        "sparse composition: affine maps L": "depends on the depth of the network: networks of equal depth share it",
        "parallel: affine maps L": "depends on the depth of the network: networks of equal depth share it",
        "sum: affine maps L": "depends on the depth of the network: networks of equal depth share it",
        "multiple: affine maps L": "depends on the depth of the network: networks of equal depth share it",
        "change of input: affine maps L": "depends on the depth of the network: networks of equal depth share it",
    },
    sources=("gribonval-slides", "murari-slides", "petersen2018"),
    assumes=(relu_layers, describes_this_function),
    on=random_network,
    breaks_on=hyperbolic_tangents,
    presets={
        "textbook": {},
        "large": {"inputs": 64, "width": 48, "depth": 4, "outputs": 10, "extra": 8},
        "at the edge": {"inputs": 1, "width": 1, "depth": 1, "outputs": 1, "extra": 1},
        "broken on purpose": {"hidden": "tanh"},
    },
    errata=r"""Murari's slides lets two networks have the same number of layers without loss of generality and
    leaves that as an
    exercise: padding solves it, with $2m$ neurons per layer for $m$ outputs.""",
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
    layers = require_layers(net.description)
    why = plain_form(layers)
    if why:
        again, chart = _pad_with_own_activation(layers, rng)
        claim = Identity(
            f"pad with {why}: sup |made − meant|", again.left, enclose_rational(0), again
        )
        return Evidence((claim,), (chart,), summary=f"padding moves f by {again.left.middle:.3g}")
    f = exact(layers)
    done = apply_operations(f, extra)
    size = count(f)
    padded = done[0].made
    padded_size = count(padded)
    points = rng.integers(-4, 5, (4, f.widths[0])).tolist()
    return Evidence(
        claims=tuple(claim for operation in done for claim in _cost_claims(operation)),
        charts=(_chart_costs(f, done), _draw_padded(padded, extra)),
        numbers={
            "L": enclose_rational(len(f.steps)),
            "N": enclose_rational(size.neurons),
            "W": enclose_rational(size.connections),
            "L after padding": enclose_rational(len(padded.steps)),
            "N after padding": enclose_rational(padded_size.neurons),
            "W after padding": enclose_rational(padded_size.connections),
        },
        tables=(_tabulate_costs(f, done),),
        summary=f"seven operations on a network with L = {len(f.steps)}, N = {size.neurons}, W = {size.connections}",
        examples=partial(_examples, done, points),
    )


def _cost_claims(operation: Operation) -> tuple[Identity | AtMost, ...]:
    """Layers, neurons and weights of the network that was made, against the formulas."""
    name = operation.name
    size = count(operation.made)
    compare = AtMost if operation.is_bound else Identity
    return (
        Identity(
            f"{name}: affine maps L",
            enclose_rational(len(operation.made.steps)),
            enclose_rational(operation.layers),
        ),
        Identity(
            f"{name}: neurons N",
            enclose_rational(size.neurons),
            enclose_rational(operation.neurons),
        ),
        compare(
            f"{name}: weights W",
            enclose_rational(size.connections),
            enclose_rational(operation.weights),
        ),
    )


def _examples(done: Sequence[Operation], points: Sequence[Any]) -> Examples:
    """That every operation realises what it should, decided exactly: true by construction, whatever the network."""
    return Examples(
        claims=tuple(
            Identity(
                f"{op.name}: sup |made − meant|",
                distance(op.made, op.meant, points),
                enclose_rational(0),
            )
            for op in done
        )
    )


def _pad_with_own_activation(
    layers: Description, rng: np.random.Generator
) -> tuple[Witness, Curves]:
    r"""Padding by $\sigma(y)-\sigma(-y)$ with the network's own activation: an input where the output moves, and both
    outputs on the way there from 0."""
    x = rng.normal(size=(256, layers.widths[0]))
    last = layers.layers[-1]
    m = len(last.bias)
    word = layers.layers[0].activation if len(layers.layers) > 1 else last.activation
    twice = Dense(np.vstack([last.weight, -last.weight]), np.append(last.bias, -last.bias), word)
    back = Dense(np.hstack([np.eye(m), -np.eye(m)]), np.zeros(m), last.activation)
    padded = Description((*layers.layers[:-1], twice, back))
    gaps = np.abs(
        np.asarray(padded.apply(padded.params, x)) - np.asarray(layers.apply(layers.params, x))
    ).max(axis=1)
    k = int(np.argmax(gaps))

    def gap(made: Any, meant: Any, x: Any) -> Any:
        return jnp.max(jnp.abs(padded.apply(made, x) - layers.apply(meant, x)))

    left = enclose_number(gap, padded.params, layers.params, x[k])
    witness = Witness(
        {"x": tuple(x[k].tolist())},
        left,
        Enclosure.exact(0),
        "both networks in intervals rounded outward",
    )
    functions = {
        "f padded": partial(padded.apply, padded.params),
        "f": partial(layers.apply, layers.params),
    }
    title = f"f and f padded with {word}, from 0 to the witness"
    return witness, draw_on_segment(title, functions, np.zeros_like(x[k]), x[k])


# ---- charts ----------------------------------------------------------------------------------------------------------


def _measure_sizes(f: ExactNetwork, done: Sequence[Operation]) -> dict[str, tuple[int, int, int]]:
    """L, N and W of the network and of what every operation makes of it."""
    networks = {"f itself": f} | {operation.name: operation.made for operation in done}
    return {
        name: (len(g.steps), count(g).neurons, count(g).connections) for name, g in networks.items()
    }


def _tabulate_costs(f: ExactNetwork, done: Sequence[Operation]) -> Table:
    rows = tuple((name, *size) for name, size in _measure_sizes(f, done).items())
    return Table("counts", ("network", "L", "N", "W"), rows)


def _chart_costs(f: ExactNetwork, done: Sequence[Operation]) -> Bars:
    sizes = _measure_sizes(f, done)
    own = sizes["f itself"]
    shares = tuple(tuple(size[k] / max(own[k], 1) for size in sizes.values()) for k in range(3))
    groups = ("affine maps L", "neurons N", "weights W")
    return Bars(
        "cost of an operation, as a multiple of f",
        Axis("multiple of f"),
        tuple(sizes),
        groups,
        shares,
    )


def _draw_padded(padded: ExactNetwork, extra: int) -> Diagram:
    layers = [Layer(f"step {i + 1}", n) for i, n in enumerate(padded.widths[1:])]
    return Diagram(f"f padded by {extra} layers", (Layer("input", padded.widths[0]), *layers))
