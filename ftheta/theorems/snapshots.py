"""Snapshots of a moving shape, one row per time: built-in data of the theorems on reduced models."""

import numpy as np

SNAPSHOTS = ("travelling pulse", "circling pulse", "nearly tied", "diagonal 3 2 1")


def snapshots(kind: str, n: int, d: int) -> np.ndarray:
    """Data with a story: rows in the order of time."""
    t = np.linspace(0, 1, n)[:, None]
    x = np.linspace(0, 1, d)[None]
    match kind:
        case "travelling pulse":  # moves to the right and widens
            return np.exp(-(((x - 0.2 - 0.5 * t) / (0.1 * (1 + t))) ** 2))
        case "circling pulse":
            # on a ring, one step per snapshot: every non-constant wave comes as a pair of equal size
            ring = np.minimum(np.arange(n), n - np.arange(n)) / n
            return np.array([np.roll(np.exp(-((ring / 0.1) ** 2)), k) for k in range(n)])
        case "nearly tied":
            return np.diag([4.0, 3.0, 2.0, 1.98, 1.0])
        case _:
            return np.diag([3.0, 2.0, 1.0])
