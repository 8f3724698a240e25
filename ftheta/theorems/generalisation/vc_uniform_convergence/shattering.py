r"""How many ways a class labels points: Sauer and Shelah, Cover, and a count with certificates.

A set of `patterns`, one row of booleans each, is what a class does to $m$ points. A subset of the points is shattered
if all its labellings occur; the VC dimension is the size of the largest such subset. Halfspaces are counted point by
point: a labelling of the first points that no halfspace makes has no extension, so that few linear programs decide
all $2^m$. Each is answered with a certificate in rationals (`ftheta.risks.separation`).
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from flint import fmpq_mat  # type: ignore[import-untyped]

from ftheta.logic import Enclosure, UsageError
from ftheta.relu.matrices import fraction, rational_matrix
from ftheta.risks.separation import products, separation

MOST_POINTS = 16
MOST_PATTERNS = 5000  # linear programs solved in one count


def sauer_shelah(m: int, d: int) -> int:
    r"""$\sum_{i\le d}\binom mi$, at least the number of labellings of $m$ points by a class of VC dimension $d$."""
    return sum(comb(m, i) for i in range(min(m, d) + 1))


def cover_count(points: int, dimension: int) -> int:
    r"""$2\sum_{k<d}\binom{N-1}k$ labellings of $N$ points in general position by halfspaces through 0."""
    return 2 * sum(comb(points - 1, k) for k in range(dimension)) if points else 1


def append_one(x: np.ndarray) -> np.ndarray:
    """Rows with a 1 appended: halfspaces with an offset are halfspaces through 0 of these."""
    return np.column_stack([x, np.ones(len(x))])


@dataclass(frozen=True, eq=False)
class Labellings:
    """`patterns` that are certainly made by a halfspace; `open` ones, extensions included, that were not decided."""

    patterns: np.ndarray
    open: int
    programs: int

    @property
    def count(self) -> Enclosure:
        found = len(self.patterns)
        return Enclosure.between(found, found + self.open)


def halfspace_labellings(z: np.ndarray) -> Labellings:
    r"""All $\{\operatorname{sign}\langle z_i,w\rangle\}$ with no product 0; `append_one(x)` gives the halfspaces an
    offset."""
    z = np.asarray(z, np.float64)
    if z.ndim != 2 or not 1 <= len(z) <= MOST_POINTS:
        raise UsageError(
            "Labellings are counted for a few points, one per row.",
            got=f"shape {z.shape}",
            remedy=f"give at most {MOST_POINTS} rows",
        )
    z = independent_columns(z)
    # w and −w: the first label is true
    kept = [(True,)] if z[0].any() else []
    undecided = 0
    programs = 0
    for k in range(1, len(z)):
        longer: list[tuple[bool, ...]] = []
        for pattern in kept:
            for label in (True, False):
                programs += 1
                if programs > MOST_PATTERNS:
                    got = f"more than {MOST_PATTERNS:,} linear programs"
                    raise UsageError(
                        "There are too many labellings.", got=got, remedy="give fewer points"
                    )
                signs = np.where((*pattern, label), 1.0, -1.0)
                made = strictly_separable(signs[:, None] * z[: k + 1])
                if made:
                    longer.append((*pattern, label))
                elif made is None:
                    undecided += 2 ** (len(z) - k - 1)
        kept = longer
    half = np.array(kept, bool).reshape(len(kept), len(z))
    return Labellings(np.concatenate([half, ~half]), 2 * undecided, programs)


def independent_columns(z: np.ndarray) -> np.ndarray:
    """Columns that span all of them, chosen in rationals: the vectors Zw, and so their signs, are the same."""
    echelon, rank = rational_matrix(z).rref()
    return z[:, _pivots(echelon, rank)]


def _pivots(echelon: Any, rank: int) -> list[int]:
    return [next(j for j in range(echelon.ncols()) if echelon[r, j]) for r in range(rank)]


def strictly_separable(z: np.ndarray) -> bool | None:
    r"""Whether some $w$ has $\langle z_i,w\rangle>0$ for all rows; None where it was not decided.

    If $w$ separates weakly, the rows on its plane decide: what separates them strictly, added to a multiple of $w$,
    separates all.
    """
    found = separation(z)
    if found.kind != "weakly separable" or found.direction is None:
        return {"separable": True, "overlapping": False}.get(found.kind)
    on_plane = [i for i, v in enumerate(products(z, found.direction)) if v == 0]
    return strictly_separable(z[on_plane]) if on_plane else True


def vc_dimension(patterns: np.ndarray) -> int:
    """The size of the largest set of columns in which all rows of booleans occur; −1 for no pattern at all."""
    patterns = np.unique(np.asarray(patterns, bool), axis=0)
    m = patterns.shape[1]
    size = len(patterns)
    largest = -1 if size == 0 else 0
    while size and largest < m and 2 ** (largest + 1) <= size:
        if not any(
            _is_shattered(patterns[:, list(c)]) for c in combinations(range(m), largest + 1)
        ):
            break
        largest += 1
    return largest


def _is_shattered(columns: np.ndarray) -> bool:
    codes = columns @ (1 << np.arange(columns.shape[1]))
    return len(np.unique(codes)) == 1 << columns.shape[1]


def dependent_rows(z: np.ndarray) -> tuple[int, ...] | None:
    """The first rows, as many as columns (or all, if fewer), that are linearly dependent; None in general position."""
    k = min(z.shape)
    for rows in combinations(range(len(z)), k):
        if rational_matrix(z[list(rows)]).rank() < k:
            return rows
    return None


def radon_weights(x: np.ndarray) -> tuple[Fraction, ...]:
    r"""$u\ne0$ with $\sum_iu_i=0$ and $\sum_iu_ix_i=0$ for $d+2$ points: no halfspace makes the labelling
    $\operatorname{sign}u$ (Radon)."""
    z = append_one(x).T
    echelon, rank = rational_matrix(z).rref()
    pivots = _pivots(echelon, rank)
    free = next(j for j in range(z.shape[1]) if j not in pivots)
    weights = fmpq_mat(z.shape[1], 1)
    weights[free, 0] = 1
    for r, j in enumerate(pivots):
        weights[j, 0] = -echelon[r, free]
    return tuple(fraction(v) for v in weights.entries())


def count_radon_labellings(x: np.ndarray, patterns: np.ndarray) -> int:
    """How many of the patterns label the first points by the signs of their Radon weights."""
    labels = [(i, u > 0) for i, u in enumerate(radon_weights(x)) if u != 0]
    return int(sum(all(row[i] == label for i, label in labels) for row in patterns))
