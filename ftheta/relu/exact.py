r"""From float64 to rational weights and back.

`exact(net)` takes the float64 weights at their exact binary values. `round_weights(net)` goes back and says whether
every weight survived; `net.in_floats()` goes back and keeps, beside the nearest floats, the rationals that did not. All
constructions of this package are made in rationals first.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b

import numpy as np

from ftheta.lazy import is_sparse
from ftheta.logic.errors import SubjectError
from ftheta.networks.description import Description

from .matrices import fraction, nearest
from .network import ExactNetwork, ReluNetwork, Step, compact_rows

MOST_KEPT = 1_000_000  # weights of the networks whose rationals are kept: about a hundred megabytes


class _Kept:
    """The rationals of the networks that were asked for last, by the numbers of their weights: arrays may be changed
    in place, and a file that is read twice gives two networks with the same numbers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found = OrderedDict[bytes, tuple[ExactNetwork, int]]()

    def find(self, net: ReluNetwork) -> ExactNetwork:
        size = sum(
            step.matrix.nnz if is_sparse(step.matrix) else step.matrix.size for step in net.steps
        )
        if size > MOST_KEPT or net.is_long:
            return net.in_rationals()
        key = _digest(net)
        with self._lock:
            if key not in self._found:
                self._found[key] = (net.in_rationals(), size)
            self._found.move_to_end(key)
            while sum(size for _, size in self._found.values()) > MOST_KEPT:
                self._found.popitem(last=False)
            return self._found[key][0]


def _digest(net: ReluNetwork) -> bytes:
    """Two networks without long rows have the same one if all their numbers agree, bit by bit, and nobody tries."""
    hashed = blake2b(net.rounded.encode())
    for step in net.steps:
        matrix = step.matrix
        parts = (matrix.data, matrix.indices, matrix.indptr) if is_sparse(matrix) else (matrix,)
        for part in (*parts, step.offset, step.rectified):
            hashed.update(f"{part.dtype} {part.shape};".encode())
            hashed.update(np.ascontiguousarray(part).data)
    return hashed.digest()


_kept = _Kept()


@dataclass(frozen=True, eq=False)
class Rounded:
    """A float64 network and whether its weights equal the rational ones; `largest_error` is that of one weight."""

    network: ReluNetwork
    is_exact: bool
    largest_error: float


def exact(net: ReluNetwork | ExactNetwork | Description) -> ExactNetwork:
    """The network with its weights at their exact binary values; those of the last networks are kept."""
    if isinstance(net, Description):
        net = from_description(net)
    return _kept.find(net) if isinstance(net, ReluNetwork) else net


def from_description(description: Description) -> ReluNetwork:
    """The normal form of a list of ReLU (or identity) layers."""
    words = {layer.activation for layer in description.layers} - {"relu", "identity"}
    if words:
        raise SubjectError(
            "Only ReLU and identity layers have a ReLU normal form.",
            got=", ".join(sorted(words)),
            remedy="replace the activation by a piecewise-affine one",
        )
    steps = [
        Step(y.weight, y.bias, np.full(len(y.bias), y.activation == "relu"))
        for y in description.layers
    ]
    if steps[-1].rectified.any():
        m = len(steps[-1].offset)
        steps.append(Step(np.eye(m), np.zeros(m), np.zeros(m, bool)))
    return ReluNetwork(tuple(steps))


def round_weights(net: ExactNetwork) -> Rounded:
    """The network with every weight rounded to the nearest float64 number (and none to zero that is not)."""
    steps = []
    errors = [Fraction(0)]
    for step in net.steps:
        offset = np.array([nearest(b) for b in step.offset], np.float64)
        steps.append(Step(compact_rows(step.matrix), offset, step.rectified))
        numbers = (*step.offset, *(a for row in step.matrix.rows for a in row.values()))
        errors.append(
            max((abs(fraction(a) - Fraction(nearest(a))) for a in numbers), default=Fraction(0))
        )
    error = max(errors)
    return Rounded(ReluNetwork(tuple(steps)), error == 0, float(error))
