r"""Positively homogeneous networks on the cones cut out by $x_i=x_j$ and $x_i=0$.

With $x_0=0$ these are the cones of the orders of $x_0,\dots,x_M$. Each is spanned by a chain
$S_1\subset\dots\subset S_M$ of sets of indices, whose rays are $1_S$, shifted so that coordinate 0 vanishes. A network
without biases none of whose neurons is positive on one and negative on another ray of a chain is linear on every
cone. Then it is the maximum, which is linear there as well, as soon as it agrees with it on the $2^{M+1}-2$ rays.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ftheta.logic import SubjectError
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactNetwork

MOST = 12  # numbers; there are 2^(M+1) rays
LARGEST = 2**62
WORK = 200_000  # products of fractions in one step


@dataclass(frozen=True)
class OnCones:
    """`error` is the largest one on the rays, at `ray`; `bent` neurons change their sign inside a cone."""

    error: Fraction
    ray: tuple[int, ...]
    bent: int


def rays(M: int) -> np.ndarray:
    """One row a set of indices 0 to M, in the order of bit masks; the empty and the full set give zero."""
    bits = (np.arange(2 ** (M + 1))[:, None] >> np.arange(M + 1)) & 1
    return bits[:, 1:] - bits[:, :1]


def _table(step: Any) -> np.ndarray:
    rows = step.matrix.table()
    whole = all(a.denominator == 1 for row in rows for a in row)
    return np.array([[int(a) if whole else a for a in row] for row in rows], dtype=object)


def preactivations(net: ExactNetwork, x: np.ndarray) -> list[np.ndarray]:
    """The state before the ReLU of every step at integer points (rows), without rounding.

    In 64-bit integers as long as no sum can leave them, from then on in rationals.
    """
    state = x.astype(np.int64)
    found = []
    for step in net.steps:
        table = _table(step)
        offset = np.array([fraction(b) for b in step.offset], dtype=object)
        whole = (
            state.dtype != object
            and all(isinstance(a, int) for a in table.ravel())
            and not offset.any()
        )
        if (
            whole
            and max(sum(map(abs, row)) for row in table) * int(np.abs(state).max(initial=1))
            < LARGEST
        ):
            z = state @ table.astype(np.int64).T
        else:
            if len(x) * table.size > WORK:
                raise SubjectError(
                    "The weights are not those of a maximum.", got="fractions in large matrices"
                )
            z = state.astype(object) @ table.T + offset
        found.append(z)
        state = np.where(step.rectified, np.maximum(z, 0), z)
    return found


def against_maximum(net: ExactNetwork) -> OnCones:
    """The network beside the maximum on every ray, and the neurons that are not linear on every cone."""
    M = net.widths[0]
    x = rays(M)
    *hidden, out = preactivations(net, x)
    errors = np.abs(out[:, 0] - x.max(axis=1))
    worst = int(np.argmax(errors))
    bent = sum(int(_bent(z, M).sum()) for z in hidden)
    return OnCones(Fraction(errors[worst]), tuple(x[worst].tolist()), bent)


def _bent(z: np.ndarray, M: int) -> Any:
    """Which columns are positive on one set and negative on another set of a chain."""
    positive = (z > 0).astype(bool)
    negative = (z < 0).astype(bool)
    return np.any((_within(positive, M) & negative) | (_within(negative, M) & positive), axis=0)


def _within(marked: np.ndarray, M: int) -> np.ndarray:
    """For every set, whether one of its subsets is marked."""
    found = marked.copy()
    for bit in range(M + 1):
        halves = found.reshape(-1, 2, 2**bit, found.shape[1])
        halves[:, 1] |= halves[:, 0]
    return found
