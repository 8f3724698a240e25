r"""Depth in the conventions of the literature, and the converters between them.

| convention | written | activation on the output |
|---|---|---|
| Gribonval; Scaman | $L$ affine maps, $L-1$ activations | no |
| Murari, second | $A_0,\dots,A_L$: $L+1$ affine maps, $L$ activations | no |
| Peyré; Murari, first | $D$ maps $\sigma(W\cdot+b)$ | yes |

A converted network is compared with its origin number by number. Where every number is as it must be, the two have the
same function on all of $\mathbb R^d$: for the head because $Ix+0=x$, for the doubled output because $r(z)-r(-z)=z$.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.logic import AtMost, Axis, Curves, Diagram, Enclosure, Identity, Layer, Series, Table, Witness
from ftheta.networks.description import Dense, Description

from .exact import exact
from .line.cpa1d import exact_form, known, relu

EXACT_SIZE = 1_500_000  # weights times layers of a network that is evaluated in rationals: numbers grow with depth


@dataclass(frozen=True, slots=True)
class Depths:
    """One network counted in every convention; `activated` is the number of maps with an activation behind them."""

    affine: int
    activated: int
    linear_output: bool

    @property
    def gribonval(self) -> int:
        """Affine maps $L$, once the output is affine: an activated one needs an identity map behind it."""
        return self.affine + (not self.linear_output)

    @property
    def peyre(self) -> int:
        """Maps $D$, the last of which has no activation where the output is affine."""
        return self.affine

    @property
    def murari(self) -> int:
        """Activations $L$ between the affine maps $A_0,\\dots,A_L$."""
        return self.gribonval - 1


def depths(description: Description) -> Depths:
    words = [layer.activation for layer in description.layers]
    return Depths(len(words), sum(word != "identity" for word in words), words[-1] == "identity")


def idle_layers(description: Description) -> list[int]:
    """The hidden layers without an activation, counted from 1: there two affine maps are one."""
    return [i for i, layer in enumerate(description.layers[:-1], 1) if layer.activation == "identity"]


def with_linear_output(description: Description) -> Description:
    """From Peyré to Gribonval: where the output is activated, an identity map behind it."""
    if description.layers[-1].activation == "identity":
        return description
    m = description.widths[-1]
    return Description((*description.layers, Dense(np.eye(m), np.zeros(m))))


def with_activated_layers(description: Description) -> Description | None:
    """From Gribonval to Peyré: ReLU on the outputs $f$ and $-f$, then the linear head $[I,-I]$. ReLU networks only."""
    words = {layer.activation for layer in description.layers[:-1]} - {"relu"}
    if words or description.layers[-1].activation != "identity":
        return None
    last, m = description.layers[-1], description.widths[-1]
    doubled = Dense(np.vstack([last.weight, -last.weight]), np.concatenate([last.bias, -last.bias]), "relu")
    head = Dense(np.hstack([np.eye(m), -np.eye(m)]), np.zeros(m))
    return Description((*description.layers[:-1], doubled, head))


def without_linear_output(description: Description) -> Description:
    """The same layers with ReLU on the output too: $r\\circ f_\\theta$, another function wherever $f_\\theta<0$."""
    last = description.layers[-1]
    return Description((*description.layers[:-1], Dense(last.weight, last.bias, "relu")))


def wrong_numbers(origin: Description, converted: Description) -> int:
    """How many numbers of a conversion are not those that keep the function; 0 proves that it is kept everywhere."""
    L, m = len(origin.layers), origin.widths[-1]
    wrong = sum(_differ(a, b) for a, b in zip(origin.layers[: L - 1], converted.layers))
    last, here = origin.layers[-1], converted.layers[L - 1]
    if len(converted.layers) == L:
        return wrong + _differ(last, here)
    head = converted.layers[L]
    if last.activation != "identity":
        return wrong + _differ(last, here) + _differ(Dense(np.eye(m), np.zeros(m)), head)
    top = Dense(here.weight[:m], here.bias[:m]), Dense(-here.weight[m:], -here.bias[m:])
    signs = Dense(np.hstack([np.eye(m), -np.eye(m)]), np.zeros(m))
    return wrong + sum(_differ(last, half) for half in top) + (here.activation != "relu") + _differ(signs, head)


def _differ(a: Dense, b: Dense) -> int:
    if a.weight.shape != b.weight.shape:
        return a.weight.size + a.bias.size
    numbers = np.count_nonzero(a.weight != b.weight) + np.count_nonzero(a.bias != b.bias)
    return int(numbers) + (a.activation != b.activation)


def is_exact(description: Description) -> bool:
    """Whether it can be evaluated in rational arithmetic: ReLU or identity layers, and not too many weights."""
    size = sum(weight.size for weight, _ in description.params)
    return {layer.activation for layer in description.layers} <= {"relu", "identity"} and size * len(
        description.layers
    ) <= EXACT_SIZE


def exact_gap(one: Description, other: Description, x: np.ndarray) -> Fraction:
    """The largest distance of two outputs at the rows of `x`, in rational arithmetic."""
    f, g = exact(one), exact(other)
    return max(abs(a - b) for row in x for a, b in zip(f(row.tolist()), g(row.tolist())))


def same_values(one: Description, other: Description, name: str) -> list[Identity]:
    """For one input, that a conversion keeps the values on the whole line: a second proof, beside `wrong_numbers`."""
    f, g = exact_form(one), exact_form(other)
    if isinstance(f, str) or isinstance(g, str):
        return []
    return [Identity(f"sup over the line of |f_θ − its form as {name}|", known((f - g).largest[1]), known(0))]


def never_negative(description: Description) -> list[Identity]:
    r"""For one input, that with ReLU on the output no value on the whole line is negative: $f=r(f)$."""
    f = exact_form(without_linear_output(description))
    if isinstance(f, str):
        return []
    what = "sup over the line of |f − r(f)|, with ReLU on the output"
    return [Identity(what, known((f - relu(f)).largest[1]), known(0))]


def universal_as_printed(description: Description, x: np.ndarray) -> tuple[AtMost, ...]:
    r"""That networks with ReLU on the output come close to $s f_\theta$, where $s=\pm1$ makes a value negative."""
    if not is_exact(description):
        return ()
    f = exact(description)
    found = [(abs(value), i, j, value) for i, row in enumerate(x) for j, value in enumerate(f(row.tolist()))]
    size, i, j, value = max(found, key=lambda entry: entry[0])
    how = "every neuron in rational arithmetic; an output of ReLU is at least 0"
    place = ", ".join(f"{v:.4g}" for v in x[i][:8]) + " …" * (len(x[i]) > 8)
    witness = Witness({"x": place, "output": float(j)}, Enclosure.exact(size), Enclosure.exact(0), how)
    what = f"distance from {'−' if value > 0 else ''}f_θ to the networks with ReLU on the output ≤ 0"
    return (AtMost(what, Enclosure.exact(size), Enclosure.exact(0), witness=witness),)


def table(description: Description) -> Table:
    d = depths(description)
    strict = with_activated_layers(description)
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
            "head [I, −I]" if strict else "as it is" if not d.linear_output else "needs ReLU: r(z) − r(−z) = z",
        ),
    )
    return Table("depth", ("convention", "symbol", "depth", "affine maps", "activations", "how"), rows)


def diagram(description: Description, title: str) -> Diagram:
    """The network in the form with every layer activated and a linear head, or as it is."""
    shown = with_activated_layers(description) or with_linear_output(description)
    layers, last = [Layer("input", shown.widths[0])], len(shown.layers)
    for i, layer in enumerate(shown.layers, 1):
        name = "linear head" if i == last else f"map {i}"
        layers.append(Layer(name, len(layer.bias), "" if layer.activation == "identity" else layer.activation))
    return Diagram(title, tuple(layers))


def cut_off(values: np.ndarray, t: np.ndarray) -> Curves:
    """The first output and its negative along a line, and what ReLU on the output leaves of the negative."""
    series = (
        Series("f", t, values, "other"),
        Series("−f", t, -values, "reference"),
        Series("r(−f): what is left", t, np.maximum(-values, 0.0)),
    )
    return Curves("ReLU on the output cuts off what is negative", Axis("t, along a line"), Axis("value"), series)
