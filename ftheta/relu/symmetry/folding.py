r"""Normal forms that prove two networks equal on all of $\mathbb R^d$, in rationals.

Three rules, none of which changes the realisation: a ReLU that only reads non-negative values with non-negative weights
and offset is idle; two neurons $r(y),r(-y)$ read with opposite weights are the linear coordinate $y$; a step without
ReLU is merged into the next. Equal normal forms prove equal functions; different ones prove nothing.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic.enclosure import Basis, Enclosure

from ..counts import is_plain
from ..matrices import RATIONALS, ExactMatrix
from ..network import ExactNetwork
from .canonical import equal_by_symmetry

Row = dict[int, fmpq]


def fold(net: ExactNetwork) -> ExactNetwork:
    """The network with idle ReLUs, opposite pairs and linear steps taken out, from the last step to the first."""
    parts = [(step.matrix, step.offset, step.rectified.copy()) for step in net.steps]
    for k in range(len(parts) - 2, -1, -1):
        before = parts[k - 1][2] if k else np.zeros(net.widths[0], bool)
        parts[k], parts[k + 1] = _straighten(parts[k], parts[k + 1], before)
        if not parts[k][2].any():
            (A, b, _) = parts[k]
            (B, c, mask) = parts[k + 1]
            merged = (B @ A, RATIONALS.add(RATIONALS.image(B, b), c), mask)
            parts[k : k + 2] = [merged]
    return net.rebuilt(parts)


def _straighten(part: Any, after: Any, before: np.ndarray) -> tuple[Any, Any]:
    (A, b, mask) = part
    (B, c, later) = after
    mask = mask.copy()
    columns = _columns(B)
    where = {(_key(row), t): i for i, (row, t) in enumerate(zip(A.rows, b)) if mask[i]}
    dropped: set[int] = set()
    for i, (row, t) in enumerate(zip(A.rows, b)):
        j = where.get((_key({k: -a for k, a in row.items()}), -t)) if mask[i] else None
        if (
            j is None
            or j <= i
            or i in dropped
            or columns[j] != {k: -a for k, a in columns[i].items()}
        ):
            continue
        mask[i] = False
        dropped.add(j)
    # after the pairs: one of a pair may be idle as well
    idle = [
        all(before[j] and a > 0 for j, a in row.items()) and t >= 0 for row, t in zip(A.rows, b)
    ]
    mask = mask & ~np.array(idle, bool)
    kept = [i for i in range(len(b)) if i not in dropped]
    place = {i: n for n, i in enumerate(kept)}
    rows = tuple({place[j]: a for j, a in row.items() if j in place} for row in B.rows)
    here = (
        ExactMatrix(tuple(A.rows[i] for i in kept), (len(kept), A.shape[1])),
        tuple(b[i] for i in kept),
        mask[kept],
    )
    return here, (ExactMatrix(rows, (B.shape[0], len(kept))), c, later)


def _key(row: Any) -> tuple[Any, ...]:
    return tuple(sorted((j, int(a.p), int(a.q)) for j, a in row.items()))


def _columns(B: ExactMatrix) -> list[Row]:
    columns: list[Row] = [{} for _ in range(B.shape[1])]
    for i, row in enumerate(B.rows):
        for j, a in row.items():
            columns[j][i] = a
    return columns


def same(f: ExactNetwork, g: ExactNetwork) -> bool:
    """Whether the steps are equal, number for number."""
    pairs = list(zip(f.steps, g.steps))
    alike = (
        a.matrix == b.matrix and a.offset == b.offset and (a.rectified == b.rectified).all()
        for a, b in pairs
    )
    return f.widths == g.widths and all(alike)


def distance(f: ExactNetwork, g: ExactNetwork, points: Sequence[Sequence[Any]]) -> Enclosure:
    r"""What is known of $\sup|f-g|$: zero if a normal form proves it, else at least what is seen at the points."""
    left = fold(f)
    right = fold(g)
    if same(f, g) or same(left, right):
        return Enclosure.exact(0)
    if is_plain(left) and is_plain(right) and equal_by_symmetry(left, right):
        return Enclosure.exact(0)
    seen = max((abs(a - b) for x in points for a, b in zip(f(x), g(x))), default=0)
    return Enclosure.between(Enclosure.exact(seen).lo, float("inf"), Basis.EXACT)
