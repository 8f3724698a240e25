"""Small networks in the plane whose pieces are known by heart."""

import numpy as np

from ftheta.networks.description import Dense, Description

_AXES = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


def _shallow(weight: np.ndarray, bias: np.ndarray, outer: np.ndarray) -> Description:
    return Description((Dense(weight, bias, "relu"), Dense(outer, np.zeros(len(outer)))))


KNOWN = {
    # four quadrants, and on each of them another map
    "|x₁| + |x₂|": _shallow(_AXES, np.zeros(4), np.ones((1, 4))),
    # the same four cells, but one linear region: the kinks cancel
    "identity": _shallow(_AXES, np.zeros(4), np.hstack([np.eye(2), -np.eye(2)])),
    # a triangle and the six cells around it: Zaslavsky's 1 + 3 + 3
    "three lines": _shallow(
        np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0.0, 0.0, -1.0]), np.ones((1, 3))
    ),
}
