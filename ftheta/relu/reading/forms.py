r"""Arrays of affine forms: in float64, and row by row without rounding.

The float64 rows become the weights of the network. Whether two cases of a choice meet must not depend on rounding, so
every array also remembers how it was made; `exact_rows` follows that back to numbers of the program and works in
rationals (floats are dyadic rationals). Only the rows that are asked for are computed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]
from scipy import sparse

from ..matrices import fraction, rational

CONSTANT = -1  # the key of the offset in an exact row
ONE = fmpq(1)
Row: TypeAlias = dict[int, fmpq]
Source: TypeAlias = tuple["Forms", int, fmpq]


@dataclass(frozen=True, eq=False)
class Forms:
    """Row $i$ of `matrix` and `offset[i]` belong to entry $i$ of the flattened array.

    `made` says what the entries were computed from; without it they are what was read, and exact. `names` says that the
    entries are variables, each another one.
    """

    shape: tuple[int, ...]
    matrix: Any  # CSR, (entries, variables known when it was made)
    offset: np.ndarray
    made: "Picked | Mapped | Joined | Added | Written | None" = None
    names: bool = False

    @property
    def size(self) -> int:
        return prod(self.shape)

    def reshaped(self, shape: tuple[int, ...]) -> "Forms":
        return replace(self, shape=shape, made=Picked(self, np.arange(self.size)))

    def mapped(self, M: Any, shape: tuple[int, ...]) -> "Forms":
        """The forms under the linear map `M` of the flattened array."""
        matrix = sparse.csr_array(M @ self.matrix)
        return Forms(shape, matrix, M @ self.offset, None if self.names else Mapped(self, sparse.csr_array(M)))

    def scaled(self, factors: Any) -> "Forms":
        c = np.broadcast_to(np.asarray(factors, np.float64), self.shape).ravel()
        return self._times(c, Picked(self, np.arange(self.size), c))

    def divided(self, divisors: Any) -> "Forms":
        q = np.broadcast_to(np.asarray(divisors, np.float64), self.shape).ravel()
        return self._times(1.0 / q, Picked(self, np.arange(self.size), divisor=q))

    def _times(self, c: np.ndarray, made: "Picked") -> "Forms":
        return Forms(self.shape, sparse.csr_array(self.matrix.multiply(c[:, None])), c * self.offset, made)

    def taken(self, rows: np.ndarray) -> "Forms":
        """The entries with these numbers, in an array of the shape of `rows`."""
        flat = rows.ravel()
        return Forms(rows.shape, self.matrix[flat], self.offset[flat], Picked(self, flat))

    def __add__(self, other: "Forms") -> "Forms":
        one, two = stretched([self, other])
        return Forms(self.shape, sparse.csr_array(one + two), self.offset + other.offset, Added(self, other))

    def __sub__(self, other: "Forms") -> "Forms":
        return self + other.scaled(-1.0)

    @property
    def is_zero(self) -> bool:
        """Certainly zero: read so, or taken from what was."""
        first = self
        while isinstance(first.made, Picked):
            first = first.made.of
        return first.made is None and not first.matrix.count_nonzero() and not first.offset.any()

    def sources(self, i: int) -> list[Source]:
        return [] if self.made is None else self.made.sources(i)


@dataclass(frozen=True, eq=False)
class Picked:
    """Entries of one array, each times `factor` or divided by `divisor`."""

    of: Forms
    rows: np.ndarray
    factor: np.ndarray | None = None
    divisor: np.ndarray | None = None

    def sources(self, i: int) -> list[Source]:
        return [(self.of, int(self.rows[i]), self.times(i))]

    def times(self, i: int) -> fmpq:
        if self.factor is not None:
            return rational(float(self.factor[i]))
        return ONE if self.divisor is None else 1 / rational(float(self.divisor[i]))


@dataclass(frozen=True, eq=False)
class Mapped:
    """The rows of a matrix times one array."""

    of: Forms
    by: Any

    def sources(self, i: int) -> list[Source]:
        span = slice(int(self.by.indptr[i]), int(self.by.indptr[i + 1]))
        return [(self.of, j, rational(a)) for j, a in zip(self.by.indices[span].tolist(), self.by.data[span].tolist())]


@dataclass(frozen=True, eq=False)
class Joined:
    """Several arrays one after the other."""

    parts: tuple[Forms, ...]
    starts: np.ndarray

    def sources(self, i: int) -> list[Source]:
        k = int(np.searchsorted(self.starts, i, side="right")) - 1
        return [(self.parts[k], i - int(self.starts[k]), ONE)]


@dataclass(frozen=True, eq=False)
class Added:
    one: Forms
    other: Forms

    def sources(self, i: int) -> list[Source]:
        return [(self.one, i, ONE), (self.other, i, ONE)]


@dataclass(frozen=True, eq=False)
class Written:
    """Entries given as exact rows."""

    rows: Sequence[Row]

    def sources(self, i: int) -> list[Source]:
        return []


def written(rows: Sequence[Row], width: int) -> Forms:
    """Exact rows over so many variables as a flat array; in float64 every number is the nearest one."""
    entries = [(i, j, nearest(a)) for i, row in enumerate(rows) for j, a in row.items() if j != CONSTANT]
    i, j, a = zip(*entries) if entries else ((), (), ())
    matrix = sparse.csr_array((np.array(a, float), (np.array(i, int), np.array(j, int))), shape=(len(rows), width))
    offset = np.array([nearest(row.get(CONSTANT, fmpq(0))) for row in rows], float)
    return Forms((len(rows),), matrix, offset, Written(rows))


def nearest(q: fmpq) -> float:
    return float(fraction(q))


def constant(values: Any) -> Forms:
    """An array of numbers as forms without variables."""
    array = np.asarray(values, np.float64)
    return Forms(array.shape, sparse.csr_array((array.size, 0)), array.ravel())


def stretched(forms: Sequence[Forms]) -> list[Any]:
    """Their matrices with a column for every variable that any of them knows."""
    width = max(f.matrix.shape[1] for f in forms)
    return [widened(f.matrix, width) for f in forms]


def pooled(forms: Sequence[Forms]) -> Forms:
    """All entries of all arrays in one flat array."""
    if len(forms) == 1:
        return forms[0].reshaped((forms[0].size,))
    matrix: Any = sparse.csr_array(sparse.vstack(stretched(forms), format="csr"))
    starts = np.cumsum([0, *(f.size for f in forms[:-1])])
    return Forms((matrix.shape[0],), matrix, np.concatenate([f.offset for f in forms]), Joined(tuple(forms), starts))


def widened(matrix: Any, width: int) -> Any:
    wide: Any = sparse.csr_array(matrix)
    return sparse.csr_array((wide.data, wide.indices, wide.indptr), shape=(wide.shape[0], width))


# ---- rows without rounding -------------------------------------------------------------------------------------------


def exact_rows(forms: Forms, rows: Iterable[int]) -> list[Row]:
    """Entries as exact rows: a rational for every variable read, the offset under `CONSTANT`; zeros are left out."""
    found: dict[tuple[int, int], Row] = {}  # by array and entry
    wanted = list(rows)
    waiting = [(forms, i) for i in wanted]
    while waiting:  # depth first, without recursion: programs with loops are deep
        array, i = waiting[-1]
        sources = array.sources(i)
        missing = [(child, j) for child, j, _ in sources if (id(child), j) not in found]
        if missing and (id(array), i) not in found:
            waiting += missing
            continue
        waiting.pop()
        if (id(array), i) not in found:
            found[id(array), i] = _row(array, i, [(c, found[id(child), j]) for child, j, c in sources])
    return [found[id(forms), i] for i in wanted]


def _row(forms: Forms, i: int, terms: list[tuple[fmpq, Row]]) -> Row:
    if isinstance(forms.made, Written):
        return forms.made.rows[i]
    return _read(forms, i) if forms.made is None else combined(terms)


def _read(forms: Forms, i: int) -> Row:
    span = slice(int(forms.matrix.indptr[i]), int(forms.matrix.indptr[i + 1]))
    row: Row = {}
    for j, a in zip(forms.matrix.indices[span].tolist(), forms.matrix.data[span].tolist()):
        row[j] = row.get(j, 0) + rational(a)
    row[CONSTANT] = rational(float(forms.offset[i]))
    return {j: a for j, a in row.items() if a}


def combined(terms: Iterable[tuple[fmpq, Row]]) -> Row:
    r"""$\sum_kc_k\,\text{row}_k$."""
    total: Row = {}
    for c, row in terms:
        for j, a in row.items():
            total[j] = total[j] + c * a if j in total else c * a
    return {j: a for j, a in total.items() if a}


def ratio(x: Row, y: Row) -> fmpq | None:
    r"""The number $c$ with $x=cy$, or None."""
    if not x:
        return fmpq(0)
    if x.keys() != y.keys():
        return None
    (j, a), *_ = x.items()
    c = a / y[j]
    return c if all(x[k] == c * b for k, b in y.items()) else None


@dataclass(frozen=True, eq=False)
class Multiples:
    """Entries that are multiples of entries of one array: number `rows[i]` of `of`, times `times[i]`."""

    of: Forms
    rows: np.ndarray
    times: np.ndarray  # rationals


def multiples(forms: Forms, depth: int = 32, known: dict[int, Multiples] | None = None) -> Multiples:
    """The forms as multiples of what they were made from, as far back as each is a multiple of one entry.

    At most `depth` steps back; `known` keeps what was found, by the identity of the array.
    """
    known = {} if known is None else known
    if id(forms) not in known:
        known[id(forms)] = _multiples(forms, depth, known)
    return known[id(forms)]


def _multiples(forms: Forms, depth: int, known: dict[int, Multiples]) -> Multiples:
    made = forms.made
    if depth and isinstance(made, Picked):
        below = multiples(made.of, depth - 1, known)
        times = np.array([made.times(i) for i in range(forms.size)], object) if _scales(made) else ONE
        return Multiples(below.of, below.rows[made.rows], below.times[made.rows] * times)
    if depth and isinstance(made, Added):
        if made.one.is_zero or made.other.is_zero:
            return multiples(made.other if made.one.is_zero else made.one, depth - 1, known)
        one, other = (multiples(f, depth - 1, known) for f in (made.one, made.other))
        if one.of is other.of and np.array_equal(one.rows, other.rows):
            return Multiples(one.of, one.rows, one.times + other.times)
    return Multiples(forms, np.arange(forms.size), np.full(forms.size, ONE, object))


def _scales(made: Picked) -> bool:
    return made.factor is not None or made.divisor is not None
