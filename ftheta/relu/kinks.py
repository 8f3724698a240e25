r"""The kinks of a program: maxima, minima, absolute values, and choices between two affine cases that meet."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ftheta.graph import Node

from .assembly import Assembly, Forms
from .entries import Comparison, as_forms, pair, refused, spread
from .linear_maps import groups, windows

View = Callable[[Forms], Forms]
TOLERANCE = 1e-12  # relative: two forms that differ by rounding alone are taken as proportional
WIDE = 64  # forms of more variables than this are not looked into
NESTED = 3  # neurons of neurons that are looked through, as in min(max(x, -1), 1)


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
    for view in (lambda forms: forms, assembly.unfolded):
        left = np.flatnonzero(np.isnan(found))
        if left.size:
            half = view(side.taken(left))
            found[left] = _ratios(_on_half_space(assembly, view(difference.taken(left)), half, view), half)
    return None if np.isnan(found).any() else found


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


def _on_half_space(assembly: Assembly, forms: Forms, side: Forms, view: View, nested: int = NESTED) -> Forms:
    r"""The forms, with their neurons $r(\gamma\,\text{side}+\kappa)$ resolved where `side` $\ge0$ decides their sign.

    What stands under a neuron is resolved first, up to `nested` times.
    """
    matrix, known = forms.matrix, assembly.definitions()
    entries = np.diff(matrix.indptr)
    row = np.repeat(np.arange(forms.size), entries)
    neurons = np.flatnonzero(assembly.is_neuron[matrix.indices] & (entries <= WIDE)[row])
    if not neurons.size:
        return forms
    row, variable, weight = row[neurons], matrix.indices[neurons], matrix.data[neurons]
    under, half = view(known.taken(variable)), side.taken(row)
    under = _on_half_space(assembly, under, half, view, nested - 1) if nested else under
    gamma = _ratios(_linear(under), _linear(half))
    kappa = under.offset - gamma * half.offset
    decided = ~np.isnan(gamma) & (gamma * kappa >= 0)
    active = decided & ((gamma > 0) | (kappa > 0))
    gone = sparse.csr_array((weight * decided, (row, variable)), shape=(forms.size, known.size))
    spread_out = sparse.csr_array((weight * active, (row, np.arange(row.size))), shape=(forms.size, row.size))
    rest = forms - Forms(forms.shape, gone, np.zeros(forms.size))
    rest.matrix.eliminate_zeros()
    return rest + under.mapped(spread_out, forms.shape)


def _linear(form: Forms) -> Forms:
    return Forms(form.shape, form.matrix, np.zeros(form.size))
