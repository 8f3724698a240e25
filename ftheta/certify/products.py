r"""Questions with products of inputs and outputs, by bisecting the box of inputs.

Over a box, a product $ab$ of two affine forms with $a\in[l,u]$, $b\in[m,v]$ lies above $lb+ma-lm$ and $ub+va-uv$, and
below $ub+ma-um$ and $lb+va-lv$ (McCormick); a square lies above its tangents too. With these a row becomes one that is
affine in inputs and outputs, and is bounded by linear relaxation with outward rounding. The envelopes close
quadratically as boxes shrink. Counter-examples are checked in rationals.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ftheta.processes.compilation import clock
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork

from .goals import Array, set_goal
from .neurons.enclosing import enclose
from .neurons.frames import BeyondRange, Frame
from .neurons.inputs import Inputs
from .neurons.targets import Targets
from .questions import Box, Case, Question, Row
from .searches import Witness

SAMPLES = 2000  # random points that are tried first
ZERO = Fraction(0)

Terms = Mapping[int, Fraction]
Interval = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Factor:
    r"""$\sum_ip_ix_i+\sum_jq_jy_j+c$; outputs beyond those of the network are products before this one."""

    inputs: Terms
    outputs: Terms
    constant: Fraction


@dataclass(frozen=True)
class ProductSearch:
    """A witness if one was found; how many boxes were looked at, and how many are open."""

    witness: Witness | None
    boxes: int
    open: int


class ProductSolver:
    """Decides questions whose last outputs are products of affine forms."""

    def __init__(self, net: ReluNetwork, products: Sequence[Sequence[Factor]]) -> None:
        self._net = net
        self._exact = exact(net)
        self._products = tuple(tuple(factors) for factors in products)
        self._outputs = net.widths[-1]

    def decide(self, question: Question, seconds: float) -> ProductSearch:
        ends = clock() + seconds
        boxes = 0
        is_open = 0
        for case in question.cases:
            if case.box.is_empty or not case.unsafe:
                continue
            found = self._search(case, ends)
            boxes += found.boxes
            is_open += found.open
            if found.witness is not None:
                return ProductSearch(found.witness, boxes, is_open)
        return ProductSearch(None, boxes, is_open)

    def _search(self, case: Case, ends: float) -> ProductSearch:
        low, high = (np.array(side, np.float64) for side in case.box.outer())
        width = np.maximum(high - low, 1e-300)
        witness = self._sample(case, low, high)
        if witness is not None:
            return ProductSearch(witness, 1, 1)
        waiting = [(low, high)]
        boxes = 0
        stuck = 0
        while waiting:
            if clock() > ends:
                return ProductSearch(None, boxes, len(waiting) + stuck)
            low, high = waiting.pop()
            boxes += 1
            left = self._open_disjuncts(case, low, high)
            if not left:
                continue
            witness = self._check(case, 0.5 * low + 0.5 * high)
            if witness is not None:
                return ProductSearch(witness, boxes, 1)
            side = int(np.argmax((high - low) / width))
            middle = 0.5 * low[side] + 0.5 * high[side]
            if not low[side] < middle < high[side]:
                stuck += 1
                continue
            below, above = high.copy(), low.copy()
            below[side] = above[side] = middle
            waiting += [(low, below), (above, high)]
        return ProductSearch(None, boxes, stuck)

    # -- points -------------------------------------------------------------------------------------------------------

    def _sample(self, case: Case, low: Array, high: Array) -> Witness | None:
        """Random points and the centre, those that look like witnesses in float64 first."""
        points = np.random.default_rng(0).uniform(low, high, (SAMPLES, len(low)))
        points[0] = 0.5 * low + 0.5 * high
        values = self._net(points)
        for factors in self._products:
            product = np.ones(len(points))
            for factor in factors:
                product = product * _evaluate(factor, points, values)
            values = np.column_stack([values, product])
        goal = set_goal(case, len(low), values.shape[1])
        worst = goal.worst(goal.excess(points, values)).min(1)
        for k in np.argsort(worst)[:4]:
            witness = self._check(case, points[k]) if worst[k] <= 1e-9 else None
            if witness is not None:
                return witness
        return None

    def _check(self, case: Case, point: Array) -> Witness | None:
        """Whether a point is a witness, exactly: products are outputs of the question, not of the network."""
        x = tuple(
            min(max(Fraction(float(v)), a), b) for v, a, b in zip(point, case.box.lo, case.box.hi)
        )
        y = self._exact(x)
        extended = list(y)
        for factors in self._products:
            product = Fraction(1)
            for factor in factors:
                linear = sum((p * x[i] for i, p in factor.inputs.items()), factor.constant)
                product *= linear + sum((q * extended[j] for j, q in factor.outputs.items()), ZERO)
            extended.append(product)
        return Witness(x, y) if case.admits(x, extended) else None

    # -- bounds -------------------------------------------------------------------------------------------------------

    def _open_disjuncts(self, case: Case, low: Array, high: Array) -> list[int]:
        """The disjuncts that are not excluded over a box."""
        try:
            frame, _ = enclose(self._net, Inputs(low, high))
        except BeyondRange:
            return list(range(len(case.unsafe)))
        part = replace(
            case, box=Box(tuple(map(Fraction, low.tolist())), tuple(map(Fraction, high.tolist())))
        )
        ranges = self._bound_factors(part, frame)
        rows = [row for disjunct in case.unsafe for row in disjunct]
        candidates = list[Row]()
        owners = list[int]()
        for s, row in enumerate(rows):
            for line in self._linearise(row, ranges):
                candidates.append(line)
                owners.append(s)
        least = np.full(len(rows), -np.inf)
        np.maximum.at(least, owners, self._bound_below(part, candidates, frame))
        left = list[int]()
        at = 0
        for d, disjunct in enumerate(case.unsafe):
            own = least[at : at + len(disjunct)]
            at += len(disjunct)
            strict = np.array([row.strict for row in disjunct], bool)
            if not ((own > 0) | (strict & (own >= 0))).any():
                left.append(d)
        return left

    def _bound_below(self, case: Case, rows: Sequence[Row], frame: Frame) -> Array:
        """Lower bounds of the excesses of rows that are affine in inputs and outputs."""
        alone = replace(case, unsafe=tuple((row,) for row in rows))
        return Targets(set_goal(alone, self._net.widths[0], self._outputs)).bound_plainly(frame)

    def _bound_factors(self, case: Case, frame: Frame) -> list[list[Interval]]:
        """The ranges of all factors of all products over the box."""
        ranges = list[list[Interval]]()
        for factors in self._products:
            rows = list[Row]()
            for factor in factors:
                own = {j: q for j, q in factor.outputs.items() if j < self._outputs}
                rows.append(Row(factor.inputs, own, -factor.constant))
                rows.append(Row(_negative(factor.inputs), _negative(own), factor.constant))
            bounds = [Fraction(float(v)) for v in self._bound_below(case, rows, frame)]
            found = list[Interval]()
            for k, factor in enumerate(factors):
                low, high = bounds[2 * k], -bounds[2 * k + 1]
                for j, q in factor.outputs.items():
                    if j >= self._outputs:
                        inner = _times((q, q), _multiply(ranges[j - self._outputs]))
                        low, high = low + inner[0], high + inner[1]
                found.append((low, high))
            ranges.append(found)
        return ranges

    def _linearise(self, row: Row, ranges: list[list[Interval]]) -> Iterator[Row]:
        """Affine rows whose excess is never above that of the row: once for either choice of envelopes."""
        own = {j: q for j, q in row.outputs.items() if j < self._outputs}
        products = [(j - self._outputs, q) for j, q in row.outputs.items() if j >= self._outputs]
        if not products:
            yield Row(row.inputs, own, row.bound)
            return
        for choice in range(3):
            inputs = dict(row.inputs)
            outputs = dict(own)
            bound = row.bound
            for k, coefficient in products:
                factors = self._products[k]
                if len(factors) != 2 or any(
                    j >= self._outputs for factor in factors for j in factor.outputs
                ):
                    bound -= min(coefficient * end for end in _multiply(ranges[k]))
                    continue
                a, b, constant = _envelope(factors, ranges[k], coefficient > 0, choice)
                for factor, slope in ((factors[0], a), (factors[1], b)):
                    _add(inputs, factor.inputs, coefficient * slope)
                    _add(outputs, factor.outputs, coefficient * slope)
                    bound -= coefficient * slope * factor.constant
                bound -= coefficient * constant
            yield Row(_nonzero(inputs), _nonzero(outputs), bound)


def _envelope(
    factors: tuple[Factor, ...], ranges: list[Interval], is_lower: bool, choice: int
) -> tuple[Fraction, Fraction, Fraction]:
    r"""$\alpha,\beta,c$ with $\alpha a+\beta b+c\le ab$ over the ranges of $a$ and $b$, or $\ge$ if not `is_lower`."""
    (a_low, a_high), (b_low, b_high) = ranges
    if is_lower and choice == 2:
        if factors[0] != factors[1]:
            choice = 0
        else:  # the tangent of a square at the middle
            middle = (a_low + a_high) / 2
            return middle, middle, -middle * middle
    if is_lower:
        a, b = (a_low, b_low) if choice == 0 else (a_high, b_high)
    else:
        a, b = (a_high, b_low) if choice == 0 else (a_low, b_high)
    return b, a, -a * b


def _evaluate(factor: Factor, points: Array, values: Array) -> Array:
    found = np.full(len(points), float(factor.constant))
    for i, p in factor.inputs.items():
        found = found + float(p) * points[:, i]
    for j, q in factor.outputs.items():
        found = found + float(q) * values[:, j]
    return found


def _multiply(ranges: Sequence[Interval]) -> Interval:
    product: Interval = (Fraction(1), Fraction(1))
    for factor in ranges:
        product = _times(product, factor)
    return product


def _times(one: Interval, other: Interval) -> Interval:
    corners = [a * b for a in one for b in other]
    return min(corners), max(corners)


def _negative(terms: Terms) -> dict[int, Fraction]:
    return {k: -v for k, v in terms.items()}


def _add(total: dict[int, Fraction], terms: Terms, scale: Fraction) -> None:
    for k, v in terms.items():
        total[k] = total.get(k, ZERO) + scale * v


def _nonzero(terms: Terms) -> dict[int, Fraction]:
    return {k: v for k, v in terms.items() if v}
