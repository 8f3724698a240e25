r"""Boxes over which the network is affine, up to a few neurons: decided by linear programs in rationals.

Bounds in float64 never exclude a tie: where $f(x)\le f(x')$ is asked for $x\le x'$, both agree on the diagonal, and
boxes around it stay open however small they are. But as soon as all neurons have their signs over a box, the rows of a
disjunct are affine in the inputs, and whether a point of the box meets them is a linear program. It is solved exactly,
once for every combination of signs of the neurons that are still open.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.relu.geometry import Form
from ftheta.relu.linear_programs import deepest, maximise
from ftheta.relu.matrices import fraction, rational
from ftheta.relu.network import ReluNetwork

from .neurons.enclosing import enclose
from .neurons.frames import BeyondRange
from .questions import Case, Row

MOST_OPEN = 6  # neurons of undecided sign
MOST_NUMBERS = 200_000  # weights of a network that is looked at in rationals
ZERO = fmpq(0)
ONE = fmpq(1)

Point = tuple[Fraction, ...]


class LeafSolver:
    """Decides small boxes of a case about a network."""

    def __init__(self, net: ReluNetwork, case: Case) -> None:
        self._net = net
        self._case = case
        self._matrices: list[fmpq_mat] | None = None

    @property
    def is_able(self) -> bool:
        """Whether the network is small enough."""
        return sum(step.matrix.shape[0] * step.matrix.shape[1] for step in self._net.steps) <= MOST_NUMBERS

    def solve(self, low: np.ndarray, high: np.ndarray) -> Point | bool:
        """A counter-example in this part of the box, True if there is none, False if that is not known."""
        try:
            bounds = enclose(self._net, low, high)[1]
        except BeyondRange:
            return False
        is_open = [step.rectified & (under < 0) & (above > 0) for step, (under, above) in zip(self._net.steps, bounds)]
        if sum(int(mask.sum()) for mask in is_open) > MOST_OPEN:
            return False
        box = self._case.box
        lo = [max(a, Fraction(float(v))) for a, v in zip(box.lo, low)]
        hi = [min(b, Fraction(float(v))) for b, v in zip(box.hi, high)]
        if any(a > b for a, b in zip(lo, hi)):
            return True
        faces = list(_faces(lo, hi))
        for outputs, signs in self._pieces(bounds, is_open, faces):
            for rows in self._case.unsafe:
                point = _meet(rows, outputs, [*faces, *signs], len(lo))
                if point is not None:
                    return point
        return True

    def _pieces(
        self, bounds: Sequence[tuple[np.ndarray, np.ndarray]], is_open: list[np.ndarray], faces: list[Form]
    ) -> Iterator[tuple[fmpq_mat, list[Form]]]:
        """The outputs as affine forms of the inputs, one row each, and the forms that are not negative where they
        hold, for every combination of open signs that occurs."""
        matrices = self._in_rationals()
        inputs = self._net.widths[0]
        first = fmpq_mat([[ONE * (i == j) for j in range(inputs + 1)] for i in range(inputs + 1)])
        waiting: list[tuple[int, fmpq_mat, list[Form]]] = [(0, first, [])]
        while waiting:
            k, state, signs = waiting.pop()
            sums = matrices[k] * state
            if k == len(matrices) - 1:
                yield sums, signs
                continue
            under, _ = bounds[k]
            rectified = self._net.steps[k].rectified
            undecided = np.flatnonzero(is_open[k])
            for pattern in range(1 << len(undecided)):
                passed = ~rectified | (under >= 0)
                passed[undecided] = [bool(pattern >> b & 1) for b in range(len(undecided))]
                more = [_form(sums, int(r), ONE if passed[r] else -ONE) for r in undecided]
                if more and deepest([*faces, *signs, *more], inputs)[0] < 0:
                    continue
                waiting.append((k + 1, _mask(sums, passed), signs + more))

    def _in_rationals(self) -> list[fmpq_mat]:
        r"""The steps as matrices of $(z,1)$; all but the last keep the 1."""
        if self._matrices is None:
            self._matrices = []
            for step in self._net.in_rationals().steps:
                columns = step.matrix.shape[1]
                rows = [
                    [*(row.get(j, ZERO) for j in range(columns)), b] for row, b in zip(step.matrix.rows, step.offset)
                ]
                self._matrices.append(fmpq_mat([*rows, [*[ZERO] * columns, ONE]]))
        return self._matrices


def _mask(sums: fmpq_mat, passed: np.ndarray) -> fmpq_mat:
    table = sums.tolist()
    zeros = [ZERO] * sums.ncols()
    return fmpq_mat([row if r == len(passed) or passed[r] else zeros for r, row in enumerate(table)])


def _form(sums: fmpq_mat, r: int, sign: fmpq) -> Form:
    return tuple(sign * sums[r, j] for j in range(sums.ncols()))


def _faces(lo: Sequence[Fraction], hi: Sequence[Fraction]) -> Iterator[Form]:
    """The forms that are not negative inside a box."""
    size = len(lo)
    for i in range(size):
        yield (*(ONE * (i == j) for j in range(size)), rational(-lo[i]))
        yield (*(-ONE * (i == j) for j in range(size)), rational(hi[i]))


def _meet(rows: Sequence[Row], outputs: fmpq_mat, region: Sequence[Form], inputs: int) -> Point | None:
    """A point of the region at which all rows hold, if there is one."""
    loose = list(region)
    strict = list[Form]()
    for row in rows:
        form = [-rational(row.inputs.get(i, Fraction(0))) for i in range(inputs)] + [rational(row.bound)]
        for k, q in row.outputs.items():
            factor = rational(q)
            for j in range(inputs + 1):
                form[j] -= factor * outputs[k, j]
        (strict if row.strict else loose).append(tuple(form))
    depth, point = deepest(loose, inputs)
    if depth < 0:
        return None
    if not strict:
        return _as_fractions(point)
    # the depth t of the strict rows alone, with all others as they are
    lifted = [(*form[:-1], ZERO, form[-1]) for form in loose]
    lifted += [(*form[:-1], -ONE, form[-1]) for form in strict]
    lifted.append((*[ZERO] * inputs, -ONE, ONE))
    found = maximise([*[ZERO] * inputs, ONE], lifted)
    if found is None or not found[0] > 0:
        return None
    return _as_fractions(found[1][:-1])


def _as_fractions(point: Sequence[fmpq]) -> Point:
    return tuple(fraction(v) for v in point)
