"""Proposed counter-examples, judged in rationals."""

from fractions import Fraction

import numpy as np

from ftheta.relu.exact import ExactNetwork, exact
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Bool, Float, Int

from .leaves import ExactLeaves
from .questions import Case
from .repairing import repair
from .searches import Witness

Point = tuple[Fraction, ...]

NEAR = 1e-2  # of the size of a row, by which a point may miss it and still be worth moving
REPAIRS = 64  # points that are moved so that a row holds exactly, of one case


class Judge:
    """Decides whether points are counter-examples, in rationals; keeps the first one."""

    def __init__(self, net: ReluNetwork, case: Case) -> None:
        self._net = net
        self._exact: ExactNetwork | None = None
        self._case = case
        self._repairs = REPAIRS
        self._leaves = ExactLeaves(net, case, self.accept)
        self.witness: Witness | None = None

    def propose(self, point: Float[np.ndarray, "d"]) -> bool:
        """Whether the point is a counter-example, moved into the set by what rounding took it out, or to where rows
        hold that it almost meets."""
        if not np.isfinite(point).all():
            return False
        x = self._case.bring_inside(point.tolist())
        if not self.accept(x) and self._repairs > 0:
            self._repairs -= 1
            self._repair(self._in_rationals(), point, x, self._in_rationals()(x))
        return self.witness is not None

    def accept(self, x: Point) -> bool:
        """Whether a rational point is a counter-example as it is."""
        y = self._in_rationals()(x)
        if self._case.admits(x, y):
            self.witness = Witness(x, y)
        return self.witness is not None

    def finish(
        self,
        lo: Float[np.ndarray, "d"],
        hi: Float[np.ndarray, "d"],
        signs: Int[np.ndarray, "neurons"],
        passes: Bool[np.ndarray, "neurons"],
    ) -> bool | None:
        """Decide a part of the box in which all signs are known, in rationals (see `ExactLeaves`)."""
        return self._leaves.decide(lo, hi, signs, passes)

    def _in_rationals(self) -> ExactNetwork:
        self._exact = exact(self._net) if self._exact is None else self._exact
        return self._exact

    def _repair(self, in_rationals: ExactNetwork, point: np.ndarray, x: Point, y: Point) -> None:
        """Move the point to where the rows of the disjunct hold that it misses least."""
        nearest = min(
            self._case.unsafe,
            key=lambda rows: max((row.excess(x, y) for row in rows), default=Fraction(0)),
        )
        size = max(map(abs, (*x, *y)), default=Fraction(0)) + max(
            (abs(row.bound) for row in nearest), default=0
        )
        if any(row.excess(x, y) > Fraction(NEAR) * size for row in nearest):
            return
        moved = repair(self._net, in_rationals, self._case, nearest, point)
        if moved is None or not self._case.contains(moved):
            return
        image = in_rationals(moved)
        if self._case.admits(moved, image):
            self.witness = Witness(moved, image)
