"""A gradient is no larger than the product of the slopes on its way: it vanishes where they are small."""

from dataclasses import replace
from fractions import Fraction
from typing import Annotated

import numpy as np
from flint import arb

from ftheta.logic import Enclosure, Evidence, Knob, theorem
from ftheta.networks import ACTIVATIONS, random_mlp
from ftheta.networks.description import Dense, Description
from ftheta.spectra.diagnosis import diagnosed, families, linear_chain
from ftheta.subjects import Dataset, Network
from ftheta.subjects.layers import described, describes_this_function


def deep(
    rng: np.random.Generator,
    *,
    activation: Annotated[str, Knob(says="activation of the hidden layers", choices=tuple(ACTIVATIONS))] = "sigmoid",
    depth: Annotated[int, Knob(1, 30, "number of affine maps", "L", most=60)] = 10,
    width: Annotated[int, Knob(1, 64, "neurons of each hidden layer", "n", log=True, most=256)] = 16,
    gain: Annotated[float, Knob(0.1, 4, "variance of a weight times the inputs", "ns²", log=True, most=100)] = 1.0,
    shift: Annotated[float, Knob(-10, 10, "added to every bias: pushes units to one end", "β")] = 0.0,
) -> Network:
    random = random_mlp(rng, (width, *[width] * (depth - 1), 1), activation, gain=gain)
    layers = [Dense(y.weight, y.bias + shift, y.activation) for y in random.layers[:-1]]
    net = Description((*layers, random.layers[-1]))
    data = Dataset("random rows", rng.normal(size=(64, width)), rng.normal(size=(64, 1)))
    return Network.described(net, f"{activation} network of depth {depth}").with_data(data)


def told_smaller(rng: np.random.Generator) -> Network:
    net = deep(rng, activation="relu", gain=2.0)
    layers = () if net.description is None else net.description.layers
    small = Description(tuple(Dense(y.weight / 8, y.bias, y.activation) for y in layers))
    return replace(net, name="network told with an eighth of its weights", description=small)


@theorem(
    title="Vanishing gradients: the product of the Jacobians",
    sources=("seed 0", "seed 1", "seed 2", "hochreiter1998", "glorot2010"),
    of_parameters=True,
    assumes=(described, describes_this_function),
    on=deep,
    breaks_on=told_smaller,
    presets={
        "textbook": {},
        "tanh": {"activation": "tanh"},
        "relu, He": {"activation": "relu", "gain": 2.0},
        "exploding": {"activation": "relu", "gain": 8.0},
        "saturated": {"activation": "tanh", "gain": 25.0},
        "dead units": {"activation": "relu", "gain": 2.0, "shift": -1.5},
    },
    unbreakable="no knob makes the list of layers wrong; the negative control is told with smaller weights",
)
def gradient_product_bound(net: Network, rng: np.random.Generator) -> Evidence:
    r"""Let $x^{j+1}=F_j(x^j)=\sigma_j(W_jx^j+b_j)$, $j=1,\dots,L$, and $\theta_j=(W_j,b_j)$. Then
    $$\|\nabla_{\theta_j}\mathcal L\|\le\|J_{\theta_j}F_j\|\prod_{\ell=j+1}^L\|J_xF_\ell\|\;
    \|\nabla_{x^{L+1}}\mathcal L\|,$$
    where for a mean over data the right side is the mean over its rows. If every $\|J_xF_\ell\|\le\rho<1$, the gradient
    of layer $j$ is $O(\rho^{L-j})$: the logistic function has slope at most $\frac14$, hence $(\frac14\|W\|)^{L-j}$. A
    ReLU unit inactive on all data is dead: its gradient is zero. A leaky ReLU unit never is."""
    if net.description is None:
        return Evidence((), summary="the layers are not known")
    found = diagnosed(net, net.description, rng)
    depth, width = len(net.description.layers), max(net.description.widths[1:-1], default=8)
    powers = {"0.5^9": Fraction(1, 2) ** 9, "0.25^9": Fraction(1, 4) ** 9}
    known = {name: Enclosure.exact(value) for name, value in powers.items()}
    known["slope of tanh at 5"] = Enclosure.ball(1 - arb(5).tanh() ** 2)
    chains = tuple(linear_chain(Fraction(1, 2**k)) for k in (1, 2))
    return Evidence(
        (*found.claims, *chains),
        (found.layers.picture, families(rng, min(max(depth, 6), 20), min(width, 64))),
        {**known, **found.numbers},
        (found.layers.table,),
        summary=f"{found.layers.diagnosis} Seen on {found.source}.",
    )
