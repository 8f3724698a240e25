"""Four ways to count layers, and when the last activation matters."""

from typing import Annotated

import numpy as np

from ftheta.logic import Claim, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.networks import ACTIVATIONS, Dense, Description, random_mlp
from ftheta.networks.realisation import layers_of, states
from ftheta.relu import conventions as forms
from ftheta.relu.elementary.hat import shallow
from ftheta.subjects import Network
from ftheta.subjects.layers import described, describes_this_function

WORDS = tuple(name for name in ACTIVATIONS if name != "identity")


def hat_or_random(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which network", choices=("hat", "random"))] = "hat",
    maps: Annotated[int, Knob(1, 64, "affine maps of the random network", "L", most=200)] = 3,
    width: Annotated[int, Knob(1, 64, "neurons of a hidden layer", "d", log=True, most=128)] = 4,
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


@hypothesis(r"$\sigma$ acts between any two affine maps", remedy="multiply out the affine maps that follow one another")
def activated_between(net: Network) -> Finding:
    idle = forms.idle_layers(net.description) if net.description else []
    first = f"no activation after affine map {idle[0]}" if idle else ""
    return Finding.failed(first) if idle else Finding.proved("everywhere", "read off the list")


@theorem(
    title="Depth in four conventions",
    sources=("seed 0", "seed 1", "seed 2", "seed 3"),
    assumes=(described, describes_this_function, activated_between),
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
    points: Annotated[int, Knob(1, 64, "inputs tried against the misprint", "m", log=True, most=256)] = 4,
) -> Evidence:
    r"""$L$ affine maps with $L-1$ activations between them (Gribonval, Scaman) are $D=L$ maps $\sigma(W\cdot+b)$, the
    last without $\sigma$ (Peyré), and $A_0,\dots,A_{L'}$ with $L'=L-1$ (Murari). $D$ maps with an activated output are
    $L=D+1$ affine maps, the last one the identity; a ReLU network is $f=[I,-I]\,r(f,-f)$, activated in every layer.
    Shallow means one hidden layer. If $\sigma=r$ acts on the output too then $f\ge0$: $-1$ is at distance $\ge1$."""
    theta, exact = layers_of(net.description), Enclosure.exact
    depth, headed, strict = forms.depths(theta), forms.with_linear_output(theta), forms.with_activated_layers(theta)
    x = np.vstack([np.zeros(theta.widths[0]), rng.normal(size=(points - 1, theta.widths[0]))])
    between = sum(layer.activation != "identity" for layer in headed.layers[:-1])
    claims: list[Claim] = [Identity("activations, and L − 1", exact(between), exact(depth.gribonval - 1))]
    for name, other in (("L affine maps", headed), ("[I, −I] after activated layers", strict)):
        if other is not None:
            wrong = exact(forms.wrong_numbers(theta, other))
            claims.append(Identity(f"numbers that keep f_θ from being {name}", wrong, exact(0)))
            claims += forms.same_values(theta, other, name)
    deep = Identity("deep “if L > 1”, in both of its conventions", exact(depth.gribonval > 1), exact(depth.murari > 1))
    counted = {"L (Gribonval, Scaman)": depth.gribonval, "D with a linear head (Peyré)": depth.gribonval}
    counted |= {"L (Murari)": depth.murari, "hidden layers": depth.murari}
    t = np.linspace(-3, 3, 241)
    along = rng.normal(size=theta.widths[0])
    values = states(headed, np.outer(t, along / np.abs(along).max()))[-1][1][:, 0]
    word = "affine" if not depth.murari else "shallow" if depth.murari == 1 else "deep"
    return Evidence(
        claims=(*claims, *forms.never_negative(theta)),
        as_printed=(deep, *forms.universal_as_printed(headed, x)),
        charts=(forms.diagram(theta, net.name), forms.cut_off(values, t)),
        tables=(forms.table(theta),),
        numbers={name: exact(value) for name, value in counted.items()},
        summary=f"{word}: " + ", ".join(f"{name} = {value}" for name, value in counted.items()),
    )
