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

from ftheta.networks.description import Dense, Description
from ftheta.relu.exact import exact
from ftheta.relu.line.cpa1d import exact_form, relu

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
    """The network counted."""
    words = [layer.activation for layer in description.layers]
    return Depths(len(words), sum(word != "identity" for word in words), words[-1] == "identity")


def idle_layers(description: Description) -> list[int]:
    """The hidden layers without an activation, counted from 1: there two affine maps are one."""
    return [
        i for i, layer in enumerate(description.layers[:-1], 1) if layer.activation == "identity"
    ]


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
    last = description.layers[-1]
    m = description.widths[-1]
    doubled = Dense(
        np.vstack([last.weight, -last.weight]), np.concatenate([last.bias, -last.bias]), "relu"
    )
    head = Dense(np.hstack([np.eye(m), -np.eye(m)]), np.zeros(m))
    return Description((*description.layers[:-1], doubled, head))


def without_linear_output(description: Description) -> Description:
    """The same layers with ReLU on the output too: $r\\circ f_\\theta$, another function wherever $f_\\theta<0$."""
    last = description.layers[-1]
    return Description((*description.layers[:-1], Dense(last.weight, last.bias, "relu")))


def wrong_numbers(origin: Description, converted: Description) -> int:
    """How many numbers of a conversion are not those that keep the function; 0 proves that it is kept everywhere."""
    L = len(origin.layers)
    m = origin.widths[-1]
    wrong = sum(_differ(a, b) for a, b in zip(origin.layers[: L - 1], converted.layers))
    last = origin.layers[-1]
    here = converted.layers[L - 1]
    if len(converted.layers) == L:
        return wrong + _differ(last, here)
    head = converted.layers[L]
    if last.activation != "identity":
        return wrong + _differ(last, here) + _differ(Dense(np.eye(m), np.zeros(m)), head)
    top = Dense(here.weight[:m], here.bias[:m]), Dense(-here.weight[m:], -here.bias[m:])
    signs = Dense(np.hstack([np.eye(m), -np.eye(m)]), np.zeros(m))
    return (
        wrong
        + sum(_differ(last, half) for half in top)
        + (here.activation != "relu")
        + _differ(signs, head)
    )


def _differ(a: Dense, b: Dense) -> int:
    if a.weight.shape != b.weight.shape:
        return a.weight.size + a.bias.size
    numbers = np.count_nonzero(a.weight != b.weight) + np.count_nonzero(a.bias != b.bias)
    return int(numbers) + (a.activation != b.activation)


def is_exact(description: Description) -> bool:
    """Whether it can be evaluated in rational arithmetic: ReLU or identity layers, and not too many weights."""
    size = sum(weight.size for weight, _ in description.params)
    return {layer.activation for layer in description.layers} <= {
        "relu",
        "identity",
    } and size * len(description.layers) <= EXACT_SIZE


def exact_gap(one: Description, other: Description, x: np.ndarray) -> Fraction:
    """The largest distance of two outputs at the rows of `x`, in rational arithmetic."""
    f = exact(one)
    g = exact(other)
    return max(abs(a - b) for row in x for a, b in zip(f(row.tolist()), g(row.tolist())))


def gap_on_line(one: Description, other: Description) -> Fraction | float | None:
    """The supremum over the whole line of the distance of two networks with one input, exactly; None for others."""
    f = exact_form(one)
    g = exact_form(other)
    if isinstance(f, str) or isinstance(g, str):
        return None
    return (f - g).largest[1]


def negative_part_on_line(description: Description) -> Fraction | float | None:
    r"""For one input, $\sup|f-r(f)|$ over the whole line with ReLU on the output; None for others."""
    f = exact_form(without_linear_output(description))
    return None if isinstance(f, str) else (f - relu(f)).largest[1]
