"""`python -m ftheta.transport` compiles every kernel now and keeps it on disk, so that no first answer waits for it."""

import numpy as np

from .solving import transport


def main() -> None:
    """Move a few random points of the plane, by both kinds of costs."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 2))
    y = rng.normal(size=(6, 2))
    print(transport(x, y), transport(x, y, cost="euclidean"), sep="\n")


if __name__ == "__main__":
    main()
