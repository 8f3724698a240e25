"""Networks that compare pairs, told by their weights; and points at which they are tried."""

import numpy as np

from ftheta.relu.counts import is_plain
from ftheta.relu.maxima.maximum import Shape, hidden_layers, maximum
from ftheta.relu.network import ExactNetwork
from ftheta.relu.symmetry.canonical import equal_by_symmetry

SHAPES: tuple[Shape, ...] = ("tree", "chain")


def shape_of(net: ExactNetwork) -> Shape | None:
    """Whether the network is, up to order and positive scaling of its neurons, the tree or the chain of pairs."""
    M = net.widths[0]
    outputs = net.widths[-1]
    if outputs != 1 or M < 2 or not is_plain(net):
        return None
    depth = len(net.steps) - 1
    for shape in SHAPES:
        if hidden_layers(M, shape) == depth and equal_by_symmetry(net, maximum(M, shape)):
            return shape
    return None


def tied_points(M: int, points: int, rng: np.random.Generator) -> np.ndarray:
    """Integer points, half of them from so few values that there are ties."""
    wide = rng.integers(-999, 1000, (points - points // 2, M))
    narrow = rng.integers(-1, 2, (points // 2, M))
    return np.concatenate([wide, narrow])
