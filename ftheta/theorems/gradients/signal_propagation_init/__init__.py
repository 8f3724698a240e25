"""Random layers keep a signal's size on average only at one scale of the weights."""

from copy import deepcopy
from fractions import Fraction
from functools import partial
from math import sqrt
from typing import Annotated

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.networks import random_mlp
from ftheta.networks.description import Dense, Description
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function, has_layers

from .initialisation import FUNCTIONS, KEEPS, LayerScales, Propagation, propagate


def initialised_network(
    rng: np.random.Generator,
    *,
    activation: Annotated[
        str, Knob(says="activation of the hidden layers", choices=tuple(FUNCTIONS))
    ] = "relu",
    gain: Annotated[
        float, Knob(0.1, 10, "variance of a weight times the width", "ns²", log=True, most=100)
    ] = 1.0,
    width: Annotated[int, Knob(2, 256, "neurons of each layer", "n", log=True, most=512)] = 64,
    depth: Annotated[int, Knob(1, 20, "number of layers", "L", most=50)] = 10,
) -> Network:
    net = random_mlp(rng, (width,) * (depth + 1), activation, gain=gain)
    last = net.layers[-1]
    layers = (*net.layers[:-1], Dense(last.weight, last.bias, activation))
    return Network.described(Description(layers), f"{activation} network, s² = {gain:g}/n")


def heavy_with_biases(rng: np.random.Generator) -> Network:
    net = initialised_network(rng).description
    layers = () if net is None else net.layers
    pushed = tuple(Dense(y.weight, y.bias + 3.0, y.activation) for y in layers)
    return Network.described(Description(pushed), "network with biases of 3")


@hypothesis(
    "all layers have one activation, of known mean square",
    remedy="use ReLU, the identity or tanh",
    name="one activation of known mean square",
)
def one_known_activation(net: Network) -> Finding:
    words = (
        {y.activation for y in net.description.layers[:-1] or net.description.layers}
        if net.description
        else set()
    )
    return Finding.decide(
        len(words) == 1 and words <= {*FUNCTIONS}, f"activations {sorted(words)}", "by name"
    )


@hypothesis(
    r"$W_{ij}\sim\mathcal N(0,s^2)$ without biases",
    remedy="look at the network before it was trained",
    name="Gaussian weights without biases",
)
def gaussian_without_biases(net: Network) -> Finding:
    if net.description is None:
        return Finding.undecided("layers")
    rows = [
        (float(np.mean(y.weight)) / max(float(np.std(y.weight)), 1e-300), y)
        for y in net.description.layers
    ]
    bias = max(float(np.abs(y.bias).max()) for _, y in rows)
    off = max(abs(m) * y.weight.size**0.5 for m, y in rows)
    flow = LayerScales(net.description).describe()
    note = f"largest bias {bias:.3g}, means within {off:.3g} standard errors of 0; {flow}"
    return Finding.sampled(note) if bias == 0 and off < 6 else Finding.failed(note)


@theorem(
    title="Signal propagation at initialisation",
    sources=("peyre-slides", "gribonval-slides", "glorot2010", "he2015"),
    gist="Random weights keep the size of signals and gradients through many layers only at one variance: two over the "
    "width for ReLU (He), one over the width for tanh (Glorot); else they vanish or explode.",
    see_also=("gradient-product-bound", "depth-scaling-regimes", "activation-zoo"),
    of_parameters=True,
    assumes=(has_layers, describes_this_function, one_known_activation, gaussian_without_biases),
    on=initialised_network,
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
    draws: Annotated[
        int, Knob(50, 5000, "random networks drawn", "N", log=True, most=20_000)
    ] = 600,
) -> Evidence:
    r"""Let $W_{ij}\sim\mathcal N(0,s^2)$ be independent, with $n$ rows. For every $x$,
    $$\mathbb E\|\mathrm{ReLU}(Wx)\|^2=\frac{ns^2}2\|x\|^2,\qquad\mathbb E\|Wx\|^2=ns^2\|x\|^2,$$
    and $\mathbb E\|\tanh(Wx)\|^2\le ns^2\|x\|^2$. So $s^2=\frac2n$ (He) keeps the size through ReLU layers, $\frac1n$
    halves it in each; linear layers and tanh near 0 want $s^2=\frac1n$ (Glorot). Gradients of a random direction at the
    output have the same factor on their way back."""
    if net.description is None:
        return Evidence((), summary="the layers are not known")
    scales = LayerScales(net.description)
    layers = net.description.layers
    width = min(max(len(y.bias) for y in layers), 64)
    depth = min(len(layers), 12)
    word = layers[0].activation if layers[0].activation in FUNCTIONS else "relu"
    size = float(
        np.mean([float(np.mean(y.weight**2)) * y.weight.shape[1] for y in layers[:-1] or layers])
    )
    # of a draw: the scale that was asked for, up to chance
    gain = Fraction(size).limit_denominator(8)
    seen = propagate(rng, width, depth, gain, word, draws)
    return Evidence(
        claims=_claim_means(seen),
        numbers={
            "gain of these layers": size,
            "factor fitted": seen.fitted_gain,
            "z after one layer": seen.z() if word in KEEPS else 0.0,
            "factor of these weights": scales.growth(),
        },
        tables=(scales.table(),),
        summary=f"{scales.describe()}; drawn anew {len(seen.forward)} times at ns² = {float(gain):.3g}, {word} layers "
        f"have a mean factor of {seen.fitted_gain:.4g} (theory: {float(seen.factor):.4g})",
        examples=partial(_examples, deepcopy(rng), width, depth, word, max(50, draws // 4), size),
    )


def _claim_means(seen: Propagation) -> tuple[Claim, ...]:
    """Layers of the network's activation and scale, drawn anew: the mean squared norm forwards and backwards."""
    exact = seen.activation in KEEPS
    ways = {"forward": seen.forward, "backward": seen.back} if exact else {"forward": seen.forward}
    claims = []
    for way, norms in ways.items():
        for depth in sorted({1, seen.depth}):
            variance = seen.variance(depth) if way == "forward" else None
            draws = norms[:, depth]
            left = (
                mean(draws, variance=variance)
                if np.ptp(draws)
                else Enclosure.equal(float(draws[0]))
            )
            what = f"mean of the squared norm {way} through {depth} layer{'s' * (depth > 1)}"
            right = Enclosure.exact(seen.factor**depth)
            claims.append(Identity(what, left, right) if exact else AtMost(what, left, right))
    return tuple(claims)


# -- examples: random networks of other scales --------------------------------------------------------------


def _examples(
    rng: np.random.Generator, width: int, depth: int, activation: str, draws: int, own: float
) -> Examples:
    depths = _draw_depths(rng, width, depth, activation, draws)
    scales = _draw_scales(rng, width, depth, activation, draws, own)
    numbers = {
        "factor at s² = 1/n": Enclosure.exact(KEEPS["relu"]),
        "factor at s² = 2/n": Enclosure.exact(2 * KEEPS["relu"]),
    }
    return Examples(charts=(depths, scales), numbers=numbers)


def _draw_depths(
    rng: np.random.Generator, width: int, depth: int, activation: str, draws: int
) -> Curves:
    """Mean squared norm against depth for three scales, beside theory."""
    series = []
    for gain in (Fraction(1), Fraction(2), Fraction(3)):
        seen = propagate(rng, width, depth, gain, activation, draws)
        j = np.arange(depth + 1)
        theory = [float(seen.factor**k) for k in range(depth + 1)]
        series.append(Series(f"s² = {gain}/n", j, np.maximum(seen.forward.mean(axis=0), 1e-300)))
        if activation in KEEPS:
            series.append(Series(f"({seen.factor})^j", j, theory, "reference"))
    title = f"squared norm of the state against depth, {activation}, width {width}"
    return Curves(title, Axis("layer j"), Axis("mean of ‖xʲ‖² / ‖x⁰‖²", "log"), tuple(series))


def _draw_scales(
    rng: np.random.Generator, width: int, depth: int, activation: str, draws: int, own: float
) -> Curves:
    """The factor a layer, fitted, against the scale of the weights; `own` is the scale of a network, marked."""
    gains = [Fraction(2) ** k for k in range(-3, 4)]
    seen = [propagate(rng, width, depth, gain, activation, draws) for gain in gains]
    s = [sqrt(gain / width) for gain in gains]
    series = [
        Series(
            "fitted", s, np.maximum([p.fitted_gain for p in seen], 1e-300), "measured", "points"
        ),
        Series(
            "theory" if activation in KEEPS else "at most",
            s,
            [float(p.factor) for p in seen],
            "bound",
        ),
        Series("keeps the size", s, np.ones(len(s)), "reference"),
    ]
    if own > 0:
        here = sqrt(own / width)
        series.append(
            Series(
                "this network",
                [here, here],
                [float(seen[0].factor), float(seen[-1].factor)],
                "other",
            )
        )
    title = f"factor of the squared norm per layer, {activation}, width {width}"
    return Curves(
        title,
        Axis("standard deviation s of a weight", "log"),
        Axis("factor per layer", "log"),
        tuple(series),
    )
