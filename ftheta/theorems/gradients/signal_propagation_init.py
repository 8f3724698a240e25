"""Random layers keep a signal's size on average only at one scale of the weights."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks import random_mlp
from ftheta.networks.description import Dense, Description
from ftheta.spectra.initialisation import FUNCTIONS, KEEPS, Audit, depths, propagate, scales
from ftheta.subjects import Network
from ftheta.subjects.layers import described, describes_this_function


def initialised(
    rng: np.random.Generator,
    *,
    activation: Annotated[str, Knob(says="activation of the hidden layers", choices=tuple(FUNCTIONS))] = "relu",
    gain: Annotated[float, Knob(0.1, 10, "variance of a weight times the width", "ns²", log=True, most=100)] = 1.0,
    width: Annotated[int, Knob(2, 256, "neurons of each layer", "n", log=True, most=512)] = 64,
    depth: Annotated[int, Knob(1, 20, "number of layers", "L", most=50)] = 10,
) -> Network:
    net = random_mlp(rng, (width,) * (depth + 1), activation, gain=gain)
    last = net.layers[-1]
    layers = (*net.layers[:-1], Dense(last.weight, last.bias, activation))
    return Network.described(Description(layers), f"{activation} network, s² = {gain:g}/n")


def heavy_with_biases(rng: np.random.Generator) -> Network:
    net = initialised(rng).description
    layers = () if net is None else net.layers
    pushed = tuple(Dense(y.weight, y.bias + 3.0, y.activation) for y in layers)
    return Network.described(Description(pushed), "network with biases of 3")


@hypothesis("all layers have one activation, of known mean square", remedy="use ReLU, the identity or tanh")
def one_known_activation(net: Network) -> Finding:
    words = {y.activation for y in net.description.layers[:-1] or net.description.layers} if net.description else set()
    return Finding.decide(len(words) == 1 and words <= {*FUNCTIONS}, f"activations {sorted(words)}", "by name")


@hypothesis(r"$W_{ij}\sim\mathcal N(0,s^2)$ without biases", remedy="look at the network before it was trained")
def gaussian_without_biases(net: Network) -> Finding:
    if net.description is None:
        return Finding.failed("unknown without layers")
    rows = [(float(np.mean(y.weight)) / max(float(np.std(y.weight)), 1e-300), y) for y in net.description.layers]
    bias = max(float(np.abs(y.bias).max()) for _, y in rows)
    mean = max(abs(m) * y.weight.size**0.5 for m, y in rows)
    note = f"largest bias {bias:.3g}, means within {mean:.3g} standard errors of 0; {Audit(net.description).words()}"
    return Finding.sampled(note) if bias == 0 and mean < 6 else Finding.failed(note)


@theorem(
    title="Signal propagation at initialisation",
    sources=("seed 0", "seed 1", "glorot2010", "he2015"),
    of_parameters=True,
    assumes=(described, describes_this_function, one_known_activation, gaussian_without_biases),
    on=initialised,
    breaks_on=heavy_with_biases,
    presets={
        "textbook": {},
        "He": {"gain": 2.0},
        "linear": {"activation": "identity"},
        "tanh": {"activation": "tanh", "gain": 1.0},
        "exploding": {"gain": 4.0, "depth": 8},
    },
    unbreakable="no knob adds biases; with them the identity fails on average only, which no single network refutes",
)
def signal_propagation_init(
    net: Network,
    rng: np.random.Generator,
    *,
    draws: Annotated[int, Knob(50, 5000, "random networks drawn", "N", log=True, most=20_000)] = 600,
) -> Evidence:
    r"""Let $W_{ij}\sim\mathcal N(0,s^2)$ be independent, with $n$ rows. For every $x$,
    $$\mathbb E\|\mathrm{ReLU}(Wx)\|^2=\frac{ns^2}2\|x\|^2,\qquad\mathbb E\|Wx\|^2=ns^2\|x\|^2,$$
    and $\mathbb E\|\tanh(Wx)\|^2\le ns^2\|x\|^2$. So $s^2=\frac2n$ (He) keeps the size through ReLU layers, $\frac1n$
    halves it in each; linear layers and tanh near 0 want $s^2=\frac1n$ (Glorot). Gradients of a random direction at the
    output have the same factor on their way back."""
    if net.description is None:
        return Evidence((), summary="the layers are not known")
    audit, layers = Audit(net.description), net.description.layers
    width, depth = min(max(len(y.bias) for y in layers), 64), min(len(layers), 12)
    word = layers[0].activation if layers[0].activation in FUNCTIONS else "relu"
    size = np.mean([float(np.mean(y.weight**2)) * y.weight.shape[1] for y in layers[:-1] or layers])
    gain = Fraction(float(size)).limit_denominator(8)  # of a draw: the scale that was asked for, up to chance
    seen = propagate(rng, width, depth, gain, word, draws)
    numbers = {
        "factor at s² = 1/n": Enclosure.exact(KEEPS["relu"]),
        "factor at s² = 2/n": Enclosure.exact(2 * KEEPS["relu"]),
        "gain of these layers": float(size),
        "factor fitted": seen.fitted,
        "z after one layer": seen.z() if word in KEEPS else 0.0,
        "factor of these weights": audit.growth(),
    }
    told = f"drawn anew {len(seen.forward)} times at ns² = {float(gain):.3g}, {word} layers have a mean factor of"
    summary = f"{audit.words()}; {told} {seen.fitted:.4g} (theory: {float(seen.factor):.4g})"
    few = max(50, draws // 4)
    charts = (depths(rng, width, depth, word, few), scales(rng, width, depth, word, few, float(size)))
    return Evidence(seen.claims(), charts, numbers, (audit.table(),), summary=summary)
