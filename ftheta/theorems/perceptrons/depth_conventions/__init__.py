"""Four ways to count layers, and when the last activation matters."""

from functools import partial
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Diagram,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Layer,
    Series,
    Table,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks import ACTIVATIONS, Dense, Description, random_mlp
from ftheta.networks.description import require_layers
from ftheta.networks.realisation import states
from ftheta.relu.exact import exact
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.line.hat import shallow
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function, has_layers

from . import conventions as forms

WORDS = tuple(name for name in ACTIVATIONS if name != "identity")


def hat_or_random(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which network", choices=("hat", "random"))] = "hat",
    maps: Annotated[int, Knob(1, 64, "affine maps of the random network", "L", most=200)] = 3,
    width: Annotated[int, Knob(1, 64, "neurons of a hidden layer", "d", log=True, most=128)] = 4,
    activation: Annotated[
        str, Knob(says="activation of the random network", symbol="σ", choices=WORDS)
    ] = "relu",
    activated: Annotated[bool, Knob(says="whether its output is activated too")] = False,
    idle: Annotated[bool, Knob(says="whether the first activation is left out")] = False,
) -> Network:
    drawn = (
        shallow()
        if kind == "hat"
        else random_mlp(rng, (2, *[width] * (maps - 1), 1), activation, bias=0.5)
    )
    layers = list(drawn.layers)
    if activated and kind == "random":
        layers[-1] = Dense(layers[-1].weight, layers[-1].bias, activation)
    if idle:
        layers[0] = Dense(layers[0].weight, layers[0].bias)
    return Network.described(
        Description(tuple(layers)), kind if kind == "hat" else f"random {activation} network"
    )


def first_activation_missing(rng: np.random.Generator) -> Network:
    return hat_or_random(rng, idle=True)


@hypothesis(
    r"$\sigma$ acts between any two affine maps",
    remedy="multiply out the affine maps that follow one another",
    name="activations between the affine maps",
)
def activated_between(net: Network) -> Finding:
    idle = forms.idle_layers(net.description) if net.description else []
    first = f"no activation after affine map {idle[0]}" if idle else ""
    return Finding.failed(first) if idle else Finding.proved("everywhere", "read off the list")


@theorem(
    title="Depth in four conventions",
    sources=("peyre-slides", "gribonval-slides", "murari-slides", "scaman-slides"),
    gist="Papers count depth in four ways that differ by one; this says which number your network has in each, and why "
    "it matters whether the output is activated.",
    see_also=("network-description-realisation", "depth-separation", "cpa-depth-bound"),
    same_for_all={
        "activations, and L − 1": "counted in the network: networks of equal depth have equally many"
    },
    assumes=(has_layers, describes_this_function, activated_between),
    on=hat_or_random,
    breaks_on=first_activation_missing,
    presets={
        "textbook": {},
        "sixty-four maps": {"kind": "random", "maps": 64, "width": 16},
        "at the edge": {"kind": "random", "maps": 1},
        "broken on purpose": {"kind": "random", "idle": True},
    },
    errata=r"""Peyré's slides put the activation on the output as well and then state universality: a ReLU output
    is never negative, so the last activation has to go. Murari's slides call a network deep “if $L>1$” in two
    conventions that differ by one: with one hidden layer it is deep in one and shallow in the other.""",
)
def depth_conventions(
    net: Network,
    rng: np.random.Generator,
    *,
    points: Annotated[
        int, Knob(1, 64, "inputs tried against the misprint", "m", log=True, most=256)
    ] = 4,
) -> Evidence:
    r"""$L$ affine maps with $L-1$ activations between them (Gribonval, Scaman) are $D=L$ maps $\sigma(W\cdot+b)$, the
    last without $\sigma$ (Peyré), and $A_0,\dots,A_{L'}$ with $L'=L-1$ (Murari). $D$ maps with an activated output are
    $L=D+1$ affine maps, the last one the identity; a ReLU network is $f=[I,-I]\,r(f,-f)$, activated in every layer.
    Shallow means one hidden layer. If $\sigma=r$ acts on the output too then $f\ge0$: $-1$ is at distance $\ge1$."""
    theta = require_layers(net.description)
    depth = forms.depths(theta)
    headed = forms.with_linear_output(theta)
    x = np.vstack([np.zeros(theta.widths[0]), rng.normal(size=(points - 1, theta.widths[0]))])
    between = sum(layer.activation != "identity" for layer in headed.layers[:-1])
    counted = {
        "L (Gribonval, Scaman)": depth.gribonval,
        "D with a linear head (Peyré)": depth.gribonval,
        "L (Murari)": depth.murari,
        "hidden layers": depth.murari,
    }
    t = np.linspace(-3, 3, 241)
    along = rng.normal(size=theta.widths[0])
    values = states(headed, np.outer(t, along / np.abs(along).max()))[-1][1][:, 0]
    word = "affine" if not depth.murari else "shallow" if depth.murari == 1 else "deep"
    return Evidence(
        claims=(
            Identity(
                "activations, and L − 1",
                Enclosure.exact(between),
                Enclosure.exact(depth.gribonval - 1),
            ),
        ),
        as_printed=(_misprint_deep(depth), *misprint_universal(headed, x)),
        charts=(_draw_activated(theta, net.name), _draw_cut_off(values, t)),
        tables=(_tabulate(theta),),
        numbers={name: Enclosure.exact(value) for name, value in counted.items()},
        summary=f"{word}: " + ", ".join(f"{name} = {value}" for name, value in counted.items()),
        examples=partial(_examples, theta),
    )


def _misprint_deep(depth: forms.Depths) -> Identity:
    what = "deep “if L > 1”, in both of its conventions"
    return Identity(what, Enclosure.exact(depth.gribonval > 1), Enclosure.exact(depth.murari > 1))


def misprint_universal(description: Description, x: np.ndarray) -> tuple[AtMost, ...]:
    r"""That networks with ReLU on the output come close to $s f_\theta$, where $s=\pm1$ makes a value negative."""
    if not forms.is_exact(description):
        return ()
    f = exact(description)
    found = [
        (abs(value), i, j, value)
        for i, row in enumerate(x)
        for j, value in enumerate(f(row.tolist()))
    ]
    size, i, j, value = max(found, key=lambda entry: entry[0])
    how = "every neuron in rational arithmetic; an output of ReLU is at least 0"
    place = ", ".join(f"{v:.4g}" for v in x[i][:8]) + " …" * (len(x[i]) > 8)
    witness = Witness(
        {"x": place, "output": float(j)}, Enclosure.exact(size), Enclosure.exact(0), how
    )
    what = (
        f"distance from {'−' if value > 0 else ''}f_θ to the networks with ReLU on the output ≤ 0"
    )
    return (AtMost(what, Enclosure.exact(size), Enclosure.exact(0), witness=witness),)


def _tabulate(description: Description) -> Table:
    d = forms.depths(description)
    strict = forms.with_activated_layers(description)
    same = "the same layers" if d.linear_output else "identity map behind the output"
    plain = "last activation left out" if d.linear_output else "as it is"
    rows = (
        ("Gribonval; Scaman", "L", d.gribonval, d.gribonval, d.gribonval - 1, same),
        ("Murari, second", "L", d.murari, d.gribonval, d.gribonval - 1, f"{same}, counted from 0"),
        ("Peyré; Murari, first", "D", d.peyre, d.affine, d.affine - d.linear_output, plain),
        (
            "Peyré, every layer activated",
            "D",
            d.affine if strict or not d.linear_output else "none",
            d.affine + 1 if strict else d.affine,
            d.affine,
            "head [I, −I]"
            if strict
            else "as it is"
            if not d.linear_output
            else "needs ReLU: r(z) − r(−z) = z",
        ),
    )
    return Table(
        "depth", ("convention", "symbol", "depth", "affine maps", "activations", "how"), rows
    )


def _draw_activated(description: Description, title: str) -> Diagram:
    """The network in the form with every layer activated and a linear head, or as it is."""
    shown = forms.with_activated_layers(description) or forms.with_linear_output(description)
    layers = [Layer("input", shown.widths[0])]
    last = len(shown.layers)
    for i, layer in enumerate(shown.layers, 1):
        name = "linear head" if i == last else f"map {i}"
        layers.append(
            Layer(name, len(layer.bias), "" if layer.activation == "identity" else layer.activation)
        )
    return Diagram(title, tuple(layers))


def _draw_cut_off(values: np.ndarray, t: np.ndarray) -> Curves:
    """The first output and its negative along a line, and what ReLU on the output leaves of the negative."""
    series = (
        Series("f", t, values, "other"),
        Series("−f", t, -values, "reference"),
        Series("r(−f): what is left", t, np.maximum(-values, 0.0)),
    )
    return Curves(
        "ReLU on the output cuts off what is negative",
        Axis("t, along a line"),
        Axis("value"),
        series,
    )


# -- examples: the converters between the conventions -------------------------------------------------------


def _examples(theta: Description) -> Examples:
    """The network written in the other conventions, compared number by number and, with one input, on the line."""
    claims = []
    converted = {
        "L affine maps": forms.with_linear_output(theta),
        "[I, −I] after activated layers": forms.with_activated_layers(theta),
    }
    for name, other in converted.items():
        if other is None:
            continue
        wrong = Enclosure.exact(forms.wrong_numbers(theta, other))
        claims.append(
            Identity(f"numbers that keep f_θ from being {name}", wrong, Enclosure.exact(0))
        )
        gap = forms.gap_on_line(theta, other)
        if gap is not None:
            claims.append(
                Identity(
                    f"sup over the line of |f_θ − its form as {name}|",
                    enclose_rational(gap),
                    enclose_rational(0),
                )
            )
    return Examples((*claims, *claim_never_negative(theta)))


def claim_never_negative(theta: Description) -> tuple[Identity, ...]:
    r"""For one input, that with ReLU on the output no value on the whole line is negative: $f=r(f)$."""
    below = forms.negative_part_on_line(theta)
    if below is None:
        return ()
    return (
        Identity(
            "sup over the line of |f − r(f)|, with ReLU on the output",
            enclose_rational(below),
            enclose_rational(0),
        ),
    )
