"""How many affine pieces a network has along a line, layer by layer, and how many it can have."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, prod
from typing import Any

import numpy as np

from ftheta.graph.enclosing import enclose
from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.networks.description import Description
from ftheta.shapes import Float

from ..matrices import fraction
from ..network import ExactNetwork
from .cpa1d import PiecewiseAffine, affine, combination, relu


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
    state = [affine(1)]
    grown = [1]
    for step in given.steps:
        rows = zip(step.matrix.rows, step.offset)
        state = [
            combination([(fraction(a), state[j]) for j, a in row.items()], fraction(b))
            for row, b in rows
        ]
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


def broken_triples(
    layers: Description,
    point: Float[np.ndarray, "d"],
    direction: Float[np.ndarray, "d"],
    triples: int,
) -> Enclosure:
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
