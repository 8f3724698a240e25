r"""Any traced piecewise-affine program as a ReLU network.

Every value of the graph is an array of affine forms over the inputs and the neurons made so far; linear primitives act
on the forms, and $\max\{a,b\}=b+r(a-b)$ makes neurons. This is the theorem "continuous piecewise-affine = ReLU
network", read as a compiler.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from ftheta.graph import Domain, Node, forward, trace
from ftheta.logic import SubjectError

from .assembly import Assembly, Forms, constant, pooled
from .entries import Comparison, as_forms, pair, refused, spread
from .kinks import absolute, choose, clamp, compare, maximum, minimum, pool, reduce, tournament
from .linear_maps import contraction, convolution, groups, prefixes, summation, windows
from .network import ReluNetwork

DATA = {"pad": (0, 1), "gather": (0,), "dynamic_slice": (0,), "dynamic_update_slice": (0, 1)}
"""Operands that are moved (not read as indices); all of them where a primitive is not named here."""

MOVES = (
    *("reshape", "transpose", "slice", "pad", "broadcast_in_dim", "concatenate", "gather", "dynamic_slice"),
    *("dynamic_update_slice", "rev", "squeeze", "expand_dims", "split", "stack", "unstack", "copy", "copy_p"),
)
"""Primitives whose outputs are entries of their inputs, in another order."""

CURVED = frozenset(
    (
        *("exp", "exp2", "expm1", "log", "log1p", "logistic", "tanh", "sinh", "cosh", "asinh", "acosh", "atanh"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "erf", "erfc", "erf_inv", "lgamma", "digamma"),
        *("pow", "integer_pow", "square", "sqrt", "rsqrt", "cbrt", "rem", "floor", "ceil", "round", "sign"),
    )
)
"""Primitives that no continuous piecewise-affine program contains."""


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
        outputs.append(as_forms(value))
    return assembly.finish(pooled(outputs))


def domain(assembly: Assembly) -> Domain:
    """Affine forms over the variables of one assembly."""
    rules = {name: _bound(rule, assembly) for name, rule in RULES.items()}
    return Domain("piecewise affine", "ftheta/relu/form.py", np.asarray, rules, default=_refuse)


def _bound(rule: Callable[..., Any], assembly: Assembly) -> Callable[..., Any]:
    return lambda node, *values: rule(assembly, node, *values)


def _refuse(node: Node, *values: Any) -> Any:
    name = node.label or node.primitive
    if node.primitive in CURVED:
        raise refused(node, f"`{name}` is not piecewise affine.")
    raise refused(node, f"`{name}` has no rule in the piecewise-affine normal form.")


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def _add(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    one, other = pair(node, x, y)
    return assembly.hold(one + other)


def _subtract(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    one, other = pair(node, x, y)
    return assembly.hold(one - other)


def _multiply(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    if isinstance(x, Comparison) or isinstance(y, Comparison):
        which, value = (x, y) if isinstance(x, Comparison) else (y, x)
        if isinstance(value, Comparison):
            raise refused(node, "A product of two comparisons is not continuous.")
        return choose(assembly, node, which, constant(np.zeros(node.shape)), spread(as_forms(value), node.shape))
    if isinstance(x, Forms) and isinstance(y, Forms):
        raise refused(node, "A product of two values that depend on the input is not piecewise affine.")
    forms, factor = (x, y) if isinstance(x, Forms) else (y, x)
    return spread(forms, node.shape).scaled(factor)


def _divide(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    if not isinstance(y, np.ndarray):
        raise refused(node, "A quotient by a value that depends on the input is not piecewise affine.")
    return spread(as_forms(x), node.shape).scaled(1.0 / np.asarray(y, np.float64))


def _negate(assembly: Assembly, node: Node, x: Any) -> Forms:
    return as_forms(x).scaled(-1.0)


def _identity(assembly: Assembly, node: Node, x: Any) -> Any:
    return x


def _same(assembly: Assembly, node: Node, x: Any) -> Any:
    if isinstance(x, Forms) and not node.outputs[0].is_real:
        raise refused(node, "Rounding to integers is not continuous.")
    return x


def _select(assembly: Assembly, node: Node, which: Any, *cases: Any) -> Any:
    if isinstance(which, np.ndarray):
        return _move(assembly, node, which, *cases)
    if not isinstance(which, Comparison) or len(cases) != 2:
        raise refused(node, "Only a comparison of piecewise-affine values may choose.")
    no, yes = (spread(as_forms(case), node.shape) for case in cases)
    return choose(assembly, node, which, no, yes)


# ---- linear maps -----------------------------------------------------------------------------------------------------


def _move(assembly: Assembly, node: Node, *values: Any) -> Any:
    """Run the primitive on the numbers of the entries, and take the entries in that order."""
    data = DATA.get(node.primitive, tuple(range(len(values))))
    data = tuple(range(1, len(values))) if node.primitive == "select_n" else data
    if any(isinstance(value, Comparison) for value in values):
        return _move_comparison(assembly, node, *values)
    if any(isinstance(value, Forms) for k, value in enumerate(values) if k not in data):
        raise refused(node, "Indices that depend on the input make a program discontinuous.")
    entries = pooled([as_forms(values[k]) for k in data])
    start, operands = 0, list(values)
    for k in data:
        shape = np.shape(values[k]) if isinstance(values[k], np.ndarray) else values[k].shape
        operands[k] = np.arange(start, start + prod(shape), dtype=np.int32).reshape(shape)
        start += prod(shape)
    places = [np.asarray(out) for out in node.evaluate(*operands)]
    if any((place < 0).any() or (place >= start).any() for place in places):
        raise refused(node, "An index lies outside the array.", "gather with indices inside the array")
    taken = [entries.taken(place) for place in places]
    return taken[0] if len(node.outputs) == 1 else taken


def _move_comparison(assembly: Assembly, node: Node, *values: Any) -> Any:
    if len(values) != 1 or len(node.outputs) != 1:
        raise refused(node, "Comparisons may be moved, not mixed with other values.")
    return Comparison(_move(assembly, node, values[0].difference))


def _dot(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    if isinstance(x, Forms) and isinstance(y, Forms):
        raise refused(node, "A product of two values that depend on the input is not piecewise affine.")
    first = isinstance(x, Forms)
    forms, fixed = (x, y) if first else (y, x)
    M = contraction(node.params["dimension_numbers"], forms.shape, fixed, first)
    return assembly.hold(forms.mapped(M, node.shape), always=True)


def _convolve(assembly: Assembly, node: Node, x: Any, kernel: Any) -> Forms:
    if not isinstance(kernel, np.ndarray):
        raise refused(node, "A convolution with a kernel that depends on the input is not piecewise affine.")
    if node.params["batch_group_count"] != 1:
        raise refused(node, "Convolutions with batch groups are not read.", "use feature groups")
    M = convolution(node.params, x.shape, kernel, node.shape)
    return assembly.hold(x.mapped(M, node.shape), always=True)


def _sum(assembly: Assembly, node: Node, x: Any) -> Forms:
    table = groups(x.shape, node.params["axes"])
    return assembly.hold(x.mapped(summation(table, x.size), node.shape))


def _pool_sum(assembly: Assembly, node: Node, x: Any) -> Forms:
    return assembly.hold(x.mapped(summation(windows(node.params, x.shape), x.size), node.shape))


def _running(sign: float) -> Callable[..., Forms]:
    """`cumsum` (sign 0), `cummax` (1) and `cummin` (-1) along an axis."""

    def rule(assembly: Assembly, node: Node, x: Any) -> Forms:
        table = prefixes(x.shape, node.params["axis"], node.params["reverse"])
        if sign:
            return tournament(assembly, x, table, node.shape, sign)
        return assembly.hold(x.mapped(summation(table, x.size), node.shape))

    return rule


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
    "stop_gradient": _identity,
    "max": maximum,
    "min": minimum,
    "clamp": clamp,
    "abs": absolute,
    "reduce_max": reduce(1.0),
    "reduce_min": reduce(-1.0),
    "reduce_window_max": pool(1.0),
    "reduce_window_min": pool(-1.0),
    **dict.fromkeys(("gt", "ge"), compare(1.0)),
    **dict.fromkeys(("lt", "le"), compare(-1.0)),
    "select_n": _select,
    **dict.fromkeys(MOVES, _move),
    "dot_general": _dot,
    "conv_general_dilated": _convolve,
    "reduce_sum": _sum,
    "reduce_window_sum": _pool_sum,
    "cumsum": _running(0.0),
    "cummax": _running(1.0),
    "cummin": _running(-1.0),
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call"), _enter),
}
