r"""How many pieces a ReLU network can have: bounds from its widths, in whole numbers, and a network that has many.

A layer is given by its `neurons` $n_\ell$ and the coordinates `kept` $p_\ell$ that it passes on without a ReLU (none in
a plain perceptron). $d$ is the dimension of the domain: of all inputs, or of a slice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb

from ftheta.relu.exact import ExactNetwork, rounded
from ftheta.relu.network import ReluNetwork
from ftheta.relu.sawtooth import zigzag


@dataclass(frozen=True, slots=True)
class Layer:
    neurons: int
    kept: int = 0


def plain(widths: Sequence[int]) -> tuple[Layer, ...]:
    return tuple(Layer(n) for n in widths)


def layers_of(net: ReluNetwork) -> tuple[Layer, ...]:
    """Of every hidden step the neurons and the coordinates that are passed on."""
    counts = [(int(step.rectified.sum()), len(step.offset)) for step in net.steps[:-1]]
    return tuple(Layer(n, size - n) for n, size in counts)


def arrangement(n: int, d: int) -> int:
    r"""$\sum_{j\le d}\binom nj$: the most regions that $n$ hyperplanes make in dimension $d$ (Zaslavsky)."""
    return sum(comb(n, j) for j in range(min(n, d) + 1))


def montufar_lower(d: int, widths: Sequence[int]) -> int:
    r"""$\big(\prod_{\ell<H}\lfloor n_\ell/d\rfloor^d\big)\sum_{j\le d}\binom{n_H}j$: some network has that many."""
    product = arrangement(widths[-1], d) if widths else 1
    for n in widths[:-1]:
        product *= (n // d) ** d
    return product


def product_upper(d: int, layers: Sequence[Layer]) -> int:
    r"""$\prod_\ell\sum_{j\le d_\ell}\binom{n_\ell}j$ with $d_\ell=\min(d,n_1+p_1,\dots,n_{\ell-1}+p_{\ell-1})$."""
    product = 1
    for layer in layers:
        product *= arrangement(layer.neurons, d)
        d = min(d, layer.neurons + layer.kept)
    return product


def serra_upper(d: int, layers: Sequence[Layer]) -> int:
    r"""$\sum\prod_\ell\binom{n_\ell}{j_\ell}$ over $j_\ell\le\min(d,n_1-j_1+p_1,\dots,n_{\ell-1}-j_{\ell-1}+p_{\ell-1},
    n_\ell)$: where $j_\ell$ neurons are off, the image has only the dimension that the others leave it."""
    layers = tuple(layers)

    @cache
    def total(level: int, dimension: int) -> int:
        if level == len(layers):
            return 1
        n, kept = layers[level].neurons, layers[level].kept
        choices = range(min(dimension, n) + 1)
        return sum(comb(n, j) * total(level + 1, min(dimension, n - j + kept)) for j in choices)

    return total(0, d)


def montufar_network(d: int, widths: Sequence[int]) -> ReluNetwork:
    r"""Widths $n_\ell\ge d$: all hidden layers but the last fold the cube $[0,1]^d$ onto itself, $\lfloor n_\ell/d\rfloor$
    times along every axis; the last cuts it by $n_H$ hyperplanes in general position with all their corners inside.

    It has exactly `montufar_lower` pieces inside the cube. Hyperplane $i$ is $\sum_kt_i^{k}(x_k-\frac12)=\epsilon
    t_i^{d}$, $k<d$: on the moment curve any $d$ normals are independent and any $d+1$ hyperplanes have no common point.
    Left-over neurons are idle: their weights vanish.
    """
    weights, biases = [], []
    inner: list[list[Fraction]] = [[Fraction(int(i == k)) for k in range(d)] for i in range(d)]
    for n in widths[:-1]:
        first, last = zigzag(n // d).steps
        units = [(k, Fraction(int(b.p), int(b.q))) for k in range(d) for b in first.offset]
        weights.append([inner[k] for k, _ in units] + [[Fraction(0)] * len(inner[0])] * (n - len(units)))
        biases.append([b for _, b in units] + [Fraction(0)] * (n - len(units)))
        outer = [Fraction(int(a.p), int(a.q)) for a in last.matrix.rows[0].values()]
        inner = [[a if k == c else Fraction(0) for k, _ in units for a in ()] for c in range(d)]
        inner = [[*_placed(outer, c, d), *[Fraction(0)] * (n - len(units))] for c in range(d)]
    normals, offsets = _general(widths[-1], d)
    weights.append([[sum((a * inner[k][j] for k, a in enumerate(w)), Fraction(0)) for j in range(len(inner[0]))] for w in normals])
    biases.append(offsets)
    signs = [Fraction((-1) ** i * (i + 1)) for i in range(widths[-1])]
    return rounded(ExactNetwork.dense([*weights, [signs]], [*biases, [Fraction(0)]])).network


def _placed(outer: list[Fraction], c: int, d: int) -> list[Fraction]:
    """The outer weights of a zigzag in block `c` of `d`."""
    return [a if block == c else Fraction(0) for block in range(d) for a in outer]
