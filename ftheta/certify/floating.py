r"""Questions about a deployed network: what it computes in `float32` or `float64`, in any order of summation.

A proof rests on the real function: where the excess of a row is larger than what rounding can take off it
(`deviations`), no program of that type meets the row. The rows of a case are widened by so much, over a box and over
its parts, and the wider case is decided for the real function. A counter-example is a point of that type inside the
set at which the network was run: a chain with sums from left to right, each product and each sum rounded, the offset
last; any other network operator by operator, each rounding its results.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ftheta.processes.compilation import clock
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Bool, Float, Int

from .deviations import Deviation, FloatType, bound_deviations, widen_rows
from .goals import Array, Goal, set_goal
from .questions import Box, Case
from .searches import Search, Witness

if TYPE_CHECKING:
    from .programs.network import TracedNetwork

SLICE = 2.0  # seconds for one box before it is halved
SAMPLES = 1024  # random points at which the network is run before anything is proved
NEIGHBOURS = 24  # floats around a promising point that are tried
STEPS_AWAY = 8  # how many floats away they are

SearchCase = Callable[[Any, Case, "FloatJudge", float], tuple[str, Search]]


def describe(kind: FloatType) -> str:
    """What an answer is about."""
    return f"what a {kind.name} program with the stored weights computes, in any order of summation"


def cover_readings(case: Case, kind: FloatType) -> Case:
    """A wider case: constants as they are written, and as the nearest numbers of the type, in the box alone."""
    lo = tuple(min(a, nearest_float(a, kind)) for a in case.box.lo)
    hi = tuple(max(b, nearest_float(b, kind)) for b in case.box.hi)
    unsafe = tuple(
        tuple(
            replace(row, bound=max(row.bound, nearest_float(row.bound, kind)), strict=False)
            for row in rows
        )
        for rows in case.unsafe
    )
    return replace(case, box=Box(lo, hi), unsafe=unsafe, ball=None)


def list_readings(case: Case, kind: FloatType) -> tuple[Case, Case]:
    """The case with its constants as they are written, and as the nearest numbers of the type.

    An input between whose bounds there is no number of the type is bounded by the nearest ones in both.
    """
    near = Box(
        tuple(nearest_float(a, kind) for a in case.box.lo),
        tuple(nearest_float(b, kind) for b in case.box.hi),
    )
    has_floats = [
        _float_above(a, kind) <= _float_below(b, kind) for a, b in zip(case.box.lo, case.box.hi)
    ]
    lo = tuple(a if own else c for a, c, own in zip(case.box.lo, near.lo, has_floats))
    hi = tuple(b if own else c for b, c, own in zip(case.box.hi, near.hi, has_floats))
    unsafe = tuple(
        tuple(replace(row, bound=nearest_float(row.bound, kind)) for row in rows)
        for rows in case.unsafe
    )
    return replace(case, box=Box(lo, hi)), replace(case, box=near, unsafe=unsafe)


def split_disjuncts(case: Case, most: int) -> Iterator[Case]:
    """The same case in parts of at most so many disjuncts."""
    for begin in range(0, len(case.unsafe), most):
        yield replace(case, unsafe=case.unsafe[begin : begin + most])


def nearest_float(value: Fraction, kind: FloatType) -> Fraction:
    """The nearest number of the type, ties to even; the value itself beyond its range."""
    if value == 0:
        return value
    size = abs(value)
    digits = round(-np.log2(kind.unit))
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent  # now 2^exponent ≤ size < 2^(exponent + 1)
    least = round(np.log2(kind.least))
    ulp = Fraction(2) ** (max(exponent, least) - digits + 1)
    found = round(size / ulp) * ulp  # Python rounds ties to even
    found = size if found > Fraction(kind.largest) else found
    return found if value > 0 else -found


class FloatJudge:
    """Runs a network in a type at points that look like counter-examples; keeps the first one that is."""

    def __init__(
        self,
        net: "ReluNetwork | TracedNetwork",
        case: Case,
        written: Iterable[Case],
        kind: FloatType,
    ) -> None:
        """`case` is the widened one, `written` are all readings of the case that a counter-example has to meet."""
        self._net = net
        self._case = case
        self._written = tuple(written)
        self._kind = kind
        self._rng = np.random.default_rng(0)
        self._weights = [
            (
                np.ascontiguousarray(step.dense().astype(kind.dtype).T),
                step.offset.astype(kind.dtype),
                step.rectified,
            )
            for step in (net.steps if isinstance(net, ReluNetwork) else ())
        ]
        self._goal = set_goal(case, net.widths[0], net.widths[-1])
        self.witness: Witness | None = None
        self.undecidable: Array | None = None

    def run(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        """The outputs at points `(n, d)` of the type."""
        if not isinstance(self._net, ReluNetwork):
            return self._net.run_in(self._kind.dtype, points)
        state = np.asarray(points, self._kind.dtype)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for columns, offset, rectified in self._weights:
                sums = np.zeros((len(state), len(offset)), self._kind.dtype)
                for j, column in enumerate(columns):
                    sums = sums + state[:, j : j + 1] * column
                sums = sums + offset
                state = np.where(rectified, np.maximum(sums, self._kind.dtype(0)), sums)
        return state

    def propose(self, point: Float[np.ndarray, "d"]) -> bool:
        """Whether the search may end: a counter-example was found at the point or beside it, or the real function meets
        the widened rows there, so that these cannot be excluded."""
        if not np.isfinite(point).all():
            return False
        if self._try(self._neighbours(point)):
            return True
        if _meets(self._net, self._goal, point):
            self.undecidable = point
            return True
        return False

    def sample(self) -> bool:
        """Whether a counter-example is among random points of the set."""
        low, high = self._inner_box()
        points = self._rng.uniform(low, high, (SAMPLES, len(low))).astype(self._kind.dtype)
        return self._try(np.clip(points, low, high))

    def _try(self, points: Array) -> bool:
        """Run the network at points of the type; the first one that meets all readings is kept."""
        outputs = self.run(points)
        goal = self._goal
        excess = goal.worst(goal.excess(points.astype(np.float64), outputs.astype(np.float64))).min(
            1, initial=np.inf
        )
        for k in np.flatnonzero(np.isfinite(outputs).all(1) & (excess <= 0)):
            x, y = (tuple(Fraction(float(v)) for v in values[k]) for values in (points, outputs))
            if all(case.admits(x, y) for case in self._written):
                self.witness = Witness(x, y)
                return True
        return False

    def finish(
        self,
        lo: Float[np.ndarray, "d"],
        hi: Float[np.ndarray, "d"],
        signs: Int[np.ndarray, "neurons"],
        passes: Bool[np.ndarray, "neurons"],
    ) -> None:
        """Parts of the box are not decided in rationals: the widened question has no ties that matter."""

    def _neighbours(self, point: Array) -> Array:
        """The point as one of the type inside the set, and others a few floats away."""
        dtype = self._kind.dtype
        low, high = self._inner_box()
        at = np.repeat(point.astype(dtype)[None], NEIGHBOURS + 1, axis=0)
        spacing = np.spacing(np.abs(at)) * self._rng.integers(
            -STEPS_AWAY, STEPS_AWAY + 1, at.shape
        ).astype(dtype)
        spacing[0] = 0
        return np.clip(at + spacing, low, high).astype(dtype)

    def _inner_box(self) -> tuple[Array, Array]:
        """The floats of the type inside all readings of the box, or the nearest ones where there are none."""
        lows, highs = zip(*((case.box.lo, case.box.hi) for case in self._written))
        low = [_float_above(max(values), self._kind) for values in zip(*lows)]
        high = [_float_below(min(values), self._kind) for values in zip(*highs)]
        return np.array(low, self._kind.dtype), np.array(
            [max(a, b) for a, b in zip(low, high)], self._kind.dtype
        )


def _float_above(value: Fraction, kind: FloatType) -> float:
    near = nearest_float(value, kind)
    found = kind.dtype(float(near))
    return float(found if near >= value else np.nextafter(found, kind.dtype(np.inf)))


def _float_below(value: Fraction, kind: FloatType) -> float:
    return -_float_above(-value, kind)


def search_in_floats(
    net: "ReluNetwork | TracedNetwork",
    wide: Case,
    written: Iterable[Case],
    kind: FloatType,
    search: SearchCase,
    seconds: float,
    splits: bool,
) -> tuple[Witness | None, int, int]:
    """Decide one case: a counter-example, how many subproblems were looked at, and how many are open.

    `wide` is asked for a proof, `written` are the readings that a counter-example has to meet. With `splits`, boxes
    that cannot be decided are halved: rounding errs by less over smaller ones.
    """
    ends = clock() + seconds
    waiting = [tuple(np.array(side, np.float64) for side in wide.box.outer())]
    looked_at = 0
    is_open = 0
    readings = tuple(written)
    first = FloatJudge(net, wide, readings, kind)
    if first.sample():
        return first.witness, SAMPLES, 0
    while waiting:
        left = ends - clock()
        low, high = waiting.pop()
        if left <= 0:
            return None, looked_at, is_open + len(waiting) + 1
        part = _widen(net, wide, low, high, kind)
        judge = None
        if part is not None:
            judge = FloatJudge(net, part, readings, kind)
            _, found = search(net, part, judge, min(left, SLICE) if splits else left)
            looked_at += found.boxes
            if judge.witness is not None:
                return judge.witness, looked_at, is_open
            if found.closed:
                continue
        halves = _halve(low, high) if splits else None
        point = None if judge is None else judge.undecidable
        if halves is None or (point is not None and _stays_undecidable(net, wide, point, kind)):
            return None, looked_at, is_open + len(waiting) + 1
        waiting += halves
    return None, looked_at, is_open


def _widen(
    net: "ReluNetwork | TracedNetwork", case: Case, low: Array, high: Array, kind: FloatType
) -> Case | None:
    """The case over a part of its box, its rows widened by all that rounding may do there."""
    found = _bound(net, low, high, kind)
    if found is None:
        return None
    deviation, sizes = found
    goal = set_goal(case, net.widths[0], net.widths[-1])
    more = iter(widen_rows(goal, deviation, sizes))
    unsafe = tuple(
        tuple(
            replace(row, bound=row.bound + Fraction(float(next(more))), strict=False)
            for row in rows
        )
        for rows in case.unsafe
    )
    lo = tuple(max(a, Fraction(float(v))) for a, v in zip(case.box.lo, low))
    hi = tuple(min(b, Fraction(float(v))) for b, v in zip(case.box.hi, high))
    return replace(case, box=Box(lo, hi), unsafe=unsafe)


def _bound(
    net: "ReluNetwork | TracedNetwork", low: Array, high: Array, kind: FloatType
) -> tuple[Deviation, Array] | None:
    if isinstance(net, ReluNetwork):
        return bound_deviations(net, low, high, kind)
    from .program_deviations import bound_program_deviations  # needs JAX, which chains do without

    return bound_program_deviations(net.program, low, high, kind)


def _stays_undecidable(
    net: "ReluNetwork | TracedNetwork", case: Case, point: Array, kind: FloatType
) -> bool:
    """Whether the widened rows are met at a point even where they are widened for it alone: no smaller box helps."""
    part = _widen(net, case, point, point, kind)
    return part is None or _meets(net, set_goal(part, net.widths[0], net.widths[-1]), point)


def _meets(net: "ReluNetwork | TracedNetwork", goal: Goal, point: Array) -> bool:
    """Whether the real function meets a disjunct at a point, in float64: what is done next depends on it, no answer."""
    y = net(point[None]) if isinstance(net, ReluNetwork) else net.propagate(point[None])[0]
    return bool(goal.worst(goal.excess(point[None], y)).min(initial=np.inf) <= 0)


def _halve(low: Array, high: Array) -> list[tuple[Array, Array]] | None:
    """The box in two, across its widest side."""
    side = int(np.argmax(high - low))
    middle = 0.5 * low[side] + 0.5 * high[side]
    if not low[side] < middle < high[side]:
        return None
    below = high.copy()
    below[side] = middle
    above = low.copy()
    above[side] = middle
    return [(low, below), (above, high)]
