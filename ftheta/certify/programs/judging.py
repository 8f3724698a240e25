"""Whether a point is a counter-example for certain: the outputs are enclosed there, the rows decided in rationals."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ftheta.certify.questions import Case, Row
from ftheta.certify.searches import Witness
from ftheta.shapes import Float

from .network import TracedNetwork


class EnclosingJudge:
    """Decides whether points are counter-examples, by enclosures of the outputs; keeps the first one."""

    def __init__(self, net: TracedNetwork, case: Case) -> None:
        self._net = net
        self._case = case
        self.witness: Witness | None = None

    def propose(self, point: Float[np.ndarray, "d"]) -> bool:
        """Whether the point, moved into the set by what rounding took it out, is a counter-example for certain."""
        if not np.isfinite(point).all():
            return False
        case = self._case
        x = case.bring_inside(point.tolist())
        if not case.contains(x):
            return False
        found = self._net.enclose_at(x)
        if not (np.isfinite(found.lo).all() and np.isfinite(found.hi).all()):
            return False
        low, high = ([Fraction(float(v)) for v in end] for end in (found.lo, found.hi))
        if any(all(_holds_surely(row, x, low, high) for row in rows) for rows in case.unsafe):
            middle = tuple((a + b) / 2 for a, b in zip(low, high))
            within = max(((b - a) / 2 for a, b in zip(low, high)), default=Fraction(0))
            self.witness = Witness(x, middle, within)
        return self.witness is not None


def _holds_surely(
    row: Row, x: Sequence[Fraction], low: Sequence[Fraction], high: Sequence[Fraction]
) -> bool:
    """Whether the row holds for all outputs between these ends."""
    worst = {j: high[j] if q > 0 else low[j] for j, q in row.outputs.items()}
    excess = sum((p * x[i] for i, p in row.inputs.items()), -row.bound)
    excess += sum((q * worst[j] for j, q in row.outputs.items()), Fraction(0))
    return excess < 0 if row.strict else excess <= 0
