r"""Matrices over two kinds of numbers: float64 (dense or CSR) and rationals (sparse rows).

The calculus of networks is written once, for any `Algebra`; `FLOATS` rounds, `RATIONALS` does not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any, Protocol, TypeAlias

import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.lazy import is_sparse, sparse
from ftheta.logic.errors import SubjectError
from ftheta.shapes import Shaped

from .rounding import product_rows_are_exact

Number: TypeAlias = int | float | Fraction | fmpq
LEAST = 5e-324  # the least positive float64 number
SMALL = 4096  # entries below which a float matrix is kept dense whatever its zeros


def rational(x: Any) -> fmpq:
    """The exact value of an integer, a fraction or a float (a dyadic rational)."""
    if isinstance(x, fmpq):
        return x
    if isinstance(x, int):
        return fmpq(x)
    if isinstance(x, float) and isfinite(x):
        return fmpq(*x.as_integer_ratio())
    if isinstance(x, (float, np.floating)) and not np.isfinite(x):
        raise SubjectError("A rational number is needed.", got=x, remedy="replace NaN and infinity")
    value = Fraction(x.item() if isinstance(x, np.generic) else x)
    return fmpq(value.numerator, value.denominator)


def rational_matrix(a: Shaped[np.ndarray, "*shape"]) -> fmpq_mat:
    """The matrix `a` (a vector is one row) in exact rationals."""
    return fmpq_mat([[rational(v) for v in row] for row in np.atleast_2d(a).tolist()])


def fraction(q: fmpq) -> Fraction:
    """The same number as a Python fraction."""
    return Fraction(int(q.p), int(q.q))


def nearest(q: fmpq) -> float:
    """The float64 number next to a rational; what is not zero does not become zero."""
    top = int(q.p)
    bottom = int(q.q)
    try:
        found = top / bottom  # Python divides integers with one rounding
    except OverflowError as overflow:
        raise SubjectError(
            "A weight is too large for float64.", got=f"about 2^{top.bit_length()}"
        ) from overflow
    if found or not top:
        return found
    return LEAST if top > 0 else -LEAST


def vector(values: Iterable[Any]) -> tuple[fmpq, ...]:
    """A rational vector."""
    return tuple(rational(v) for v in values)


@dataclass(frozen=True)
class ExactMatrix:
    """A rational matrix: in each row the non-zero entries by column. Equality is equality of matrices."""

    rows: tuple[Mapping[int, fmpq], ...]
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: Any) -> "ExactMatrix":
        """From nested sequences, a NumPy array or a SciPy sparse array, at exact values."""
        if isinstance(matrix, ExactMatrix):
            return matrix
        if is_sparse(matrix):
            return cls._of_csr(sparse.csr_array(matrix))
        table = matrix.tolist() if isinstance(matrix, np.ndarray) else [list(row) for row in matrix]
        width = len(table[0]) if table else 0
        rows = tuple({j: rational(a) for j, a in enumerate(row) if a} for row in table)
        return cls(rows, (len(rows), width))

    @classmethod
    def _of_csr(cls, matrix: Any) -> "ExactMatrix":
        ends = matrix.indptr.tolist()
        columns = matrix.indices.tolist()
        data = matrix.data.tolist()
        spans = pairwise(ends)
        rows = tuple(
            {columns[k]: rational(data[k]) for k in range(a, b) if data[k]} for a, b in spans
        )
        return cls(rows, (int(matrix.shape[0]), int(matrix.shape[1])))

    @property
    def nnz(self) -> int:
        return sum(map(len, self.rows))

    def __matmul__(self, other: "ExactMatrix") -> "ExactMatrix":
        return ExactMatrix(
            tuple(self._combine(row, other) for row in self.rows), (self.shape[0], other.shape[1])
        )

    @staticmethod
    def _combine(row: Mapping[int, fmpq], other: "ExactMatrix") -> dict[int, fmpq]:
        total: dict[int, fmpq] = {}
        for k, a in row.items():
            for j, b in other.rows[k].items():
                total[j] = total[j] + a * b if j in total else a * b
        return {j: v for j, v in total.items() if v}

    def times(self, table: Sequence[Sequence[fmpq]]) -> list[list[fmpq]]:
        """The rows of the product with a dense matrix, given by its rows."""
        if self._is_dense:
            return (self._dense * fmpq_mat([list(row) for row in table])).tolist()
        columns = range(len(table[0]))
        return [
            [sum((a * table[j][k] for j, a in row.items()), fmpq(0)) for k in columns]
            for row in self.rows
        ]

    @cached_property
    def _is_dense(self) -> bool:
        return 4 * self.nnz > self.shape[0] * self.shape[1]

    @cached_property
    def _dense(self) -> fmpq_mat:
        zero = fmpq(0)
        return fmpq_mat(
            *self.shape, [row.get(j, zero) for row in self.rows for j in range(self.shape[1])]
        )

    def apply(self, x: Sequence[fmpq]) -> tuple[fmpq, ...]:
        if self._is_dense:
            return tuple(value for (value,) in self.times([[t] for t in x]))
        return tuple(sum((a * x[j] for j, a in row.items() if x[j]), fmpq(0)) for row in self.rows)

    def map(self, f: Any) -> "ExactMatrix":
        """The entries under `f`, which must send non-zero numbers to non-zero numbers."""
        return ExactMatrix(
            tuple({j: f(a) for j, a in row.items()} for row in self.rows), self.shape
        )

    def table(self) -> list[list[Fraction]]:
        zero = fmpq(0)
        return [[fraction(row.get(j, zero)) for j in range(self.shape[1])] for row in self.rows]


class Algebra(Protocol):
    """What the calculus of networks needs of matrices and vectors over one kind of numbers."""

    def matrix(self, A: Any) -> Any: ...
    def vector(self, b: Any) -> Any: ...
    def eye(self, n: int) -> Any: ...
    def block(self, matrices: Sequence[Any]) -> Any: ...
    def stack(self, matrices: Sequence[Any]) -> Any: ...
    def beside(self, matrices: Sequence[Any]) -> Any: ...
    def scale(self, c: Number, A: Any) -> Any: ...
    def product(self, A: Any, B: Any) -> Any: ...
    def image(self, A: Any, x: Any) -> Any: ...
    def join(self, vectors: Sequence[Any]) -> Any: ...
    def add(self, x: Any, y: Any) -> Any: ...
    def multiple(self, c: Number, x: Any) -> Any: ...
    def nnz(self, A: Any) -> int: ...
    def has(self, c: Number) -> bool: ...
    def is_exact(self, M: Any, A: Any, b: Any, shift: Any, product: Any, image: Any) -> bool: ...


class Floats:
    """float64; small or full matrices dense, the others CSR."""

    def matrix(self, A: Any) -> Any:
        return compact_array(A) if is_sparse(A) else np.atleast_2d(np.asarray(A, np.float64))

    def vector(self, b: Any) -> Any:
        return np.asarray(b, np.float64)

    def eye(self, n: int) -> Any:
        return compact_array(sparse.eye_array(n, format="csr"))

    def block(self, matrices: Sequence[Any]) -> Any:
        return compact_array(sparse.block_diag(matrices, format="csr"))

    def stack(self, matrices: Sequence[Any]) -> Any:
        return compact_array(sparse.vstack([sparse.csr_array(A) for A in matrices], format="csr"))

    def beside(self, matrices: Sequence[Any]) -> Any:
        return compact_array(sparse.hstack([sparse.csr_array(A) for A in matrices], format="csr"))

    def scale(self, c: Number, A: Any) -> Any:
        return A * float(rational_fraction(c))

    def product(self, A: Any, B: Any) -> Any:
        C = A @ B
        return compact_array(C) if is_sparse(C) else C

    def image(self, A: Any, x: Any) -> Any:
        return A @ x

    def join(self, vectors: Sequence[Any]) -> Any:
        return np.concatenate(vectors)

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def multiple(self, c: Number, x: Any) -> Any:
        return x * float(rational_fraction(c))

    def nnz(self, A: Any) -> int:
        return int(np.count_nonzero(A.data if is_sparse(A) else A))

    def has(self, c: Number) -> bool:
        """Whether the number is one of these."""
        return rational(float(rational_fraction(c))) == rational(c)

    def is_exact(self, M: Any, A: Any, b: Any, shift: Any, product: Any, image: Any) -> bool:
        """Whether `product` MA and `image` Mb + shift were computed without rounding, as far as can be told quickly."""
        rows = (sparse.csr_array(matrix) for matrix in (M, A, product))
        outer, inner, merged = rows
        return bool(product_rows_are_exact(outer, inner, b, shift, merged, image).all())


class Rationals:
    """Exact rationals in sparse rows."""

    def matrix(self, A: Any) -> ExactMatrix:
        return ExactMatrix.of(A)

    def vector(self, b: Any) -> tuple[fmpq, ...]:
        return vector(b)

    def eye(self, n: int) -> ExactMatrix:
        return ExactMatrix(tuple({i: fmpq(1)} for i in range(n)), (n, n))

    def block(self, matrices: Sequence[ExactMatrix]) -> ExactMatrix:
        rows = []
        start = 0
        for A in matrices:
            rows += [{start + j: a for j, a in row.items()} for row in A.rows]
            start += A.shape[1]
        return ExactMatrix(tuple(rows), (len(rows), start))

    def stack(self, matrices: Sequence[ExactMatrix]) -> ExactMatrix:
        rows = tuple(row for A in matrices for row in A.rows)
        return ExactMatrix(rows, (len(rows), matrices[0].shape[1]))

    def beside(self, matrices: Sequence[ExactMatrix]) -> ExactMatrix:
        rows: list[dict[int, fmpq]] = [{} for _ in matrices[0].rows]
        start = 0
        for A in matrices:
            for row, more in zip(rows, A.rows):
                row.update((start + j, a) for j, a in more.items())
            start += A.shape[1]
        return ExactMatrix(tuple(rows), (len(rows), start))

    def scale(self, c: Number, A: ExactMatrix) -> ExactMatrix:
        q = rational(c)
        return A.map(lambda a: q * a) if q else ExactMatrix(tuple({} for _ in A.rows), A.shape)

    def product(self, A: ExactMatrix, B: ExactMatrix) -> ExactMatrix:
        return A @ B

    def image(self, A: ExactMatrix, x: Sequence[fmpq]) -> tuple[fmpq, ...]:
        return A.apply(x)

    def join(self, vectors: Sequence[Sequence[fmpq]]) -> tuple[fmpq, ...]:
        return tuple(a for x in vectors for a in x)

    def add(self, x: Sequence[fmpq], y: Sequence[fmpq]) -> tuple[fmpq, ...]:
        return tuple(a + b for a, b in zip(x, y))

    def multiple(self, c: Number, x: Sequence[fmpq]) -> tuple[fmpq, ...]:
        q = rational(c)
        return tuple(q * a for a in x)

    def nnz(self, A: ExactMatrix) -> int:
        return A.nnz

    def has(self, c: Number) -> bool:
        """Every number is one of these."""
        return True

    def is_exact(self, M: Any, A: Any, b: Any, shift: Any, product: Any, image: Any) -> bool:
        """Nothing is rounded here."""
        return True


def compact_array(A: Any) -> Any:
    """A sparse array, made dense where that costs little; explicit zeros are dropped."""
    A = sparse.csr_array(A)
    A.eliminate_zeros()
    size = A.shape[0] * A.shape[1]
    return A.toarray() if size <= SMALL or 4 * A.nnz > size else A


def rational_fraction(c: Number) -> Fraction:
    """A number of any kind as a `Fraction`, exactly."""
    return fraction(rational(c))


FLOATS = Floats()
RATIONALS = Rationals()
