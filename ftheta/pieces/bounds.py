r"""How many pieces a ReLU network can have: bounds from its widths, in whole numbers.

A layer is given by its `neurons` $n_\ell$ and the coordinates `kept` $p_\ell$ that it passes on without a ReLU (none in
a plain perceptron). $d$ is the dimension of the domain: of all inputs, or of a slice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

from ftheta.relu.network import ReluNetwork


@dataclass(frozen=True, slots=True)
class HiddenLayer:
    """A hidden layer: its `neurons`, and the coordinates `kept` that it passes on without a ReLU."""

    neurons: int
    kept: int = 0


def plain_layers(widths: Sequence[int]) -> tuple[HiddenLayer, ...]:
    """The hidden layers of a perceptron with these hidden `widths`: every coordinate has a ReLU."""
    return tuple(HiddenLayer(n) for n in widths)


def layers_of(net: ReluNetwork) -> tuple[HiddenLayer, ...]:
    """Of every hidden step the neurons and the coordinates that are passed on."""
    counts = [(int(step.rectified.sum()), len(step.offset)) for step in net.steps[:-1]]
    return tuple(HiddenLayer(n, size - n) for n, size in counts)


def arrangement(n: int, d: int) -> int:
    r"""$\sum_{j\le d}\binom nj$: the most regions that $n$ hyperplanes make in dimension $d$ (Zaslavsky)."""
    return sum(comb(n, j) for j in range(min(n, d) + 1))


def montufar_lower(d: int, widths: Sequence[int]) -> int:
    r"""$\big(\prod_{\ell<H}\lfloor n_\ell/d\rfloor^d\big)\sum_{j\le d}\binom{n_H}j$: some network has that many."""
    product = arrangement(widths[-1], d) if widths else 1
    for n in widths[:-1]:
        product *= (n // d) ** d
    return product


def product_upper(d: int, layers: Sequence[HiddenLayer]) -> int:
    r"""$\prod_\ell\sum_{j\le d_\ell}\binom{n_\ell}j$ with $d_\ell=\min(d,n_1+p_1,\dots,n_{\ell-1}+p_{\ell-1})$."""
    product = 1
    for layer in layers:
        product *= arrangement(layer.neurons, d)
        d = min(d, layer.neurons + layer.kept)
    return product


def serra_upper(d: int, layers: Sequence[HiddenLayer]) -> int:
    r"""$\sum\prod_\ell\binom{n_\ell}{j_\ell}$ over $j_\ell\le\min(d,n_1-j_1+p_1,\dots,n_{\ell-1}-j_{\ell-1}+p_{\ell-1},
    n_\ell)$: where $j_\ell$ neurons are off, the image has only the dimension that the others leave it."""
    layers = tuple(layers)

    @cache
    def total(level: int, dimension: int) -> int:
        if level == len(layers):
            return 1
        n = layers[level].neurons
        kept = layers[level].kept
        choices = range(min(dimension, n) + 1)
        return sum(comb(n, j) * total(level + 1, min(dimension, n - j + kept)) for j in choices)

    return total(0, d)


def format_count(n: int) -> int | str:
    """The number, or its power of ten where it is long."""
    return n if n < 10**15 else f"about 10^{len(str(n)) - 1}"
