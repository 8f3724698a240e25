r"""From float64 to rational weights and back.

`exact(net)` takes the float64 weights at their exact binary values. `round_weights(net)` goes back and says whether
every weight survived; `net.in_floats()` goes back and keeps, beside the nearest floats, the rationals that did not. All
constructions of this package are made in rationals first.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.description import Description

from .matrices import fraction, nearest
from .network import ExactNetwork, ReluNetwork, Step, compact_rows


@dataclass(frozen=True, eq=False)
class Rounded:
    """A float64 network and whether its weights equal the rational ones; `largest_error` is that of one weight."""

    network: ReluNetwork
    is_exact: bool
    largest_error: float


def exact(net: ReluNetwork | ExactNetwork | Description) -> ExactNetwork:
    """The network with its weights at their exact binary values."""
    return (from_description(net) if isinstance(net, Description) else net).in_rationals()


def from_description(description: Description) -> ReluNetwork:
    """The normal form of a list of ReLU (or identity) layers."""
    words = {layer.activation for layer in description.layers} - {"relu", "identity"}
    if words:
        raise SubjectError(
            "Only ReLU and identity layers have a ReLU normal form.",
            got=", ".join(sorted(words)),
            remedy="replace the activation by a piecewise-affine one",
        )
    steps = [Step(y.weight, y.bias, np.full(len(y.bias), y.activation == "relu")) for y in description.layers]
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
        errors.append(max((abs(fraction(a) - Fraction(nearest(a))) for a in numbers), default=Fraction(0)))
    error = max(errors)
    return Rounded(ReluNetwork(tuple(steps)), error == 0, float(error))
