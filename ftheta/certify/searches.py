"""What a search for a counter-example has come to."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Search:
    """`closed`: no input of the box meets a disjunct, proved with outward rounding. `found`: an input that was accepted
    as a counter-example.

    `least` is a proved lower bound, over the box, of the least (over the disjuncts) of the largest excess of a
    disjunct's rows. `boxes` subproblems were looked at, `open` are left.
    """

    closed: bool
    found: np.ndarray | None
    least: float
    boxes: int
    open: int
