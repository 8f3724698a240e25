r"""One representative for all networks that differ by the symmetries of ReLU.

Permuting hidden neurons, and rescaling $(w_i,b_i,a_i)\mapsto(\lambda w_i,\lambda b_i,a_i/\lambda)$ with $\lambda>0$,
does not change the realisation. The canonical form also merges neurons that became equal and drops those that say
nothing: zero outgoing weights, zero incoming weights (a constant), or no way to become positive because all they read
is never negative.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]
from scipy import sparse

from ftheta.logic.errors import SubjectError

from ..counts import is_plain
from ..exact import exact
from ..matrices import RATIONALS, ExactMatrix, fraction
from ..network import ExactNetwork, ReluNetwork

ZERO = fmpq(0)
ONE = fmpq(1)


@dataclass
class _Layer:
    """Rows and offsets of one affine map while it is being rewritten."""

    rows: list[dict[int, fmpq]]
    offset: list[fmpq]


def canonical(net: ReluNetwork | ExactNetwork) -> ExactNetwork:
    r"""The canonical form of a plain network, in rationals.

    In each hidden layer, from the first on: every neuron is scaled so that its largest incoming weight is $\pm1$, equal
    neurons are merged, dead ones dropped, and the rest sorted. Two networks that differ by the symmetries above have
    equal canonical forms; equal canonical forms have equal realisations.
    """
    if not is_plain(net):
        raise SubjectError(
            "The canonical form is that of a plain network.",
            got="hidden coordinates without ReLU",
            remedy="write y = r(y) - r(-y) for them first",
        )
    given = exact(net)
    layers = [_Layer([dict(row) for row in s.matrix.rows], list(s.offset)) for s in given.steps]
    while any([_tidy(layers, k) for k in range(len(layers) - 1)]):  # noqa: C419 (every layer, then ask again)
        pass
    widths = [given.widths[0], *(len(layer.rows) for layer in layers)]
    matrices = [
        ExactMatrix(tuple(layer.rows), (n, m)) for layer, m, n in zip(layers, widths, widths[1:])
    ]
    return ExactNetwork.dense(matrices, [layer.offset for layer in layers])


def equal_by_symmetry(f: ReluNetwork | ExactNetwork, g: ReluNetwork | ExactNetwork) -> bool:
    """Whether the canonical forms agree. True proves that the realisations are equal; False proves nothing."""
    one = canonical(f)
    other = canonical(g)
    pairs = zip(one.steps, other.steps)
    return one.widths == other.widths and all(
        a.matrix == b.matrix and a.offset == b.offset for a, b in pairs
    )


def _tidy(layers: list[_Layer], k: int) -> bool:
    """Bring hidden layer `k` to its canonical form; whether the number of neurons fell."""
    here = layers[k]
    after = layers[k + 1]
    columns = _columns(after, len(here.rows))
    kept: dict[tuple[Any, ...], tuple[dict[int, fmpq], fmpq, dict[int, fmpq]]] = {}
    for row, b, out in zip(here.rows, here.offset, columns):
        if _silent(row, b, inputs_nonnegative=k > 0):
            continue
        if not row:  # a positive constant
            after.offset = [c + b * out.get(i, ZERO) for i, c in enumerate(after.offset)]
            continue
        size = max(abs(a) for a in row.values())
        unit = {j: a / size for j, a in sorted(row.items())}
        c = b / size
        key = (tuple((j, fraction(a)) for j, a in unit.items()), fraction(c))
        before = kept[key][2] if key in kept else {}
        kept[key] = (unit, c, _sum(before, {i: size * a for i, a in out.items()}))
    order = [kept[key] for key in sorted(kept) if kept[key][2]]
    changed = len(order) < len(here.rows)
    here.rows = [row for row, _, _ in order]
    here.offset = [b for _, b, _ in order]
    after.rows = _rows([out for _, _, out in order], len(after.rows))
    return changed


def _silent(row: Mapping[int, fmpq], b: fmpq, inputs_nonnegative: bool) -> bool:
    return b <= 0 and (not row or (inputs_nonnegative and all(a < 0 for a in row.values())))


def _columns(layer: _Layer, width: int) -> list[dict[int, fmpq]]:
    columns: list[dict[int, fmpq]] = [{} for _ in range(width)]
    for i, row in enumerate(layer.rows):
        for j, a in row.items():
            columns[j][i] = a
    return columns


def _rows(columns: Sequence[Mapping[int, fmpq]], height: int) -> list[dict[int, fmpq]]:
    rows: list[dict[int, fmpq]] = [{} for _ in range(height)]
    for j, column in enumerate(columns):
        for i, a in column.items():
            rows[i][j] = a
    return rows


def _sum(x: Mapping[int, fmpq], y: Mapping[int, fmpq]) -> dict[int, fmpq]:
    total = {i: x.get(i, ZERO) + y.get(i, ZERO) for i in {*x, *y}}
    return {i: a for i, a in total.items() if a}


def path_norm(net: ReluNetwork | ExactNetwork, order: float = 1) -> Fraction | float:
    r"""$\||W_L|\cdots|W_2|\,n\|_1$ with $n_i=\|(W_1)_{i\cdot}\|_{\text{order}}$, invariant under the symmetries.

    With one hidden layer, one output and `order` 2 it is $\sum_i|a_i|\,\|w_i\|_2$. Rational for a rational network and
    order 1.
    """
    if isinstance(net, ExactNetwork) and order == 1:
        state = tuple(ONE for _ in range(net.widths[0]))
        for step in net.steps:
            state = RATIONALS.image(step.matrix.map(abs), state)
        return fraction(sum(state, ZERO))
    first, *others = [_absolute(step.matrix) for step in net.steps]
    state = np.array([np.linalg.norm(row, order) for row in first.toarray()])
    for A in others:
        state = A @ state
    return float(state.sum())


def _absolute(matrix: Any) -> sparse.csr_array:
    if isinstance(matrix, ExactMatrix):
        return sparse.csr_array(np.abs(np.array(matrix.table(), np.float64).reshape(matrix.shape)))
    return abs(sparse.csr_array(matrix))
