"""How many affine pieces a network has along a line, layer by layer, and how many it can have."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf, prod
from typing import Any

import numpy as np

from ftheta.graph.enclosing import enclose
from ftheta.logic import AtMost, Axis, Basis, Curves, Enclosure, Identity, Series
from ftheta.networks.description import Description, random_mlp

from ..counts import count
from ..exact import ExactNetwork, exact
from ..matrices import fraction
from .cpa1d import PiecewiseAffine, affine, combination, known, relu
from .program import curve
from .sawtooth import sawtooth, sparse_zigzag


@dataclass(frozen=True)
class Along:
    """`grown[l]` pieces after l hidden layers (all neurons together); `pieces` and `kinks` of all outputs."""

    grown: tuple[int, ...]
    kinks: tuple[Fraction, ...]
    outputs: tuple[PiecewiseAffine, ...]

    @property
    def pieces(self) -> int:
        return len(self.kinks) + 1

    def within(self, lo: int, hi: int) -> int:
        """Pieces between two points of the line."""
        return 1 + sum(lo < t < hi for t in self.kinks)


def along(net: ExactNetwork, point: Sequence[Any], direction: Sequence[Any]) -> Along:
    r"""The network on the line $t\mapsto\text{point}+t\cdot\text{direction}$, in rationals."""
    given = net @ ExactNetwork.affine([[v] for v in direction], list(point))
    state, grown = [affine(1)], [1]
    for step in given.steps:
        rows = zip(step.matrix.rows, step.offset)
        state = [combination([(fraction(a), state[j]) for j, a in row.items()], fraction(b)) for row, b in rows]
        if step.rectified.any():
            state = [relu(f) if on else f for f, on in zip(state, step.rectified)]
            grown.append(len({t for f in state for t in f.kinks}) + 1)
    kinks = sorted({t for f in state for t in f.kinks})
    return Along(tuple(grown), tuple(kinks), tuple(state))


def product_bound(widths: Sequence[int]) -> int:
    r"""$\prod_\ell(m_\ell+1)$ for hidden widths $m_\ell$."""
    return prod(m + 1 for m in widths)


def narrow_bound(widths: Sequence[int]) -> int:
    r"""The same, with $1+m_1+m_1m_2$ for the first two layers if $m_1\le2$.

    A combination of at most two ReLUs of one variable and a constant has at most two zeros that separate signs: with
    both pointing one way an outer piece is constant; pointing apart the middle piece is constant; pointing at each
    other the middle slope is the sum of the outer ones, so that the slopes do not alternate.
    """
    if len(widths) < 2 or widths[0] > 2:
        return product_bound(widths)
    first, second, *others = widths
    return (1 + first + first * second) * product_bound(others)


def two_by_two() -> ExactNetwork:
    """Hidden widths 2 and 2 with seven pieces: as many as there can be."""
    second = [[1, -2], [-1, 2]], [Fraction(-1, 4), Fraction(1, 2)]
    return ExactNetwork.dense([[[1], [1]], second[0], [[1, 2]]], [[0, -1], second[1], [0]])


def three_by_two() -> ExactNetwork:
    """Hidden widths 3 and 2 with twelve pieces: the product bound, and more than 1 + 3 + 3·2."""
    second = [[-2, 2, -3], [2, -2, 3]], [Fraction(9, 2), Fraction(-14, 3)]
    return ExactNetwork.dense([[[1], [-1], [-1]], second[0], [[1, 2]]], [[0, 1, 2], second[1], [0]])


def broken_triples(layers: Description, point: np.ndarray, direction: np.ndarray, triples: int) -> Enclosure:
    """How many pieces there are at least: one more than disjoint triples of equidistant points on the line that are
    surely not on a line in the graph, by intervals; each such triple holds a kink."""
    steps = 2 ** (3 * triples - 1).bit_length()
    t = (np.arange(3 * triples) - 1.5 * triples) * (4 / steps)  # exactly equidistant

    def second(params: Any, point: Any, direction: Any, t: Any) -> Any:
        y = layers.apply(params, point + t[:, None] * direction)[:, 0].reshape(triples, 3)
        return y[:, 0] - 2 * y[:, 1] + y[:, 2]

    found = enclose(second, layers.params, point, direction, t)
    broken = 0 if found is None else int(((found.lo > 0) | (found.hi < 0)).sum())
    return Enclosure(broken + 1, inf, Basis.EXACT)


def growth(found: Along, widths: Sequence[int], rng: np.random.Generator, name: str) -> Curves:
    """Pieces against depth: this network, a random one, the sawtooth, the bound."""
    depth = list(range(len(found.grown)))
    narrow = [min(m, 16) for m in widths]
    chance = along(exact(random_mlp(rng, (1, *narrow, 1), bias=0.5)), [0], [1]).grown
    folds = [1, *(folds_counted(k) for k in range(1, min(len(depth), 11)))]
    series = (
        Series("product bound", depth, [min(product_bound(widths[:k]), 10**300) for k in depth], "bound"),
        Series(name, depth, found.grown, "measured"),
        Series("random, one input", depth[: len(chance)], chance, "other"),
        Series("sawtooth, width 2", depth[: len(folds)], folds, "reference"),
    )
    return Curves("pieces against depth", Axis("hidden layers"), Axis("affine pieces", "log"), series)


def profile(found: Along) -> Curves:
    """The first output along the line, with its kinks."""
    kinks = found.kinks or (Fraction(0),)
    lo, hi = kinks[len(kinks) // 50], kinks[-1 - len(kinks) // 50]
    margin = max((hi - lo) / 8, Fraction(1, 4))
    shown = [t for t in kinks if lo <= t <= hi][:2000]
    f = found.outputs[0]
    marks = Series("kinks", [float(t) for t in shown], [float(f(t)) for t in shown], "reference", "points")
    line = curve("first output", f, [lo - margin, *shown, hi + margin])
    return Curves("along the line", Axis("t"), Axis("value"), (line, marks))


@cache
def folds_counted(k: int) -> int:
    """The affine pieces of the $k$-fold tent map on [0, 1]."""
    return along(sawtooth(k), [0], [1]).within(0, 1)


@cache
def examples(folds: int) -> tuple[tuple[Identity | AtMost, ...], Identity, dict[str, Enclosure]]:
    """What is attained: claims, the misprint that the product bound is attained as well, and the numbers behind."""
    tent, zigzag = folds_counted(folds), sparse_zigzag(5, 2)
    best, wide = (known(along(net, [0], [1]).pieces) for net in (two_by_two(), three_by_two()))
    claims = (
        Identity(f"pieces of the {folds}-fold tent on [0, 1]", known(tent), known(2**folds)),
        Identity("pieces of two sparse zig-zags of 5", known(along(zigzag, [0], [1]).within(0, 1)), known(25)),
        Identity("pieces of an example with widths (2, 2)", best, known(narrow_bound((2, 2)))),
    )
    numbers = {
        "pieces of the tent": known(tent),
        "pieces at widths (2, 2)": best,
        "pieces at widths (3, 2)": wide,
        "weights of the zig-zags": known(count(zigzag).connections),
    }
    return claims, Identity("most pieces for widths (2, 2) = product", best, known(product_bound((2, 2)))), numbers


def bounds(widths: Sequence[int]) -> tuple[Enclosure, Enclosure]:
    """The product bound, and the one that knows more where the first hidden layer is narrow."""
    return Enclosure.exact(product_bound(widths)), Enclosure.exact(narrow_bound(widths))


def pictures(found: Along, widths: Sequence[int], rng: np.random.Generator, name: str) -> tuple[Curves, Curves]:
    """Pieces against depth, and the function along the line."""
    return growth(found, widths, rng, name), profile(found)
