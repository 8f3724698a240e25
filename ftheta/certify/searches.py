"""What a search for a counter-example has come to."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np


@dataclass(frozen=True, eq=False)
class Search:
    """`closed`: no input of the box meets a disjunct, proved with outward rounding. `found`: an input that was accepted
    as a counter-example.

    `least` is a proved lower bound, over the box, of the least (over the disjuncts) of the largest excess of a
    disjunct's rows. `boxes` subproblems were looked at, `open` are left. It was `interrupted` if Ctrl-C ended it.
    """

    closed: bool
    found: np.ndarray | None
    least: float
    boxes: int
    open: int
    interrupted: bool = False


@dataclass(frozen=True)
class Witness:
    """A counter-example: an input, exact, and the output of the network there.

    Every entry of the output lies `within` so much of `y`, and all numbers there meet the question; 0 where `y` is
    exact.
    """

    x: tuple[Fraction, ...]
    y: tuple[Fraction, ...]
    within: Fraction = Fraction(0)
