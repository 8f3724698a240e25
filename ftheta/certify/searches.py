"""What a search for a counter-example has come to, and the answer to a question."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from ftheta.shapes import Float

Answer = Literal["sat", "unsat", "unknown", "timeout"]


@dataclass(frozen=True, eq=False)
class Search:
    """`closed`: no input of the box meets a disjunct, proved with outward rounding. `found`: an input that was accepted
    as a counter-example.

    `least` is a proved lower bound, over the box, of the least (over the disjuncts) of the largest excess of a
    disjunct's rows. `boxes` subproblems were looked at, `open` are left. It was `interrupted` if Ctrl-C ended it.
    """

    closed: bool
    found: Float[np.ndarray, "d"] | None
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


@dataclass(frozen=True)
class Verification:
    """The answer to a question, and how it was come by.

    `answer` is "sat" with a `witness`, "unsat" where it is proved that there is none, "timeout" or "unknown" where
    neither was shown within the budget. `meaning` is the function that the answer is about; of the `subproblems` looked
    at, so many are `open`. It was `interrupted` if Ctrl-C ended it: then the answer is what was shown until then.

    Where nothing was decided, `least` is the best enclosure: at every input of the set, each disjunct has a row whose
    left side exceeds its right side by at least `least` (below 0). It is −∞ where nothing of that kind is known.
    """

    answer: Answer
    witness: Witness | None
    method: str
    meaning: str
    subproblems: int
    open: int
    seconds: float
    cpu_seconds: float
    interrupted: bool = False
    least: float = -math.inf

    @property
    def holds(self) -> bool | None:
        """Whether the property holds; None where that was not decided."""
        return {"unsat": True, "sat": False}.get(self.answer)
