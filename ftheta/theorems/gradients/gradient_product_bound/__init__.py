"""A gradient is no larger than the product of the slopes on its way: it vanishes where they are small."""

from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from operator import mul
from typing import Annotated

import jax
import numpy as np
from flint import arb

from ftheta.estimates import worst_ratio
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
from ftheta.networks import ACTIVATIONS, random_mlp
from ftheta.networks.description import Dense, Description
from ftheta.spectra.signals import LayerGradients, residual_gradients
from ftheta.subjects import Dataset, Network
from ftheta.subjects.layers import describes_this_function, has_layers

from .diagnosis import ROWS, Diagnosis, diagnose

SHOWN = 12  # layers of which the bound is claimed
FAMILIES = ("sigmoid", "tanh", "relu", "residual tanh")


def deep(
    rng: np.random.Generator,
    *,
    activation: Annotated[
        str, Knob(says="activation of the hidden layers", choices=tuple(ACTIVATIONS))
    ] = "sigmoid",
    depth: Annotated[int, Knob(1, 30, "number of affine maps", "L", most=60)] = 10,
    width: Annotated[
        int, Knob(1, 64, "neurons of each hidden layer", "n", log=True, most=256)
    ] = 16,
    gain: Annotated[
        float, Knob(0.1, 4, "variance of a weight times the inputs", "ns²", log=True, most=100)
    ] = 1.0,
    shift: Annotated[
        float, Knob(-10, 10, "added to every bias: pushes units to one end", "β")
    ] = 0.0,
) -> Network:
    random = random_mlp(rng, (width, *[width] * (depth - 1), 1), activation, gain=gain)
    layers = [Dense(y.weight, y.bias + shift, y.activation) for y in random.layers[:-1]]
    net = Description((*layers, random.layers[-1]))
    data = Dataset("random rows", rng.normal(size=(64, width)), rng.normal(size=(64, 1)))
    return Network.described(net, f"{activation} network of depth {depth}").with_data(data)


def described_smaller(rng: np.random.Generator) -> Network:
    net = deep(rng, activation="relu", gain=2.0)
    layers = () if net.description is None else net.description.layers
    small = Description(tuple(Dense(y.weight / 8, y.bias, y.activation) for y in layers))
    return replace(net, name="network described with an eighth of its weights", description=small)


@theorem(
    title="Vanishing gradients: the product of the Jacobians",
    sources=("peyre-slides", "gribonval-slides", "murari-slides", "hochreiter1998", "glorot2010"),
    gist="The gradient of an early layer is at most a product of one factor per later layer, so in deep networks it "
    "vanishes or explodes exponentially unless these factors stay near one.",
    see_also=("signal-propagation-init", "backprop-mlp", "resnet-block-34", "lipschitz-bounds"),
    of_parameters=True,
    assumes=(has_layers, describes_this_function),
    on=deep,
    breaks_on=described_smaller,
    presets={
        "textbook": {},
        "tanh": {"activation": "tanh"},
        "relu, He": {"activation": "relu", "gain": 2.0},
        "exploding": {"activation": "relu", "gain": 8.0},
        "saturated": {"activation": "tanh", "gain": 25.0},
        "dead units": {"activation": "relu", "gain": 2.0, "shift": -1.5},
    },
    unbreakable="no knob makes the list of layers wrong; the negative control is described with smaller weights",
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
    found = diagnose(net, net.description, rng)
    depth = len(net.description.layers)
    width = max(net.description.widths[1:-1], default=8)
    return Evidence(
        claims=_claim_bounds(found),
        charts=(_draw_gradients(found.layers),),
        numbers=found.numbers,
        tables=(found.layers.table,),
        summary=f"{found.layers.diagnosis} Seen on {found.source}.",
        examples=partial(_examples, deepcopy(rng), min(max(depth, 6), 20), min(width, 64)),
    )


def _claim_bounds(found: Diagnosis) -> tuple[AtMost, ...]:
    """One for each layer; of a deep network, for the layers where the bound is tightest."""
    bounds = found.layers.bounds
    ratio = np.array([worst_ratio(m, b) for m, b in zip(found.measured, bounds)])
    shown = np.sort(np.argsort(-ratio, kind="stable")[:SHOWN])
    claims = []
    for j in map(int, shown):
        witness = found.enclose(j) if ratio[j] > 1 + 1e-9 else None
        left = _enclose_float(found.measured[j])
        right = _enclose_float(bounds[j])
        claims.append(
            AtMost(f"‖∇_θ L‖ of layer {j + 1}", left, right, witness=witness, atol=1e-300)
        )
    return tuple(claims)


def _enclose_float(value: float) -> Enclosure:
    """A value in float64; nothing is known of one that left its range."""
    return Enclosure.equal(float(value)) if np.isfinite(value) else Enclosure()


def _draw_gradients(layers: LayerGradients) -> Curves:
    j = np.arange(1, layers.depth + 1)
    series = (
        Series("product bound", j[layers.bounds > 0], layers.bounds[layers.bounds > 0], "bound"),
        Series("gradient", j[layers.norms > 0], layers.norms[layers.norms > 0]),
    )
    return Curves(
        "gradient of each layer and its bound",
        Axis("layer j"),
        Axis("norm of the gradient", "log"),
        series,
    )


# -- examples -----------------------------------------------------------------------------------------------


def _examples(rng: np.random.Generator, depth: int, width: int) -> Examples:
    chains = tuple(_claim_chain(Fraction(1, 2**k)) for k in (1, 2))
    numbers = {
        "0.5^9": Enclosure.exact(Fraction(1, 2) ** 9),
        "0.25^9": Enclosure.exact(Fraction(1, 4) ** 9),
        "slope of tanh at 5": Enclosure.ball(1 - arb(5).tanh() ** 2),
    }
    return Examples(chains, charts=(_draw_families(rng, depth, width),), numbers=numbers)


def _claim_chain(weight: Fraction, depth: int = 10) -> Identity:
    r"""$\partial_{w_1}w_L\cdots w_1$ at equal weights by reverse mode, beside $w^{L-1}$: exact for powers of two."""
    found = jax.grad(lambda *weights: reduce(mul, weights))(*[float(weight)] * depth)
    name = f"scalar linear chain of {depth} weights {weight}: ∂w₁"
    return Identity(name, Enclosure.exact(float(found)), Enclosure.exact(weight ** (depth - 1)))


def _draw_families(rng: np.random.Generator, depth: int, width: int) -> Curves:
    """Gradients by layer of four random networks of one size, each with its usual initialisation."""
    x = rng.normal(size=(ROWS, width))
    y = rng.normal(size=(ROWS, 1))
    series = []
    for name in FAMILIES:
        word = name.split()[-1]
        net = random_mlp(rng, (*[width] * depth, 1), word, gain=2.0 if word == "relu" else 1.0)
        norms = residual_gradients(net, x, y, depth**-0.5 if name != word else None)
        series.append(Series(name, np.arange(1, depth + 1), np.maximum(norms, 1e-300)))
    title = f"gradient of each layer at initialisation, {depth} layers of width {width}"
    return Curves(title, Axis("layer j"), Axis("norm of the gradient", "log"), tuple(series))
