r"""The kinks of a program: maxima, minima, absolute values, and choices between two affine cases that meet."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ftheta.graph import Node

from .assembly import Assembly, Forms
from .entries import Comparison, as_forms, pair, refused, spread
from .linear_maps import groups, windows

TOLERANCE = 1e-12  # relative: two forms that differ by rounding alone are taken as proportional


def larger(assembly: Assembly, x: Forms, y: Forms) -> Forms:
    r"""$\max\{x,y\}=y+r(x-y)$: one neuron an entry."""
    return assembly.hold(y + assembly.relu(x - y))


def smaller(assembly: Assembly, x: Forms, y: Forms) -> Forms:
    r"""$\min\{x,y\}=y-r(y-x)$."""
    return assembly.hold(y - assembly.relu(y - x))


def maximum(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    return larger(assembly, *pair(node, x, y))


def minimum(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    return smaller(assembly, *pair(node, x, y))


def clamp(assembly: Assembly, node: Node, lowest: Any, x: Any, highest: Any) -> Forms:
    low, high = (spread(as_forms(v), node.shape) for v in (lowest, highest))
    return larger(assembly, smaller(assembly, as_forms(x), high), low)


def absolute(assembly: Assembly, node: Node, x: Any) -> Forms:
    r"""$|x|=2r(x)-x$."""
    return assembly.relu(as_forms(x)).scaled(2.0) - as_forms(x)


def tournament(assembly: Assembly, x: Forms, table: np.ndarray, shape: tuple[int, ...], sign: float) -> Forms:
    """The largest (`sign` 1) or smallest (-1) entry in every row of the table, by a binary tree."""
    first = np.take_along_axis(table, (table >= 0).argmax(axis=1)[:, None], axis=1)
    filled = np.where(table >= 0, table, first)  # padding is replaced by an entry of the window, which changes nothing
    x = x.scaled(sign)
    rounds = [x.taken(filled[:, k]) for k in range(filled.shape[1])]
    while len(rounds) > 1:
        pairs = zip(rounds[::2], rounds[1::2])
        rounds = [larger(assembly, a, b) for a, b in pairs] + rounds[len(rounds) // 2 * 2 :]
    best = rounds[0].scaled(sign)
    return Forms(shape, best.matrix, best.offset)


def reduce(sign: float) -> Callable[..., Forms]:
    return lambda assembly, node, x: tournament(assembly, x, groups(x.shape, node.params["axes"]), node.shape, sign)


def pool(sign: float) -> Callable[..., Forms]:
    def rule(assembly: Assembly, node: Node, x: Any) -> Forms:
        table = windows(node.params, x.shape)
        if (table < 0).all(axis=1).any():
            raise refused(node, "A pooling window lies entirely in the padding.", "use less padding")
        return tournament(assembly, x, table, node.shape, sign)

    return rule


def compare(sign: float) -> Callable[..., Comparison]:
    def rule(assembly: Assembly, node: Node, x: Any, y: Any) -> Comparison:
        one, other = pair(node, x, y)
        return Comparison((one - other).scaled(sign))

    return rule


def choose(assembly: Assembly, node: Node, which: Comparison, no: Forms, yes: Forms) -> Forms:
    r"""`yes` where $D>0$, else `no`: $\text{no}+\alpha r(D)$ if $\text{yes}-\text{no}=\alpha D$ wherever $D\ge0$."""
    D = spread(which.difference, node.shape)
    for base, other, side in ((no, yes, D), (yes, no, D.scaled(-1.0))):
        factor = _proportion(assembly, other - base, side)
        if factor is not None:
            return base + assembly.relu(side).scaled(factor.reshape(node.shape))
    raise refused(
        node,
        "The two cases of a choice do not meet where the comparison changes: the program is not continuous there.",
        "write it with maximum, minimum, clip or abs",
    )


def _proportion(assembly: Assembly, difference: Forms, side: Forms) -> np.ndarray | None:
    r"""$\alpha$ with $\text{difference}_i=\alpha_i\,\text{side}_i$ where $\text{side}_i\ge0$; None if there is none."""
    found = _ratios(difference, side)
    for i in np.flatnonzero(np.isnan(found)):
        row = _on_half_space(assembly, difference.taken(np.array([i])), side.taken(np.array([i])))
        found[i] = _ratios(row, side.taken(np.array([i])))[0]
        if np.isnan(found[i]):
            return None
    return found


def _ratios(x: Forms, y: Forms) -> np.ndarray:
    """$x_i/y_i$ for forms that are proportional up to rounding, NaN for the others."""
    dot = lambda p, q: np.asarray((p.matrix.multiply(q.matrix)).sum(axis=1)).ravel() + p.offset * q.offset
    width = max(x.matrix.shape[1], y.matrix.shape[1])
    x, y = (Forms(f.shape, _resized(f.matrix, width), f.offset) for f in (x, y))
    yy, xx = dot(y, y), dot(x, x)
    ratio = np.where(yy > 0, dot(x, y) / np.where(yy > 0, yy, 1.0), 0.0)
    rest = x - y.scaled(ratio.reshape(y.shape))
    return np.where(dot(rest, rest) <= TOLERANCE**2 * xx, ratio, np.nan)


def _resized(matrix: Any, width: int) -> Any:
    copy = matrix.copy()
    copy.resize((matrix.shape[0], width))
    return copy


def _on_half_space(assembly: Assembly, row: Forms, side: Forms) -> Forms:
    r"""One form, its neurons $r(\gamma\,\text{side}+\kappa)$ resolved where `side` $\ge0$ decides their sign."""
    for variable, weight in zip(row.matrix.indices.tolist(), row.matrix.data.tolist()):
        under = assembly.definition(variable)
        if under is None:
            continue
        matrix, offset = under
        flat = lambda f: Forms((1,), f.matrix, np.zeros(1))
        gamma = _ratios(Forms((1,), matrix, np.zeros(1)), flat(side))[0]
        kappa = offset - gamma * side.offset[0]
        if np.isnan(gamma) or gamma * kappa < 0:
            continue
        unit = Forms((1,), _unit(variable), np.zeros(1))
        row = row - unit.scaled(weight)
        if gamma > 0 or kappa > 0:
            row = row + Forms((1,), matrix, np.array([offset])).scaled(weight)
    return row


def _unit(variable: int) -> Any:
    return sparse.csr_array((np.ones(1), ([0], [variable])), shape=(1, variable + 1))
