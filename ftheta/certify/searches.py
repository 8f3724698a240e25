"""What a search for a counter-example has come to."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Search:
    """`closed`: no input of the case is a counter-example, proved with outward rounding. `found`: an input that is one,
    by exact arithmetic. Of the subproblems, `looked_at` were bounded, and `left` are open."""

    closed: bool
    found: np.ndarray | None
    looked_at: int
    left: int
