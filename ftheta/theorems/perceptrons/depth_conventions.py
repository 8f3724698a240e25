"""Four ways to count layers, and when the last activation matters."""

from typing import Annotated

import numpy as np

from ftheta.logic import AtMost, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.networks import ACTIVATIONS, Dense, Description, random_mlp
from ftheta.networks.realisation import layers_of, states
from ftheta.relu import conventions as forms
from ftheta.relu.cpa1d import exact_form, known
from ftheta.relu.hat import shallow
from ftheta.subjects import Network

WORDS = tuple(name for name in ACTIVATIONS if name != "identity")


def hat_or_random(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which network", choices=("hat", "random"))] = "hat",
    maps: Annotated[int, Knob(1, 64, "affine maps of the random network", "L", most=200)] = 3,
    width: Annotated[int, Knob(1, 64, "neurons of a hidden layer", "d", log=True, most=200)] = 4,
    activation: Annotated[str, Knob(says="activation of the random network", symbol="σ", choices=WORDS)] = "relu",
    activated: Annotated[bool, Knob(says="whether its output is activated too")] = False,
    idle: Annotated[bool, Knob(says="whether the first activation is left out")] = False,
) -> Network:
    drawn = shallow() if kind == "hat" else random_mlp(rng, (2, *[width] * (maps - 1), 1), activation, bias=0.5)
    layers = list(drawn.layers)
    if activated and kind == "random":
        layers[-1] = Dense(layers[-1].weight, layers[-1].bias, activation)
    if idle:
        layers[0] = Dense(layers[0].weight, layers[0].bias)
    return Network.described(Description(tuple(layers)), kind if kind == "hat" else f"random {activation} network")


def first_activation_missing(rng: np.random.Generator) -> Network:
    return hat_or_random(rng, idle=True)


@hypothesis(r"the layers are known", remedy="give an .npz with W0, b0, … or an equinox MLP with a named activation")
def described(net: Network) -> Finding:
    if net.description is None:
        return Finding.failed("a function whose layers are not known: it has no depth before it is a list of layers")
    return Finding.proved(f"{len(net.description.layers)} affine maps")


@hypothesis(r"$\sigma$ acts between any two affine maps", remedy="multiply out the affine maps that follow one another")
def activated_between(net: Network) -> Finding:
    idle = forms.idle_layers(net.description) if net.description else []
    return Finding.failed(f"no activation after affine map {idle[0]}") if idle else Finding.proved("everywhere")


@theorem(
    title="Depth in four conventions",
    sources=("seed 0", "seed 1", "seed 2", "seed 3"),
    assumes=(described, activated_between),
    on=hat_or_random,
    breaks_on=first_activation_missing,
    presets={
        "textbook": {},
        "sixty-four maps": {"kind": "random", "maps": 64, "width": 16},
        "at the edge": {"kind": "random", "maps": 1},
        "broken on purpose": {"kind": "random", "idle": True},
    },
    errata=r"""Seed 0 puts the activation on the output as well and then states universality: a ReLU output is never
    negative, so the last activation has to go. Seed 2 calls a network deep “if $L>1$” in two conventions that differ by
    one: with one hidden layer it is deep in one and shallow in the other.""",
)
def depth_conventions(
    net: Network,
    rng: np.random.Generator,
    *,
    points: Annotated[int, Knob(1, 64, "inputs at which conversions are evaluated", "m", log=True, most=256)] = 4,
) -> Evidence:
    r"""$L$ affine maps with $L-1$ activations between them (Gribonval, Scaman) are $D=L$ maps $\sigma(W\cdot+b)$ of which
    the last is left linear (Peyré), and $A_0,\dots,A_{L'}$ with $L'=L-1$ (Murari). A network with an activated output is
    $L=D+1$ affine maps, the last the identity; a ReLU network $f$ is $[I,-I]\,r(f,-f)$, activated in every layer. Shallow
    means one hidden layer. If $\sigma=r$ acts on the output too, $f\ge0$, so $-1$ is at distance at least $1$."""
    theta, exact = layers_of(net.description), Enclosure.exact
