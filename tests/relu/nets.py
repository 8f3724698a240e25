"""Random networks and rational points for the tests of `relu`."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from ftheta.relu.network import ExactNetwork

rationals = st.builds(Fraction, st.integers(-12, 12), st.integers(1, 6))


@st.composite
def networks(
    draw,
    inputs: int | None = None,
    outputs: int | None = None,
    max_depth: int = 3,
    plain: bool = True,
):
    """A small rational network; with `plain=False` some hidden coordinates are not rectified."""
    depth = draw(st.integers(1, max_depth))
    ends = [draw(st.integers(1, 3)) if n is None else n for n in (inputs, outputs)]
    widths = [ends[0], *(draw(st.integers(1, 3)) for _ in range(depth - 1)), ends[1]]
    parts = []
    for k, (m, n) in enumerate(pairwise(widths)):
        matrix = [[draw(rationals) for _ in range(m)] for _ in range(n)]
        hidden = k < depth - 1
        mask = [hidden and (plain or draw(st.booleans())) for _ in range(n)]
        parts.append((matrix, [draw(rationals) for _ in range(n)], np.array(mask)))
    return ExactNetwork.affine([[0]]).rebuilt(parts)


def points(d: int):
    return st.lists(rationals, min_size=d, max_size=d)


def shuffled(net: ExactNetwork, rng: np.random.Generator) -> ExactNetwork:
    """A copy under random permutations and positive rescalings of the hidden neurons."""
    weights = [step.matrix.table() for step in net.steps]
    biases = [[Fraction(int(b.p), int(b.q)) for b in step.offset] for step in net.steps]
    for k in range(len(weights) - 1):
        order = rng.permutation(len(biases[k]))
        scale = [Fraction(int(rng.integers(1, 9)), int(rng.integers(1, 9))) for _ in order]
        weights[k] = [[scale[i] * a for a in weights[k][i]] for i in order]
        biases[k] = [scale[i] * biases[k][i] for i in order]
        weights[k + 1] = [[row[i] / scale[i] for i in order] for row in weights[k + 1]]
    return ExactNetwork.dense(weights, biases)
