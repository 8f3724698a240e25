"""A formula as cases: boxes of inputs, each with a disjunction of conjunctions of rows.

Bounds of single inputs make the boxes, all other rows the disjuncts. Disjunctions are multiplied with one another only
where two of them meet in a conjunction, and those over outputs alone stay beside the boxes: a thousand boxes with a
thousand disjuncts each are a thousand cases that share one list.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import chain
from math import isfinite

from ftheta.logic.errors import SubjectError

from .allocating import paused_collection
from .formulas import And, Formula, fold
from .questions import Box, Case, Row, round_down, round_up

MOST_ROWS = 20_000_000
"""Rows and bounds that conjunctions of disjunctions may be multiplied out to."""
CLIPPING_SWEEPS = 3
MOST_DIGITS = 256
"""Bits of a bound that is found by clipping; longer ones are rounded outward, since the row that gave them stays."""
FEW = 512
"""Disjuncts up to this number are compared with one another: those that imply another one are left out."""

Disjunct = tuple[Row, ...]
UNCONDITIONAL: tuple[Disjunct, ...] = ((),)


class _Branch:
    """Inputs between bounds, with all `rows` and all rows of one of the `disjuncts`, which are shared and never
    changed. `lower` and `upper` hold the bounds that there are."""

    __slots__ = ("disjuncts", "lower", "rows", "upper")

    def __init__(self) -> None:
        self.lower = dict[int, Fraction]()
        self.upper = dict[int, Fraction]()
        self.rows = list[Row]()
        self.disjuncts: Sequence[Disjunct] = UNCONDITIONAL

    @property
    def is_bounded(self) -> bool:
        return bool(self.lower or self.upper)

    @property
    def is_true(self) -> bool:
        return not (self.lower or self.upper or self.rows) and self.disjuncts is UNCONDITIONAL

    @property
    def is_empty(self) -> bool:
        upper = self.upper
        return any(i in upper and low > upper[i] for i, low in self.lower.items())

    def add(self, row: Row) -> bool:
        """Conjoin a row; false where it can never hold."""
        inputs = row.inputs
        if row.outputs or len(inputs) > 1:
            self.rows.append(row)
            return True
        if not inputs:
            return row.bound > 0 or (row.bound == 0 and not row.strict)
        ((i, coefficient),) = inputs.items()
        value = _divide(row.bound, coefficient)
        if coefficient.numerator > 0:
            _tighten_upper(self.upper, i, value)
        else:
            _tighten_lower(self.lower, i, value)
        if row.strict:
            self.rows.append(row)
        return True

    def size(self) -> int:
        return len(self.lower) + len(self.upper) + len(self.rows) + len(self.disjuncts)


class _Multiplier:
    """Conjunctions and disjunctions of lists of branches; counts what it writes and stops at `MOST_ROWS`."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.written = 0

    def spend(self, rows: int) -> None:
        self.written += rows
        if self.written > MOST_ROWS:
            raise SubjectError(
                "The property is too large as a union of cases.",
                where=self.where,
                got=f"conjunctions of disjunctions that multiply out to more than {MOST_ROWS:,} rows",
                remedy="split the property into several, or give fewer `or` to one conjunction",
            )

    def expand(self, branch: _Branch) -> Sequence[Disjunct]:
        """The disjuncts of a branch, each with the rows of all of it."""
        rows = tuple(branch.rows)
        if not rows:
            return branch.disjuncts
        if branch.disjuncts is UNCONDITIONAL:
            return (rows,)
        self.spend(len(rows) * len(branch.disjuncts) + sum(map(len, branch.disjuncts)))
        return [rows + disjunct for disjunct in branch.disjuncts]

    def conjunction(self, parts: list[Row | list[_Branch]]) -> list[_Branch]:
        own = _Branch()
        factors = list[list[_Branch]]()
        for part in parts:
            if not isinstance(part, Row):
                factors.append(part)
            elif not own.add(part):
                return []
        product = [own]
        for factor in sorted(factors, key=len):
            product = self.multiply(product, factor)
        return product

    def disjunction(self, parts: list[Row | list[_Branch]]) -> list[_Branch]:
        unbounded = list[Disjunct]()
        union = list[_Branch]()
        for part in parts:
            if isinstance(part, Row):
                if part.outputs or len(part.inputs) > 1:
                    unbounded.append((part,))
                    continue
                part = self.conjunction([part])
            for branch in part:
                if branch.is_bounded:
                    union.append(branch)
                else:
                    unbounded.extend(self.expand(branch))
        if unbounded:
            free = _Branch()
            free.disjuncts = unbounded
            union.append(free)
        return union

    def multiply(self, left: list[_Branch], right: list[_Branch]) -> list[_Branch]:
        if len(left) == 1 and left[0].is_true:
            return right
        if len(left) == len(right) == 1:
            one, other = left[0], right[0]
            large, small = (one, other) if one.size() >= other.size() else (other, one)
            self.absorb(large, small)
            return [large]
        product = list[_Branch]()
        for one in left:
            for other in right:
                both = self.meet(one, other)
                if not both.is_empty:
                    product.append(both)
        return product

    def meet(self, one: _Branch, other: _Branch) -> _Branch:
        self.spend(1 + one.size() + other.size() - len(one.disjuncts) - len(other.disjuncts))
        both = _Branch()
        both.lower = dict(one.lower)
        both.upper = dict(one.upper)
        both.rows = list(one.rows)
        both.disjuncts = one.disjuncts
        self.absorb(both, other)
        return both

    def absorb(self, branch: _Branch, other: _Branch) -> None:
        """Conjoin another branch to this one."""
        for i, low in other.lower.items():
            _tighten_lower(branch.lower, i, low)
        for i, high in other.upper.items():
            _tighten_upper(branch.upper, i, high)
        branch.rows.extend(other.rows)
        if branch.disjuncts is UNCONDITIONAL:
            branch.disjuncts = other.disjuncts
        elif other.disjuncts is not UNCONDITIONAL:
            branch.disjuncts = self.cross(branch.disjuncts, other.disjuncts)

    def cross(self, left: Sequence[Disjunct], right: Sequence[Disjunct]) -> Sequence[Disjunct]:
        """Each disjunct of one side with each of the other."""
        rows = len(left) * sum(map(len, right)) + len(right) * sum(map(len, left))
        self.spend(rows + len(left) * len(right))
        if len(left) * len(right) <= FEW:
            return _without_implied([one + other for one in left for other in right])
        return [one + other for one in left for other in right]


def make_cases(
    formula: Formula, inputs: int, name: Callable[[int], str], where: str
) -> tuple[Case, ...]:
    """The cases of a formula about so many inputs.

    Every input must have a lower and an upper bound in every case, as a row of its own or through rows that bound it
    by others; `name` says how it is called and `where` where the formula was written.
    """
    with paused_collection():
        return _make_cases(formula, inputs, name, where)


def _make_cases(
    formula: Formula, inputs: int, name: Callable[[int], str], where: str
) -> tuple[Case, ...]:
    multiplier = _Multiplier(where)
    # the conjunction around it makes branches also of a single row
    branches = fold(And((formula,)), _same, multiplier.conjunction, multiplier.disjunction)
    assert not isinstance(branches, Row)
    boxes = dict[tuple[int, ...], Box]()
    lists = dict[tuple[int, ...], list[Sequence[Disjunct]]]()
    for k, branch in enumerate(branches):
        if not len(branch.lower) == len(branch.upper) == inputs:
            _fill_in(branch)
            _ensure_bounded(
                branch, inputs, name, f"{where}, case {k + 1} of {len(branches)}" if k else where
            )
        _clip(branch)
        box = Box(_in_order(branch.lower, inputs), _in_order(branch.upper, inputs))
        key = _key(box) if len(branches) > 1 else ()
        boxes.setdefault(key, box)
        lists.setdefault(key, []).append(multiplier.expand(branch))
    shared = dict[
        int, tuple[Disjunct, ...]
    ]()  # one tuple for each list, however many cases it is part of
    cases = list[Case]()
    for key, box in boxes.items():
        if len(lists[key]) > 1:
            unsafe = tuple(chain.from_iterable(lists[key]))
        else:
            (disjuncts,) = lists[key]
            unsafe = shared.get(id(disjuncts)) or shared.setdefault(id(disjuncts), tuple(disjuncts))
        cases.append(Case(box, unsafe))
    return tuple(cases)


def make_disjuncts(formula: Formula, where: str) -> tuple[Disjunct, ...]:
    """A formula about outputs as a disjunction of conjunctions of rows."""
    multiplier = _Multiplier(where)
    # the conjunction around it makes a branch also of a single row
    branches = fold(And((formula,)), _same, multiplier.conjunction, multiplier.disjunction)
    assert not isinstance(branches, Row)
    return tuple(chain.from_iterable(map(multiplier.expand, branches)))


def _same(row: Row) -> Row | list[_Branch]:
    return row


def _key(box: Box) -> tuple[int, ...]:
    """Equal for equal boxes; numerators and denominators are hashed faster than rationals."""
    return tuple([part for value in box.lo + box.hi for part in value.as_integer_ratio()])


def _in_order(bounds: dict[int, Fraction], inputs: int) -> tuple[Fraction, ...]:
    return tuple([bounds[i] for i in range(inputs)])


def _ensure_bounded(branch: _Branch, inputs: int, name: Callable[[int], str], where: str) -> None:
    for bounds, side, example in ((branch.lower, "lower", ">="), (branch.upper, "upper", "<=")):
        if len(bounds) < inputs:
            missing = next(i for i in range(inputs) if i not in bounds)
            raise SubjectError(
                f"The input {name(missing)} has no {side} bound.",
                where=where,
                got=f"{side} bounds of {len(bounds):,} of {inputs:,} inputs: an unbounded set",
                remedy=f"add (assert ({example} {name(missing)} …))",
            )


def _fill_in(branch: _Branch) -> None:
    r"""Missing bounds, from rows of inputs: $\sum_ip_ix_i\le c$ bounds $p_kx_k$ by the ranges of the others."""
    lower, upper = branch.lower, branch.upper
    rows = [row for row in branch.rows if len(row.inputs) > 1 and not row.outputs]
    rows_with = dict[int, list[Row]]()
    for row in rows:
        for i in row.inputs:
            rows_with.setdefault(i, []).append(row)
    waiting = list(reversed(rows))
    while waiting:
        row = waiting.pop()
        open_ends = [i for i, p in row.inputs.items() if i not in (lower if p > 0 else upper)]
        if len(open_ends) > 1:
            continue
        smallest = {
            i: p * (lower if p > 0 else upper)[i]
            for i, p in row.inputs.items()
            if i not in open_ends
        }
        total = sum(smallest.values(), Fraction(0))
        for k in open_ends or row.inputs:
            p = row.inputs[k]
            bounds = upper if p > 0 else lower
            if k in bounds:
                continue
            bounds[k] = (row.bound - total + smallest.get(k, 0)) / p
            waiting.extend(rows_with[k])


def _clip(branch: _Branch) -> None:
    r"""Bounds that rows of inputs imply: $p_kx_k\le c-\sum_{i\ne k}\min p_ix_i$. The rows stay: the set is the same."""
    rows = [row for row in branch.rows if len(row.inputs) > 1 and not row.outputs]
    lower, upper = branch.lower, branch.upper
    for _ in range(CLIPPING_SWEEPS):
        is_tighter = False
        for row in rows:
            smallest = {i: p * (lower if p > 0 else upper)[i] for i, p in row.inputs.items()}
            room = row.bound - sum(smallest.values(), Fraction(0))
            for i, p in row.inputs.items():
                value = (room + smallest[i]) / p
                if p > 0 and value < upper[i]:
                    upper[i] = min(upper[i], _shorten(value, round_up))
                    is_tighter = True
                elif p < 0 and value > lower[i]:
                    lower[i] = max(lower[i], _shorten(value, round_down))
                    is_tighter = True
        if not is_tighter or branch.is_empty:
            break


def _shorten(value: Fraction, rounded: Callable[[Fraction], float]) -> Fraction:
    """The value, or a float next to it where it has too many digits."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) <= MOST_DIGITS:
        return value
    near = rounded(value)
    return Fraction(near) if isfinite(near) else value


def _without_implied(disjuncts: Iterable[Disjunct]) -> list[Disjunct]:
    """Each row once in a disjunct, and no disjunct that has all rows of another one."""
    by_key = [{_row_key(row): row for row in rows} for rows in disjuncts]
    by_key.sort(key=len)
    kept = list[dict[tuple, Row]]()
    for rows in by_key:
        if not any(smaller.keys() <= rows.keys() for smaller in kept):
            kept.append(rows)
    return [tuple(rows.values()) for rows in kept]


def _row_key(row: Row) -> tuple:
    return frozenset(row.inputs.items()), frozenset(row.outputs.items()), row.bound, row.strict


def _divide(value: Fraction, by: Fraction) -> Fraction:
    """Most coefficients are 1 or −1, and need no division."""
    numerator = by.numerator
    if by.denominator == 1 and -1 <= numerator <= 1:
        return value if numerator == 1 else -value
    return value / by


def _tighten_lower(bounds: dict[int, Fraction], i: int, value: Fraction) -> None:
    before = bounds.get(i)
    if before is None or value > before:
        bounds[i] = value


def _tighten_upper(bounds: dict[int, Fraction], i: int, value: Fraction) -> None:
    before = bounds.get(i)
    if before is None or value < before:
        bounds[i] = value
