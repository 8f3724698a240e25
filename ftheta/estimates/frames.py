"""States between those that were computed, for pictures that move."""

import numpy as np

from ftheta.shapes import Float


def between(
    states: Float[np.ndarray, "frames *shape"], at: Float[np.ndarray, "k"]
) -> Float[np.ndarray, "k *shape"]:
    """The states at the positions `at`: `states[2]` at 2, half way on a straight line to `states[3]` at 2.5."""
    last = len(states) - 1
    k = np.clip(at.astype(int), 0, max(last - 1, 0))
    share = np.reshape(at - k, (-1,) + (1,) * (states.ndim - 1))
    return states[k] + share * (states[np.minimum(k + 1, last)] - states[k])
