r"""Networks with fewer neurons, rewritten in rationals.

A layer is a pair of steps, $z=Ax+b$ with its ReLUs and the affine map after it. Neurons that are constant go into the
offset of the map after them; neurons that are copies of another one (the same row and offset up to a factor $c>0$, for
$r(cz)=c\,r(z)$) are added to it; neurons that nothing reads are dropped; and neurons that pass on what they get give
way to the state before them, or to the sums that are made of them, where those are fewer. None of it rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.shapes import Int

from .matrices import ExactMatrix
from .network import ExactStep

ZERO = fmpq(0)
ONE = fmpq(1)
MOST_PRODUCTS = 5_000_000  # of rationals, for which passing neurons are merged
Entries = Mapping[int, fmpq]


@dataclass
class Removed:
    """How many neurons were dropped or merged, and why."""

    constant: int = 0
    copies: int = 0
    unused: int = 0
    merged: int = 0


def fold_constants(
    step: ExactStep, after: ExactStep, values: Mapping[int, fmpq]
) -> tuple[ExactStep, ExactStep]:
    """Both steps without the neurons of these numbers, whose outputs are these values."""
    kept = np.array([i for i in range(step.matrix.shape[0]) if i not in values], int)
    moved = after.matrix.apply([values.get(i, ZERO) for i in range(step.matrix.shape[0])])
    offset = tuple(a + b for a, b in zip(moved, after.offset))
    return choose_rows(step, kept), ExactStep(
        _choose_columns(after.matrix, kept), offset, after.rectified
    )


def choose_rows(step: ExactStep, rows: Int[np.ndarray, "k"]) -> ExactStep:
    """The step with these of its neurons alone."""
    matrix = ExactMatrix(
        tuple(step.matrix.rows[i] for i in rows), (len(rows), step.matrix.shape[1])
    )
    return ExactStep(matrix, tuple(step.offset[i] for i in rows), step.rectified[rows])


def _choose_columns(matrix: ExactMatrix, columns: np.ndarray) -> ExactMatrix:
    place = {int(j): k for k, j in enumerate(columns)}
    rows = tuple({place[j]: a for j, a in row.items() if j in place} for row in matrix.rows)
    return ExactMatrix(rows, (matrix.shape[0], len(columns)))


def drop_unused(steps: list[ExactStep], removed: Removed) -> None:
    """Drop neurons whose outgoing weights are all zero, from the last hidden step to the first."""
    for k in reversed(range(len(steps) - 1)):
        read = {j for row in steps[k + 1].matrix.rows for j in row}
        unread = [i for i in range(steps[k].matrix.shape[0]) if i not in read]
        removed.unused += len(unread)
        if unread:
            steps[k], steps[k + 1] = fold_constants(
                steps[k], steps[k + 1], dict.fromkeys(unread, ZERO)
            )


def drop_empty_steps(steps: list[ExactStep]) -> None:
    """Where a hidden step has no neurons left, begin behind the last such step, with a constant."""
    empty = [k for k, step in enumerate(steps) if not step.offset]
    if empty:
        after = steps[empty[-1] + 1]
        inputs = steps[0].matrix.shape[1]
        constant = ExactMatrix(tuple({} for _ in after.offset), (len(after.offset), inputs))
        steps[: empty[-1] + 2] = [ExactStep(constant, after.offset, after.rectified)]


def drop_constants(steps: list[ExactStep], k: int, removed: Removed) -> None:
    """Fold the neurons of hidden step `k` that read nothing into the offset after them."""
    step = steps[k]
    values = {
        i: max(b, ZERO) if bends else b
        for i, (row, b, bends) in enumerate(zip(step.matrix.rows, step.offset, step.rectified))
        if not row
    }
    removed.constant += len(values)
    if values:
        steps[k], steps[k + 1] = fold_constants(step, steps[k + 1], values)


def merge_copies(steps: list[ExactStep], k: int, removed: Removed) -> None:
    """Add the neurons of hidden step `k` that are copies to the first of their kind."""
    step = steps[k]
    after = steps[k + 1]
    first: dict[tuple, tuple[int, fmpq]] = {}
    factors: dict[int, tuple[int, fmpq]] = {}
    for i, (row, b, bends) in enumerate(zip(step.matrix.rows, step.offset, step.rectified)):
        if not row or not bends:
            continue
        size = max(abs(a) for a in row.values())
        key = (tuple((j, row[j] / size) for j in sorted(row)), b / size)
        if key in first:
            twin, unit = first[key]
            factors[i] = (twin, size / unit)
        else:
            first[key] = (i, size)
    if not factors:
        return
    removed.copies += len(factors)
    rows = [_add_copies(row, factors) for row in after.matrix.rows]
    joined = ExactStep(ExactMatrix(tuple(rows), after.matrix.shape), after.offset, after.rectified)
    steps[k], steps[k + 1] = fold_constants(step, joined, dict.fromkeys(factors, ZERO))


def _add_copies(row: Entries, factors: Mapping[int, tuple[int, fmpq]]) -> dict[int, fmpq]:
    total = {j: a for j, a in row.items() if j not in factors}
    for i, (twin, c) in factors.items():
        if i in row:
            total[twin] = total.get(twin, ZERO) + c * row[i]
    return {j: a for j, a in total.items() if a}


def merge_passes(
    steps: list[ExactStep], k: int, linear: Int[np.ndarray, "l"], removed: Removed
) -> bool:
    """Merge the neurons of hidden step `k` that pass on what they get, those of the numbers `linear` among them, into
    what is before or after them, where that takes fewer numbers; whether the whole step is gone."""
    step = steps[k]
    after = steps[k + 1]
    passes = ~step.rectified
    passes[linear] = True
    passing = np.flatnonzero(passes)
    inputs = step.matrix.shape[1]
    outputs = after.matrix.shape[0]
    if inputs * outputs * len(passing) > MOST_PRODUCTS or not len(passing):
        return False
    if passes.all():
        if inputs * outputs > (inputs + outputs) * len(passing):
            return False
        steps[k : k + 2] = [_compose(after, step)]
        removed.merged += len(passing)
        return True
    if len(passing) <= min(inputs, outputs):
        return False
    merge = _hand_on_inputs if inputs <= outputs else _hand_on_sums
    steps[k], steps[k + 1] = merge(step, after, passing, np.flatnonzero(~passes))
    removed.merged += len(passing) - min(inputs, outputs)
    return False


def _compose(after: ExactStep, step: ExactStep) -> ExactStep:
    """Two steps, the first of them affine, as one."""
    moved = after.matrix.apply(step.offset)
    return ExactStep(
        after.matrix @ step.matrix,
        tuple(a + b for a, b in zip(moved, after.offset)),
        after.rectified,
    )


def _hand_on_inputs(
    step: ExactStep, after: ExactStep, passing: np.ndarray, bending: np.ndarray
) -> tuple[ExactStep, ExactStep]:
    """The state before, in place of the neurons that are affine functions of it."""
    inputs = step.matrix.shape[1]
    units = ExactStep(
        ExactMatrix(tuple({j: ONE} for j in range(inputs)), (inputs, inputs)),
        (ZERO,) * inputs,
        np.zeros(inputs, bool),
    )
    affine = choose_rows(step, passing)
    folded = _compose(
        ExactStep(_choose_columns(after.matrix, passing), after.offset, after.rectified), affine
    )
    return _join(choose_rows(step, bending), units, _choose_columns(after.matrix, bending), folded)


def _hand_on_sums(
    step: ExactStep, after: ExactStep, passing: np.ndarray, bending: np.ndarray
) -> tuple[ExactStep, ExactStep]:
    """What each row after them makes of these neurons, in their place."""
    rows = after.matrix.shape[0]
    nothing = ExactStep(
        _choose_columns(after.matrix, passing), (ZERO,) * rows, np.zeros(rows, bool)
    )
    sums = _compose(nothing, choose_rows(step, passing))
    units = ExactStep(
        ExactMatrix(tuple({i: ONE} for i in range(rows)), (rows, rows)),
        after.offset,
        after.rectified,
    )
    return _join(choose_rows(step, bending), sums, _choose_columns(after.matrix, bending), units)


def _join(
    bending: ExactStep, passing: ExactStep, of_bending: ExactMatrix, of_passing: ExactStep
) -> tuple[ExactStep, ExactStep]:
    """A step of two kinds of neurons, and the one after it, which reads both."""
    n = len(bending.offset)
    width = n + len(passing.offset)
    before = ExactStep(
        ExactMatrix((*bending.matrix.rows, *passing.matrix.rows), (width, bending.matrix.shape[1])),
        (*bending.offset, *passing.offset),
        np.append(bending.rectified, np.zeros(len(passing.offset), bool)),
    )
    rows = _beside(of_bending.rows, of_passing.matrix.rows, n)
    return before, ExactStep(
        ExactMatrix(rows, (len(rows), width)), of_passing.offset, of_passing.rectified
    )


def _beside(
    left: Sequence[Entries], right: Sequence[Entries], width: int
) -> tuple[dict[int, fmpq], ...]:
    return tuple({**a, **{width + j: x for j, x in b.items()}} for a, b in zip(left, right))
