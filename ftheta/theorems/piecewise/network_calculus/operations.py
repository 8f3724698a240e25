"""Every operation of the calculus applied to one network, with the costs that the formulas predict."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftheta.relu.calculus import (
    compose,
    compose_sparse,
    pad,
    parallel,
    postcompose,
    precompose,
    stack,
)
from ftheta.relu.counts import count
from ftheta.relu.elementary import identity
from ftheta.relu.network import ExactNetwork


@dataclass(frozen=True)
class Operation:
    """`made` realises the same function as `meant`; L, N, W are what the formulas say, and W may be a bound."""

    name: str
    made: ExactNetwork
    meant: ExactNetwork
    layers: int
    neurons: int
    weights: int
    is_bound: bool = False


def apply_operations(f: ExactNetwork, extra: int) -> list[Operation]:
    """Padding, sparse composition, parallel blocks, stacking, sums, multiples and affine changes of input."""
    c = count(f)
    m = f.widths[-1]
    d = f.widths[0]
    L = len(f.steps)
    N = c.neurons
    W = c.connections
    last = f.steps[-1].matrix.nnz
    eye = np.eye(d, dtype=int).tolist()
    double = [[2 * a for a in row] for row in eye]
    through = identity(m)
    twice = np.vstack([np.eye(d, dtype=int)] * 2).tolist()
    return [
        Operation(
            "pad", pad(f, L + extra), f, L + extra, N + 2 * m * extra, W + last + 2 * m * extra
        ),
        Operation("merged composition", compose(through, f), f, L + 1, N + 2 * m, W + last + 2 * m),
        Operation(
            "sparse composition",
            compose_sparse(through, f),
            f,
            L + 2,
            N + 4 * m,
            2 * W + 8 * m,
            True,
        ),
        Operation("parallel", precompose(parallel(f, f), twice), stack(f, f), L, 2 * N, 2 * W),
        Operation("sum", f + f, 2 * f, L, 2 * N, 2 * W, True),
        Operation(
            "multiple",
            3 * f,
            postcompose(f, [[3 * int(i == j) for j in range(m)] for i in range(m)]),
            L,
            N,
            W,
        ),
        Operation("change of input", precompose(precompose(f, double), _half(eye)), f, L, N, W),
    ]


def _half(eye: Sequence[Sequence[int]]) -> list[list[float]]:
    return [[a / 2 for a in row] for row in eye]
