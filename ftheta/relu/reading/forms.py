r"""Arrays of affine forms: in float64, and row by row without rounding.

The float64 rows become the weights of the network. Neither they nor the answer to whether two cases of a choice meet
may depend on rounding, so every array remembers how it was made, and which of its rows were computed without rounding
(`clean`); `exact_rows` follows the others back to numbers of the program and works in rationals (floats are dyadic
rationals). Only the rows that are asked for are computed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]
from scipy import sparse

from ..matrices import nearest, rational
from ..rounding import (
    product_is_exact,
    product_rows_are_exact,
    quotient_is_exact,
    rows_that_pass,
    sum_is_exact,
)

CONSTANT = -1  # the key of the offset in an exact row
ONE = fmpq(1)
ZERO = fmpq(0)
Row: TypeAlias = dict[int, fmpq]
Source: TypeAlias = tuple["Forms", int, fmpq]


@dataclass(frozen=True, eq=False)
class Forms:
    """Row $i$ of `matrix` and `offset[i]` belong to entry $i$ of the flattened array.

    `made` says what the entries were computed from; without it they are what was read, and exact. `names` says that the
    entries are variables, each another one. `clean` says which rows are known to be the exact ones; None: all are.
    """

    shape: tuple[int, ...]
    matrix: Any  # CSR, (entries, variables known when it was made)
    offset: np.ndarray
    made: "Picked | Mapped | Joined | Added | Written | None" = None
    names: bool = False
    clean: np.ndarray | None = None

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def is_clean(self) -> np.ndarray:
        """For every row whether float64 is known to hold it exactly."""
        return np.ones(self.size, bool) if self.clean is None else self.clean

    def reshape(self, shape: tuple[int, ...]) -> "Forms":
        return replace(self, shape=shape, made=Picked(self, np.arange(self.size)))

    def map(self, M: Any, shape: tuple[int, ...], exact: Sequence[fmpq] | None = None) -> "Forms":
        """The forms under the linear map `M` of the flattened array; `exact` has its entries where floats cannot."""
        M = sparse.csr_array(M)
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = sparse.csr_array(M @ self.matrix)
            offset = M @ self.offset
        if self.names and exact is None:
            return Forms(shape, matrix, offset)
        clean = rows_that_pass(self.is_clean[M.indices], M.indptr)
        if not self.names:
            zero = np.zeros(len(offset))
            clean &= product_rows_are_exact(M, self.matrix, self.offset, zero, matrix, offset)
        if exact is not None:
            clean &= rows_that_pass(
                np.array([rational(a) == q for a, q in zip(M.data.tolist(), exact)], bool), M.indptr
            )
        return Forms(shape, matrix, offset, Mapped(self, M, exact), clean=clean)

    def scale(self, factors: Any) -> "Forms":
        """Every entry times its factor: a float, or a rational in an array of objects."""
        given = np.broadcast_to(np.asarray(factors), self.shape).ravel()
        c = floats(given)
        own = self.matrix
        at = np.repeat(c, np.diff(self.matrix.indptr))
        clean = self.clean
        if not (np.abs(c) == 1).all():
            clean = self.is_clean & product_is_exact(c, self.offset)
            clean &= rows_that_pass(product_is_exact(at, own.data), own.indptr)
        if given.dtype == object:
            clean = self.is_clean if clean is None else clean
            clean = clean & np.array([rational(a) == q for a, q in zip(c.tolist(), given)], bool)
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = sparse.csr_array((own.data * at, own.indices, own.indptr), shape=own.shape)
            offset = c * self.offset
        made = Picked(self, np.arange(self.size), given if given.dtype == object else c)
        return Forms(self.shape, matrix, offset, made, clean=clean)

    def divide(self, divisors: Any) -> "Forms":
        given = np.broadcast_to(np.asarray(divisors), self.shape).ravel()
        if given.dtype == object:
            return self.scale(np.array([1 / q for q in given], object).reshape(self.shape))
        q = given.astype(np.float64)
        own = self.matrix
        by = np.repeat(q, np.diff(self.matrix.indptr))
        clean = self.is_clean & quotient_is_exact(self.offset, q)
        clean &= rows_that_pass(quotient_is_exact(own.data, by), own.indptr)
        with np.errstate(over="ignore"):
            matrix = sparse.csr_array((own.data / by, own.indices, own.indptr), shape=own.shape)
            offset = self.offset / q
        return Forms(
            self.shape, matrix, offset, Picked(self, np.arange(self.size), divisor=q), clean=clean
        )

    def taken(self, rows: np.ndarray) -> "Forms":
        """The entries with these numbers, in an array of the shape of `rows`."""
        flat = rows.ravel()
        clean = None if self.clean is None else self.clean[flat]
        return Forms(
            rows.shape, self.matrix[flat], self.offset[flat], Picked(self, flat), clean=clean
        )

    def __add__(self, other: "Forms") -> "Forms":
        one, two = stretch_forms([self, other])
        matrix = sparse.csr_array(one + two)
        clean = self.is_clean & other.is_clean & sum_is_exact(self.offset, other.offset)
        if one.nnz and two.nnz and matrix.nnz < one.nnz + two.nnz:  # else no two entries meet
            clean &= _sum_rows_are_exact(one, two, matrix)
        with np.errstate(over="ignore", invalid="ignore"):
            offset = self.offset + other.offset
        return Forms(self.shape, matrix, offset, Added(self, other), clean=clean)

    def __sub__(self, other: "Forms") -> "Forms":
        return self + other.scale(-1.0)

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
            return rational(self.factor[i])
        return ONE if self.divisor is None else 1 / rational(float(self.divisor[i]))


@dataclass(frozen=True, eq=False)
class Mapped:
    """The rows of a matrix times one array; `exact` has the entries where floats cannot hold them."""

    of: Forms
    by: Any
    exact: Sequence[fmpq] | None = None

    def sources(self, i: int) -> list[Source]:
        span = slice(int(self.by.indptr[i]), int(self.by.indptr[i + 1]))
        numbers = self.by.data[span].tolist() if self.exact is None else self.exact[span]
        return [(self.of, j, rational(a)) for j, a in zip(self.by.indices[span].tolist(), numbers)]


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
    entries = [
        (i, j, nearest(a)) for i, row in enumerate(rows) for j, a in row.items() if j != CONSTANT
    ]
    i, j, a = zip(*entries) if entries else ((), (), ())
    matrix = sparse.csr_array(
        (np.array(a, float), (np.array(i, int), np.array(j, int))), shape=(len(rows), width)
    )
    offset = np.array([nearest(row.get(CONSTANT, fmpq(0))) for row in rows], float)
    clean = np.array([all(rational(nearest(a)) == a for a in row.values()) for row in rows], bool)
    return Forms((len(rows),), matrix, offset, Written(rows), clean=clean)


def floats(values: np.ndarray) -> np.ndarray:
    """The nearest float64 numbers of numbers of any kind, rationals among them."""
    if values.dtype != object:
        return values.astype(np.float64)
    return np.array([nearest(q) for q in values.ravel()], np.float64).reshape(values.shape)


def constant(values: Any) -> Forms:
    """An array of numbers as forms without variables."""
    array = np.asarray(values)
    if array.dtype == object:
        return written([{CONSTANT: q} if q else {} for q in array.ravel()], 0).reshape(array.shape)
    return Forms(array.shape, sparse.csr_array((array.size, 0)), array.astype(np.float64).ravel())


def _sum_rows_are_exact(one: Any, two: Any, total: Any) -> np.ndarray:
    """Which rows of a sum of CSR arrays were not rounded: Knuth's two-sum, entry by entry."""
    virtual = total - one
    lost = sparse.csr_array((one - (total - virtual)) + (two - virtual))
    return rows_that_pass(lost.data == 0, lost.indptr)


def stretch_forms(forms: Sequence[Forms]) -> list[Any]:
    """Their matrices with a column for every variable that any of them knows."""
    width = max(f.matrix.shape[1] for f in forms)
    return [widen_matrix(f.matrix, width) for f in forms]


def pool_forms(forms: Sequence[Forms]) -> Forms:
    """All entries of all arrays in one flat array."""
    if len(forms) == 1:
        return forms[0].reshape((forms[0].size,))
    matrix: Any = sparse.csr_array(sparse.vstack(stretch_forms(forms), format="csr"))
    starts = np.cumsum([0, *(f.size for f in forms[:-1])])
    clean = (
        None if all(f.clean is None for f in forms) else np.concatenate([f.is_clean for f in forms])
    )
    offset = np.concatenate([f.offset for f in forms])
    return Forms((matrix.shape[0],), matrix, offset, Joined(tuple(forms), starts), clean=clean)


def widen_matrix(matrix: Any, width: int) -> Any:
    """The sparse `matrix` with columns of zeros added up to `width`."""
    wide: Any = sparse.csr_array(matrix)
    return sparse.csr_array((wide.data, wide.indices, wide.indptr), shape=(wide.shape[0], width))


# ---- rows without rounding -------------------------------------------------------------------------------------------


def exact_rows(
    forms: Forms, rows: Iterable[int], spend: Callable[[int], None] | None = None
) -> list[Row]:
    """Entries as exact rows: a rational for every variable read, the offset under `CONSTANT`; zeros are left out.

    `spend` is told how many products of rationals are about to be formed, and may raise.
    """
    found: dict[tuple[int, int], Row] = {}  # by array and entry
    wanted = list(rows)
    waiting = [(forms, i) for i in wanted]
    while waiting:  # depth first, without recursion: programs with loops are deep
        array, i = waiting[-1]
        sources = [] if array.clean is None or array.clean[i] else array.sources(i)
        missing = [(child, j) for child, j, _ in sources if (id(child), j) not in found]
        if missing and (id(array), i) not in found:
            waiting += missing
            continue
        waiting.pop()
        if (id(array), i) not in found:
            terms = [(c, found[id(child), j]) for child, j, c in sources]
            if spend is not None:
                spend(1 + sum(len(row) for _, row in terms))
            found[id(array), i] = _row(array, i, terms)
    return [found[id(forms), i] for i in wanted]


def _row(forms: Forms, i: int, terms: list[tuple[fmpq, Row]]) -> Row:
    if isinstance(forms.made, Written):
        return forms.made.rows[i]
    return (
        _read(forms, i)
        if forms.made is None or forms.clean is None or forms.clean[i]
        else combine_forms(terms)
    )


def _read(forms: Forms, i: int) -> Row:
    span = slice(int(forms.matrix.indptr[i]), int(forms.matrix.indptr[i + 1]))
    row: Row = {}
    for j, a in zip(forms.matrix.indices[span].tolist(), forms.matrix.data[span].tolist()):
        row[j] = row.get(j, 0) + rational(a)
    row[CONSTANT] = rational(float(forms.offset[i]))
    return {j: a for j, a in row.items() if a}


def combine_forms(terms: Iterable[tuple[fmpq, Row]]) -> Row:
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


def multiples(
    forms: Forms, depth: int = 32, known: dict[int, Multiples] | None = None
) -> Multiples:
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
        times = (
            np.array([made.times(i) for i in range(forms.size)], object) if _scales(made) else ONE
        )
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
