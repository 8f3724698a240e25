r"""Any traced piecewise-affine program as a ReLU network.

Every value of the graph is an array of affine forms over the inputs and the neurons made so far; linear primitives act
on the forms, and $\max\{a,b\}=b+r(a-b)$ makes neurons. This is the theorem "continuous piecewise-affine = ReLU
network", read as a compiler.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from ftheta.graph import Domain, Node, forward, trace
from ftheta.logic import SubjectError

from .assembly import Assembly, Forms, constant, pooled
from .linear_maps import contraction, convolution, groups, summation, windows
from .network import ReluNetwork

TOLERANCE = 1e-12  # relative: two forms that differ by rounding alone are taken as proportional

DATA = {"pad": (0, 1), "gather": (0,), "dynamic_slice": (0,), "dynamic_update_slice": (0, 1)}
"""Operands that are moved (not read as indices); all of them where a primitive is not named here."""

MOVES = (
    *("reshape", "transpose", "slice", "pad", "broadcast_in_dim", "concatenate", "gather", "dynamic_slice"),
    *("dynamic_update_slice", "rev", "squeeze", "expand_dims", "split", "copy", "copy_p", "stop_gradient"),
)
"""Primitives whose outputs are entries of their inputs, in another order."""

REMEDY = "replace it by a piecewise-affine function, or bound the program with `intervals` instead"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Where `difference` is positive. At zero it may be either: only continuous choices are accepted."""

    difference: Forms


def relu_form(f: Callable[..., Any], *examples: Any) -> ReluNetwork:
    """The normal form of `f` at the shapes of `examples` (arrays, or `jax.ShapeDtypeStruct`s, or trees of them).

    The network maps the flattened inputs, one after the other, to the flattened outputs. Weights are read in the
    precision in which `f` holds them and combined in float64.
    """
    graph = trace(f, *examples)
    sizes = [slot.size for slot in graph.inputs]
    assembly = Assembly(sum(sizes))
    starts = np.cumsum([0, *sizes])
    inputs = [assembly.input_forms(int(start), slot.shape) for start, slot in zip(starts, graph.inputs)]
    result = forward(domain(assembly), graph, *inputs)
    outputs = []
    for value in result.flat_outputs:
        if isinstance(value, Comparison):
            raise SubjectError("The program returns a truth value.", where=graph.source, got="a comparison")
        outputs.append(_forms(value))
    return assembly.finish(pooled(outputs))


def domain(assembly: Assembly) -> Domain:
    """Affine forms over the variables of one assembly."""
    rules = {name: _bound(rule, assembly) for name, rule in RULES.items()}
    return Domain("piecewise affine", "ftheta/relu/form.py", np.asarray, rules, default=_refuse)


def _bound(rule: Callable[..., Any], assembly: Assembly) -> Callable[..., Any]:
    return lambda node, *values: rule(assembly, node, *values)


def _refuse(node: Node, *values: Any) -> Any:
    raise _error(node, f"`{node.label or node.primitive}` is not piecewise affine.")


def _error(node: Node, what: str, remedy: str = REMEDY) -> SubjectError:
    return SubjectError(what, where=node.source, got=str(node).split("  at ")[0], remedy=remedy)


def _forms(value: Any) -> Forms:
    return value if isinstance(value, Forms) else constant(value)


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def _pair(node: Node, x: Any, y: Any) -> tuple[Forms, Forms]:
    """Both operands as forms of the shape of the result."""
    return _spread(_forms(x), node.shape), _spread(_forms(y), node.shape)


def _spread(forms: Forms, shape: tuple[int, ...]) -> Forms:
    if forms.shape == shape:
        return forms
    return forms.taken(np.broadcast_to(np.arange(forms.size).reshape(forms.shape), shape))


def _add(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    one, other = _pair(node, x, y)
    return assembly.hold(one + other)


def _subtract(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    one, other = _pair(node, x, y)
    return assembly.hold(one - other)


def _multiply(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    if isinstance(x, Comparison) or isinstance(y, Comparison):
        which, value = (x, y) if isinstance(x, Comparison) else (y, x)
        if isinstance(value, Comparison):
            raise _error(node, "A product of two comparisons is not continuous.")
        return _choose(assembly, node, which, constant(np.zeros(node.shape)), _spread(_forms(value), node.shape))
    if isinstance(x, Forms) and isinstance(y, Forms):
        raise _error(node, "A product of two values that depend on the input is not piecewise affine.")
    forms, factor = (x, y) if isinstance(x, Forms) else (y, x)
    return _spread(forms, node.shape).scaled(factor)


def _divide(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    if not isinstance(y, np.ndarray):
        raise _error(node, "A quotient by a value that depends on the input is not piecewise affine.")
    return _spread(_forms(x), node.shape).scaled(1.0 / np.asarray(y, np.float64))


def _negate(assembly: Assembly, node: Node, x: Any) -> Forms:
    return _forms(x).scaled(-1.0)


def _same(assembly: Assembly, node: Node, x: Any) -> Any:
    if isinstance(x, Forms) and not node.outputs[0].is_real:
        raise _error(node, "Rounding to integers is not continuous.")
    return x


# ---- kinks -----------------------------------------------------------------------------------------------------------


def larger(assembly: Assembly, x: Forms, y: Forms) -> Forms:
    r"""$\max\{x,y\}=y+r(x-y)$: one neuron an entry."""
    return y + assembly.relu(x - y)


def smaller(assembly: Assembly, x: Forms, y: Forms) -> Forms:
    r"""$\min\{x,y\}=y-r(y-x)$."""
    return y - assembly.relu(y - x)


def _maximum(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    return larger(assembly, *_pair(node, x, y))


def _minimum(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    return smaller(assembly, *_pair(node, x, y))


def _clamp(assembly: Assembly, node: Node, lowest: Any, x: Any, highest: Any) -> Forms:
    low, high = (_spread(_forms(v), node.shape) for v in (lowest, highest))
    return larger(assembly, smaller(assembly, _forms(x), high), low)


def _absolute(assembly: Assembly, node: Node, x: Any) -> Forms:
    r"""$|x|=2r(x)-x$."""
    return assembly.relu(_forms(x)).scaled(2.0) - _forms(x)


def _tournament(assembly: Assembly, x: Forms, table: np.ndarray, shape: tuple[int, ...], sign: float) -> Forms:
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


def _reduce(sign: float) -> Callable[..., Forms]:
    return lambda assembly, node, x: _tournament(assembly, x, groups(x.shape, node.params["axes"]), node.shape, sign)


def _pool(sign: float) -> Callable[..., Forms]:
    def rule(assembly: Assembly, node: Node, x: Any) -> Forms:
        table = windows(node.params, x.shape)
        if (table < 0).all(axis=1).any():
            raise _error(node, "A pooling window lies entirely in the padding.", "use less padding")
        return _tournament(assembly, x, table, node.shape, sign)

    return rule


# ---- choices ---------------------------------------------------------------------------------------------------------


def _compare(sign: float) -> Callable[..., Comparison]:
    def rule(assembly: Assembly, node: Node, x: Any, y: Any) -> Comparison:
        one, other = _pair(node, x, y)
        return Comparison((one - other).scaled(sign))

    return rule


def _select(assembly: Assembly, node: Node, which: Any, *cases: Any) -> Any:
    if isinstance(which, np.ndarray):
        return _move(assembly, node, which, *cases)
    if not isinstance(which, Comparison) or len(cases) != 2:
        raise _error(node, "Only a comparison of piecewise-affine values may choose.")
    no, yes = (_spread(_forms(case), node.shape) for case in cases)
    return _choose(assembly, node, which, no, yes)


def _choose(assembly: Assembly, node: Node, which: Comparison, no: Forms, yes: Forms) -> Forms:
    r"""`yes` where $D>0$, else `no`: $\text{no}+\alpha r(D)$ if $\text{yes}-\text{no}=\alpha D$ wherever $D\ge0$."""
    D = _spread(which.difference, node.shape)
    for base, other, side in ((no, yes, D), (yes, no, D.scaled(-1.0))):
        factor = _proportion(assembly, other - base, side)
        if factor is not None:
            return base + assembly.relu(side).scaled(factor.reshape(node.shape))
    raise _error(
        node,
        "The two cases of a choice do not meet where the comparison changes: the program is not continuous there.",
        "write it with maximum, minimum, clip or abs",
    )


def _proportion(assembly: Assembly, difference: Forms, side: Forms) -> np.ndarray | None:
    r"""$\alpha_i$ with $\text{difference}_i=\alpha_i\,\text{side}_i$ where $\text{side}_i\ge0$; None if there are none."""
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


# ---- linear maps -----------------------------------------------------------------------------------------------------


def _move(assembly: Assembly, node: Node, *values: Any) -> Any:
    """Run the primitive on the numbers of the entries, and take the entries in that order."""
    data = DATA.get(node.primitive, tuple(range(len(values))))
    data = tuple(range(1, len(values))) if node.primitive == "select_n" else data
    if any(isinstance(value, Comparison) for value in values):
        return _move_comparison(assembly, node, *values)
    if any(isinstance(value, Forms) for k, value in enumerate(values) if k not in data):
        raise _error(node, "Indices that depend on the input make a program discontinuous.")
    pool = pooled([_forms(values[k]) for k in data])
    start, operands = 0, list(values)
    for k in data:
        shape = np.shape(values[k]) if isinstance(values[k], np.ndarray) else values[k].shape
        operands[k] = np.arange(start, start + prod(shape), dtype=np.int32).reshape(shape)
        start += prod(shape)
    places = [np.asarray(out) for out in node.evaluate(*operands)]
    if any((place < 0).any() or (place >= start).any() for place in places):
        raise _error(node, "An index lies outside the array.", "gather with indices inside the array")
    taken = [pool.taken(place) for place in places]
    return taken[0] if len(node.outputs) == 1 else taken


def _move_comparison(assembly: Assembly, node: Node, *values: Any) -> Any:
    if len(values) != 1 or len(node.outputs) != 1:
        raise _error(node, "Comparisons may be moved, not mixed with other values.")
    return Comparison(_move(assembly, node, values[0].difference))


def _dot(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    if isinstance(x, Forms) and isinstance(y, Forms):
        raise _error(node, "A product of two values that depend on the input is not piecewise affine.")
    first = isinstance(x, Forms)
    forms, fixed = (x, y) if first else (y, x)
    M = contraction(node.params["dimension_numbers"], forms.shape, fixed, first)
    return assembly.hold(forms.mapped(M, node.shape))


def _convolve(assembly: Assembly, node: Node, x: Any, kernel: Any) -> Forms:
    if not isinstance(kernel, np.ndarray):
        raise _error(node, "A convolution with a kernel that depends on the input is not piecewise affine.")
    if node.params["batch_group_count"] != 1:
        raise _error(node, "Convolutions with batch groups are not read.", "use feature groups")
    return assembly.hold(x.mapped(convolution(node.params, x.shape, kernel, node.shape), node.shape))


def _sum(assembly: Assembly, node: Node, x: Any) -> Forms:
    table = groups(x.shape, node.params["axes"])
    return assembly.hold(x.mapped(summation(table, x.size), node.shape))


def _pool_sum(assembly: Assembly, node: Node, x: Any) -> Forms:
    return assembly.hold(x.mapped(summation(windows(node.params, x.shape), x.size), node.shape))


def _enter(assembly: Assembly, node: Node, *values: Any) -> Any:
    """A function with a derivative of its own: only its values matter here."""
    (body,) = node.graphs
    try:
        results = forward(domain(assembly), body, *values).flat_outputs
    except SubjectError as error:
        name = node.label or node.primitive
        raise SubjectError(f"`{name}`: {error.what}", where=node.source, got=error.got, remedy=error.remedy) from error
    return results[0] if len(node.outputs) == 1 else results


RULES: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("add", "add_any"), _add),
    "sub": _subtract,
    "mul": _multiply,
    "div": _divide,
    "neg": _negate,
    **dict.fromkeys(("convert_element_type", "reduce_precision"), _same),
    "max": _maximum,
    "min": _minimum,
    "clamp": _clamp,
    "abs": _absolute,
    "reduce_max": _reduce(1.0),
    "reduce_min": _reduce(-1.0),
    "reduce_window_max": _pool(1.0),
    "reduce_window_min": _pool(-1.0),
    **dict.fromkeys(("gt", "ge"), _compare(1.0)),
    **dict.fromkeys(("lt", "le"), _compare(-1.0)),
    "select_n": _select,
    **dict.fromkeys(MOVES, _move),
    "dot_general": _dot,
    "conv_general_dilated": _convolve,
    "reduce_sum": _sum,
    "reduce_window_sum": _pool_sum,
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call"), _enter),
}
