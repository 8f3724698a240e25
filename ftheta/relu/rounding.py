r"""Which float64 results are exact: tests on whole arrays, from the bits of the numbers.

A float is $x=m\,2^e$ with an odd integer $m$ (its *odd part*) and the place $e$ of its lowest bit. A product is exact
if and only if the product of the odd parts has at most 53 bits; a sum of numbers that are all multiples of $2^e$ is
exact, in any order, if their magnitudes add up to at most $2^{53+e}$. What does not pass a test of rows may still be
exact: those tests are sufficient, and whoever asks computes the rest in rationals. Infinite operands pass: nothing is
rounded there.
"""

from typing import Any, NamedTuple

import numpy as np

from ftheta.shapes import Bool, Float, Int

MOST = 2.0**53  # integers up to here are floats
LOWEST = -1074  # the place of the lowest bit that float64 has
NOWHERE = 1 << 20  # the place of the lowest bit of zero: above all others


class Bits(NamedTuple):
    """The odd parts (0 of zero) and the places of the lowest bits."""

    odd: np.ndarray
    place: np.ndarray


def bits(x: np.ndarray) -> Bits:
    """Every number as an odd whole number times a power of two: the digits and the place of the last one."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    whole = np.abs(mantissa * MOST).astype(np.int64)
    lowest = whole & -whole
    zeros = np.frexp(np.maximum(lowest, 1).astype(np.float64))[1] - 1
    place = np.where(whole == 0, NOWHERE, exponent.astype(np.int64) - 53 + zeros)
    return Bits((whole >> zeros).astype(np.float64), place)


def product_is_exact(a: Float[Any, "*#shape"], b: Float[Any, "*#shape"]) -> Bool[Any, "*shape"]:
    """Whether each `a * b` is a float64 number."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(a * b)
    one = bits(np.where(finite, a, 0.0))
    other = bits(np.where(finite, b, 0.0))
    short = one.odd * other.odd <= MOST
    return (finite & short & (one.place + other.place >= LOWEST)) | ~(
        np.isfinite(a) & np.isfinite(b)
    )


def sum_is_exact(a: Float[Any, "*#shape"], b: Float[Any, "*#shape"]) -> Bool[Any, "*shape"]:
    """Whether each `a + b` is a float64 number (Knuth's two-sum)."""
    with np.errstate(all="ignore"):
        total = a + b
        virtual = total - a
        lost = (a - (total - virtual)) + (b - virtual)
    return (lost == 0) | ~(np.isfinite(a) & np.isfinite(b))  # NaN after an overflow is not zero


def quotient_is_exact(a: Float[Any, "*#shape"], b: Float[Any, "*#shape"]) -> Bool[Any, "*shape"]:
    """Whether each `a / b` is a float64 number."""
    with np.errstate(all="ignore"):
        quotient = a / b
        good = np.isfinite(quotient) & (quotient * b == a)
    return good & product_is_exact(np.where(good, quotient, 0.0), np.where(good, b, 0.0))


def rows_that_pass(
    passes: Bool[np.ndarray, "entries"], pointer: Int[np.ndarray, "ends"]
) -> Bool[np.ndarray, "ends-1"]:
    """The rows of a CSR array (by its `indptr`) in which every entry passes; empty rows do."""
    if passes.all():
        return np.ones(len(pointer) - 1, bool)
    failed = np.concatenate([[0], np.cumsum(~passes)])
    return failed[pointer[1:]] == failed[pointer[:-1]]


class RowFacts(NamedTuple):
    """What is known of the rows of a matrix with its offset as one more column."""

    odd: np.ndarray  # the largest odd part
    place: np.ndarray  # of the lowest bit of all
    size: np.ndarray  # the largest magnitude
    entries: np.ndarray  # that are not zero


def survey(matrix: Any, offset: np.ndarray) -> RowFacts:
    """The rows of a CSR array and its offsets."""
    own = bits(matrix.data)
    shift = bits(offset)
    return RowFacts(
        _over_rows(np.maximum, own.odd, matrix.indptr, shift.odd),
        _over_rows(np.minimum, own.place, matrix.indptr, shift.place),
        _over_rows(np.maximum, np.abs(matrix.data), matrix.indptr, np.abs(offset)),
        _over_rows(np.add, matrix.data != 0, matrix.indptr, (offset != 0).astype(np.int64)),
    )


def _over_rows(
    join: np.ufunc, values: np.ndarray, pointer: np.ndarray, more: np.ndarray
) -> np.ndarray:
    """The entries of every row and one more number joined."""
    found = more.copy()
    full = np.flatnonzero(np.diff(pointer))
    if full.size:
        found[full] = join(found[full], join.reduceat(values, pointer[full], dtype=more.dtype))
    return found


def _at_most_one(pointer: np.ndarray) -> bool:
    return int(np.diff(pointer).max(initial=0)) <= 1


def _selects(B: Any) -> bool:
    """Whether every row is a unit vector or zero, and no two are the same."""
    return (
        _at_most_one(B.indptr)
        and bool((B.data == 1).all())
        and np.bincount(B.indices, minlength=1).max() <= 1
    )


def product_rows_are_exact(
    A: Any, B: Any, before: np.ndarray, shift: np.ndarray, product: Any, after: Any
) -> Any:
    r"""Which rows of the product $A[B\mid\text{before}]+[0\mid\text{shift}]$ float64 computes without rounding.

    `product` and `after` are what was computed. Every term must be exact; where several terms meet in one entry the sum
    must be too, by the sizes of all terms of the row.
    """
    if _selects(B) and not before.any():  # every term has an entry of its own, and is a number of A
        return np.ones(A.shape[0], bool)
    if _at_most_one(A.indptr) and (np.abs(A.data) == 1).all():
        return sum_is_exact(A @ before, shift)
    own = bits(A.data)
    rows = survey(B, before)
    k = A.indices
    pointer = A.indptr
    with np.errstate(all="ignore"):
        terms = (own.odd * rows.odd[k] <= MOST) & (own.place + rows.place[k] >= LOWEST)
        size = _over_rows(np.add, np.abs(A.data) * rows.size[k], pointer, np.abs(shift))
    place = _over_rows(np.minimum, own.place + rows.place[k], pointer, bits(shift).place)
    count = _over_rows(
        np.add, np.where(A.data != 0, rows.entries[k], 0), pointer, (shift != 0).astype(np.int64)
    )
    found = _over_rows(np.add, product.data != 0, product.indptr, (after != 0).astype(np.int64))
    apart = (count == found) & np.isfinite(size)
    close = 1.001 * size <= np.ldexp(1.0, np.minimum(53 + place, 1000))
    return rows_that_pass(terms, pointer) & (apart | close)
