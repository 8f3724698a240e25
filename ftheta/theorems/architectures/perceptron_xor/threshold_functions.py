r"""Functions of $n$ bits that one threshold unit computes, counted twice: by weights that show that a function is one,
and by two pairs of points that show that it is none.

If $a+b=c+d$ for points $a,b$ with label 1 and $c,d$ with label 0, no hyperplane separates the labels, for it would
have to give both pairs the same sum. Up to eight bits every other function is a threshold function (Muroga). A
function is a number whose bit $i$ is its value at the point whose coordinates are the bits of $i$.
"""

from itertools import combinations_with_replacement, product

import numpy as np

from ftheta.logic import UsageError

MOST_BITS = 4
LARGEST_WEIGHT = {1: 1, 2: 1, 3: 2, 4: 3}


def cube(bits: int) -> np.ndarray:
    """The points of {0, 1}ⁿ, one per row; bit j of i is entry j of row i."""
    return (np.arange(1 << bits)[:, None] >> np.arange(bits)) & 1


def shown_by_weights(bits: int) -> np.ndarray:
    r"""The functions $1\{\langle w,x\rangle>t\}$ with small whole weights: each certainly is a threshold function."""
    _few(bits)
    reach = range(-LARGEST_WEIGHT[bits], LARGEST_WEIGHT[bits] + 1)
    sums = np.array(list(product(reach, repeat=bits))) @ cube(bits).T
    places = 1 << np.arange(1 << bits)
    codes = [(sums > t) @ places for t in range(int(sums.min()) - 1, int(sums.max()) + 1)]
    return np.unique(np.concatenate(codes))


def not_excluded_by_pairs(bits: int) -> np.ndarray:
    r"""The functions for which no $a+b=c+d$ has labels 1, 1 and 0, 0: all others certainly are none."""
    _few(bits)
    functions = np.arange(1 << (1 << bits), dtype=np.int64)
    points = cube(bits)
    by_sum: dict[tuple[int, ...], list[int]] = {}
    for a, b in combinations_with_replacement(range(len(points)), 2):
        by_sum.setdefault(tuple((points[a] + points[b]).tolist()), []).append(1 << a | 1 << b)
    excluded = np.zeros(len(functions), bool)
    for ones in (pair for pairs in by_sum.values() for pair in product(pairs, repeat=2)):
        excluded |= (functions & ones[0] == ones[0]) & (functions & ones[1] == 0)
    return functions[~excluded]


def _few(bits: int) -> None:
    if bits not in LARGEST_WEIGHT:
        raise UsageError(
            "Threshold functions are counted for a few bits.", got=bits, remedy=f"1 to {MOST_BITS}"
        )
