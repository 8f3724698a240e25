"""`python -m ftheta.pieces` compiles every kernel now and keeps it on disk, so that no first count waits for it."""

import numpy as np

from ftheta.relu import ReluNetwork

from .domains import Box
from .search import count_pieces

DIMENSIONS = (1, 2, 3, 12)  # intervals, polygons, polytopes, linear programs


def main() -> None:
    """Count the pieces of a small random network in every dimension, so that all kernels are compiled."""
    rng = np.random.default_rng(0)
    for d in DIMENSIONS:
        widths = ((4, d), (3, 4), (1, 3))
        network = ReluNetwork.dense(
            [rng.normal(size=w) for w in widths], [rng.normal(size=w[0]) for w in widths]
        )
        print(f"d = {d}: {count_pieces(network, Box([-1.0] * d, [1.0] * d)).lo:.0f} pieces")


if __name__ == "__main__":
    main()
