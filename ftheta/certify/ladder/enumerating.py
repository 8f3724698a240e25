r"""The constant itself, $\max_i\|A_i\|$ over all pieces of a ReLU network, where their enumeration ends.

Over all of space the pieces of a large box are looked at. If they are as many as those of space, which are counted in
homogeneous coordinates, they are all: the box is convex, so that no piece meets it twice.
"""

import numpy as np

from ftheta.graph.domains.linear.sets import BoxSet
from ftheta.logic.enclosure import Enclosure
from ftheta.pieces.domains import Box, Space
from ftheta.pieces.search import count_pieces, pieces
from ftheta.relu.network import ReluNetwork, Step

from .chains import Chain
from .climbing import natural_scale
from .domains import Domain

MOST_INPUTS = 5
MOST_INPUTS_OF_SPACE = 3
MOST_NEURONS = 256
WORK = 1e8  # elementary steps of a second
REACHES = (2.0**8, 2.0**16)  # half sides of the boxes, in units of the natural scale


def enumerate_pieces(
    chain: Chain, domain: Domain, norm: float, seconds: float
) -> tuple[Enclosure, int] | None:
    """An enclosure of the constant and the number of pieces; None where they are too many, or there are none."""
    most = MOST_INPUTS_OF_SPACE if domain.is_space else MOST_INPUTS
    if (
        not set(chain.words) <= {"relu", "identity"}
        or chain.inputs > most
        or chain.neurons > MOST_NEURONS
    ):
        return None
    if chain.scaling is not None or not chain.words:
        return None
    net = _normal_form(chain)
    work = WORK * seconds
    if isinstance(domain.region, BoxSet):
        lo, hi = domain.region.hull.lo[0].ravel(), domain.region.hull.hi[0].ravel()
        return _on_box(net, lo, hi, norm, work) if (lo < hi).all() else None
    if not domain.is_space:
        return None
    every = count_pieces(net, Space(chain.inputs), max_work=work / 2)
    if not every.is_point:
        return None
    for reach in REACHES:
        side = np.full(chain.inputs, reach * natural_scale(chain))
        found = _on_box(net, -side, side, norm, work / 2)
        if found is not None and found[1] == every.lo:
            return found
    return None


def _on_box(
    net: ReluNetwork, lo: np.ndarray, hi: np.ndarray, norm: float, work: float
) -> tuple[Enclosure, int] | None:
    cells = pieces(net, Box(lo, hi), max_work=work)
    return (cells.lipschitz(norm), len(cells)) if cells.certificate.complete else None


def _normal_form(chain: Chain) -> ReluNetwork:
    last = len(chain.weights) - 1
    steps = [
        Step(W, b, np.full(len(b), k < last and chain.words[k] == "relu"))
        for k, (W, b) in enumerate(zip(chain.weights, chain.biases))
    ]
    return ReluNetwork(tuple(steps))
