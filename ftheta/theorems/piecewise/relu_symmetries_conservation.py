"""Rescaled and reordered neurons are the same function, and gradient flow remembers their balance."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.logic import Evidence, Knob, Table, theorem
from ftheta.networks import ACTIVATIONS, random_mlp
from ftheta.pieces import Space
from ftheta.pieces.questions.equality import equal
from ftheta.relu.describe import plain_form, told_layers
from ftheta.relu.exact import exact
from ftheta.relu.symmetry import conserved
from ftheta.relu.symmetry.copies import copy_claims, doubled, norms, outside_claim, small_laws
from ftheta.relu.symmetry.symmetries import moved
from ftheta.subjects import Network
from ftheta.subjects.layers import described, describes_this_function, relu_layers
from ftheta.training.descent import gradient_descent

ANSWERS = {True: "yes, proved", False: "no", None: "not decided"}


def random_network(
    rng: np.random.Generator,
    *,
    inputs: Annotated[int, Knob(1, 16, "number of inputs", "d", log=True, most=64)] = 3,
    width: Annotated[int, Knob(1, 64, "neurons in each hidden layer", "w", log=True)] = 8,
    hidden_layers: Annotated[int, Knob(1, 4, "number of hidden layers", "H")] = 1,
    hidden: Annotated[str, Knob(says="activation of hidden layers", symbol="σ", choices=tuple(ACTIVATIONS))] = "relu",
) -> Network:
    layers = random_mlp(rng, (inputs, *[width] * hidden_layers, 1), hidden, bias=0.5)
    return Network.described(layers, f"random {hidden} network {'-'.join(map(str, layers.widths))}")


def hyperbolic_tangents(rng: np.random.Generator) -> Network:
    return random_network(rng, hidden="tanh")


@theorem(
    title="Symmetries of ReLU networks, and what gradient flow conserves",
    sources=("seed 2", "seed 3", "du2018", "neyshabur2015"),
    of_parameters=True,
    assumes=(described, relu_layers, describes_this_function),
    on=random_network,
    breaks_on=hyperbolic_tangents,
    presets={
        "textbook": {},
        "large": {"inputs": 16, "width": 32, "hidden_layers": 3},
        "at the edge": {"inputs": 1, "width": 1, "tau": 1.0},
        "broken on purpose": {"hidden": "tanh"},
    },
)
def relu_symmetries_conservation(
    net: Network,
    rng: np.random.Generator,
    *,
    copies: Annotated[int, Knob(1, 32, "random symmetries tried", "n", log=True)] = 4,
    share: Annotated[float, Knob(0.01, 0.5, "largest step, in units of 1/λ", "τλ", log=True, least=1e-4)] = 0.1,
    tau: Annotated[float, Knob(0.01, 1, "step of the scalar network", "τ", log=True, least=1e-6, most=10)] = 0.1,
) -> Evidence:
    r"""Orders of hidden neurons and $(w_i,b_i,a_i)\mapsto(\lambda w_i,\lambda b_i,a_i/\lambda)$, $\lambda>0$, leave a
    ReLU network $f_\theta$ and its path norm $\sum_i|a_i|\|w_i\|$ unchanged; for tanh there are orders and signs:
    $h!\,2^h$ copies at width $h$. Under gradient flow $D_i=\|w_i\|^2+b_i^2-\|a_i\|^2$ is constant for every hidden
    neuron; for linear networks $W_{\ell+1}^\top W_{\ell+1}-W_\ell W_\ell^\top$ is. A step $\tau$ of descent moves $D_i$
    by $\tau^2(\|\partial_{w_i}F\|^2+|\partial_{b_i}F|^2-\|\partial_{a_i}F\|^2)$: $O(\tau^2)$ a step, $O(\tau)$ over a
    horizon. For $\frac12(aw-y)^2$, $r=aw-y$, it multiplies $a^2-w^2$ by $1-\tau^2r^2$."""
    layers = told_layers(net.description)
    if plain_form(layers):
        return Evidence((outside_claim(layers, rng),), summary="a rescaled copy is another function")
    f, data = exact(layers), net.data
    flow = conserved.Flow.of(layers, None if data is None else data.x, None if data is None else data.y, rng)
    drifts = conserved.Drifts.of(flow, gradient_descent, share, (16, 32, 64, 128))
    laws, numbers = small_laws(Fraction(tau), rng)
    others = {"a copy in another order and scale": moved(f, rng), "its first output weight doubled": doubled(f)}
    found = {name: equal(f, g, Space(f.widths[0])) for name, g in others.items()}
    tests = tuple((name, ANSWERS[same.equal], same.how) for name, same in found.items())
    sizes = norms(layers)
    return Evidence(
        claims=(*copy_claims(f, copies, rng), sizes.claim, *drifts.claims(), *laws),
        charts=(drifts.course(), drifts.orders()),
        numbers={**numbers, **sizes.numbers, "drift over the horizon": drifts.over_horizon[0]},
        tables=(Table("is it the same function?", ("network", "answer", "how"), tests),),
        summary=f"{copies} copies are the same function; {drifts.summary}",
    )
