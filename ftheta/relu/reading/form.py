r"""Any traced piecewise-affine program as a ReLU network.

Every value of the graph is an array of affine forms over the inputs and the neurons made so far; linear primitives act
on the forms, and $\max\{a,b\}=b+r(a-b)$ makes neurons. This is the theorem "continuous piecewise-affine = ReLU
network", read as a compiler.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from ftheta.graph.graph import Node
from ftheta.graph.interpret import Domain, forward
from ftheta.graph.jaxprs import trace
from ftheta.graph.primitives import CONNECTIVES, MOVES, POWERS, STEPS, TRANSCENDENTAL, primitives
from ftheta.logic.errors import SubjectError, UsageError

from ..network import ReluNetwork
from .assembly import Assembly
from .choices import choose, combine, compare, equal, negate
from .constants import DATA, fold_constants, moved_operands, places_of
from .entries import Choice, Positions, Truth, as_forms, as_truth, pair, refuse, spread
from .forms import Forms, constant, pool_forms
from .kinks import absolute, clamp, largest, maximum, minimum, pool, reduce, sort, tournament
from .linear_maps import (
    contraction,
    convolution,
    groups,
    prefixes,
    scatter_places,
    summation,
    windows,
    with_numbers,
)

CURVED = (TRANSCENDENTAL | POWERS | STEPS) | primitives("rem lgamma digamma")
"""Primitives that no continuous piecewise-affine program contains."""

POSITIONS = primitives("argmax argmin")
"""Primitives that say where something is."""

OPEN = (MOVES | CONNECTIVES) | primitives("select_n convert_element_type stop_gradient")
"""Primitives that may read a choice that is not continuous by itself."""


def relu_form(f: Callable[..., Any], *examples: Any) -> ReluNetwork:
    """The normal form of `f` at the shapes of `examples` (arrays, or `jax.ShapeDtypeStruct`s, or trees of them).

    The network maps the flattened inputs, one after the other, to the flattened outputs. It is the real function with
    the stored weights: these are read at their exact values and combined without rounding (see `Step.long_rows`), casts
    between float types are the identity. Constants that the program computes otherwise than by +, -, × and ÷ are
    rounded as the program rounds them; `ReluNetwork.rounded` then says so. A network subject has its own example.
    """
    graph = trace(f, *(examples or _own_example(f)), fold_rounded=False)
    sizes = [slot.size for slot in graph.inputs]
    assembly = Assembly(sum(sizes))
    starts = np.cumsum([0, *sizes])
    inputs = [
        assembly.input_forms(int(start), slot.shape) for start, slot in zip(starts, graph.inputs)
    ]
    result = forward(domain(assembly), graph, *inputs)
    outputs = []
    for value in result.flat_outputs:
        if isinstance(value, Truth):
            raise SubjectError(
                "The program returns a truth value.", where=graph.source, got="a comparison"
            )
        if isinstance(value, (Choice, Positions)):
            raise value.error
        outputs.append(as_forms(value))
    return assembly.finish(pool_forms(outputs))


def _own_example(f: Callable[..., Any]) -> tuple[Any, ...]:
    """The example input that a network carries with it; a function without any takes none."""
    example = getattr(f, "example", None)
    if example is not None:
        return (example,)
    if inspect.signature(f).parameters:
        raise UsageError(
            "The shape of the input is not known.",
            got=f"a {type(f).__name__} and no example",
            remedy="give an example input: ft.relu_form(function, np.zeros(3))",
        )
    return ()


def domain(assembly: Assembly) -> Domain:
    """Affine forms over the variables of one assembly."""
    rules = {name: _bound(rule, assembly) for name, rule in RULES.items()}
    return Domain(
        "piecewise affine",
        "ftheta/relu/reading/form.py",
        np.asarray,
        rules,
        default=_bound(_refuse, assembly),
    )


def _bound(rule: Callable[..., Any], assembly: Assembly) -> Callable[..., Any]:
    def bound(node: Node, *values: Any) -> Any:
        if all(isinstance(value, np.ndarray) for value in values):
            return fold_constants(assembly, node, rule, values)
        for value in values:
            if isinstance(value, Positions) or (
                isinstance(value, Choice) and node.primitive not in OPEN
            ):
                raise value.error
            if isinstance(value, Truth) and node.primitive not in (*OPEN, "mul"):
                raise refuse(
                    node,
                    "A comparison may choose or be combined with others; its value is not continuous.",
                )
        return rule(assembly, node, *values)

    return bound


def _refuse(assembly: Assembly, node: Node, *values: Any) -> Any:
    name = node.label or node.primitive
    if node.primitive in POSITIONS:
        raise refuse(
            node, f"`{name}` has no rule: where a number is does not depend on it continuously."
        )
    if node.primitive in CURVED:
        raise refuse(node, f"`{name}` is not piecewise affine.")
    raise refuse(node, f"`{name}` has no rule in the piecewise-affine normal form.")


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def _add(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    one, other = pair(node, x, y)
    return assembly.hold(one + other)


def _subtract(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    one, other = pair(node, x, y)
    return assembly.hold(one - other)


def _multiply(assembly: Assembly, node: Node, x: Any, y: Any) -> Any:
    if isinstance(x, Truth) or isinstance(y, Truth):
        which, value = (x, y) if isinstance(x, Truth) else (y, x)
        if isinstance(value, Truth):
            raise refuse(node, "A product of two comparisons is not continuous.")
        return choose(assembly, node, which, constant(np.zeros(node.shape)), value)
    if isinstance(x, Forms) and isinstance(y, Forms):
        raise refuse(
            node, "A product of two values that depend on the input is not piecewise affine."
        )
    forms, factor = (x, y) if isinstance(x, Forms) else (y, x)
    return spread(forms, node.shape).scale(factor)


def _divide(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    if not isinstance(y, np.ndarray):
        raise refuse(
            node, "A quotient by a value that depends on the input is not piecewise affine."
        )
    if not np.all(y):
        raise refuse(node, "A quotient by zero.", "divide by numbers that are not zero")
    return spread(as_forms(x), node.shape).divide(y)


def _negate(assembly: Assembly, node: Node, x: Any) -> Forms:
    return as_forms(x).scale(-1.0)


def _identity(assembly: Assembly, node: Node, x: Any) -> Any:
    return x


def _same(assembly: Assembly, node: Node, x: Any) -> Any:
    if isinstance(x, (Forms, Choice)) and not node.outputs[0].is_real:
        raise refuse(node, "Rounding to integers is not continuous.")
    return x


def _select(assembly: Assembly, node: Node, which: Any, *cases: Any) -> Any:
    if isinstance(which, np.ndarray) and not any(isinstance(case, Choice) for case in cases):
        return _move(assembly, node, which, *cases)
    if len(cases) != 2 or not isinstance(which, (Truth, np.ndarray)):
        raise refuse(node, "Only a comparison of piecewise-affine values may choose.")
    if any(isinstance(case, Truth) for case in cases):
        raise refuse(
            node, "A choice between truth values is not read.", "combine them with & and |"
        )
    return choose(assembly, node, as_truth(which), *cases)


# ---- linear maps -----------------------------------------------------------------------------------------------------


def _move(assembly: Assembly, node: Node, *values: Any) -> Any:
    """Run the primitive on the numbers of the entries, and take the entries in that order."""
    data = moved_operands(node, len(values))
    if any(isinstance(value, (Truth, Choice)) for value in values):
        return _move_together(assembly, node, *values)
    if any(isinstance(value, Forms) for k, value in enumerate(values) if k not in data):
        raise refuse(node, "Indices that depend on the input make a program discontinuous.")
    entries = pool_forms([as_forms(values[k]) for k in data])
    taken = [entries.taken(place) for place in places_of(node, values)]
    return taken[0] if len(node.outputs) == 1 else taken


def _move_together(assembly: Assembly, node: Node, *values: Any) -> Any:
    """A truth value or an open choice: everything that it is made of is moved."""
    first, *others = values
    alone = isinstance(first, (Truth, Choice)) and all(
        isinstance(value, np.ndarray) for value in others
    )
    if (
        not alone
        or len(node.outputs) != 1
        or (node.primitive in DATA and len(DATA[node.primitive]) > 1)
    ):
        mixed = refuse(node, "Comparisons may be moved, not mixed with other values.")
        raise next((value.error for value in values if isinstance(value, Choice)), mixed)
    return first.map_forms(lambda forms: _move(assembly, node, forms, *others))


def _scatter(combine: str) -> Callable[..., Any]:
    """`x.at[i].add(u)` and its like, at places that do not depend on the input."""

    def rule(assembly: Assembly, node: Node, x: Any, indices: Any, updates: Any) -> Forms:
        if not isinstance(indices, np.ndarray):
            raise refuse(node, "Indices that depend on the input make a program discontinuous.")
        x = as_forms(x)
        u = as_forms(updates)
        place = scatter_places(node.params, x.shape, indices, u.shape)
        kept = np.flatnonzero(place >= 0)
        if combine in ("max", "min"):
            table = np.full(
                (x.size, 1 + np.bincount(place[kept], minlength=x.size).max(initial=0)), -1
            )
            table[:, 0], last = np.arange(x.size), np.zeros(x.size, int)
            for j in kept:
                last[place[j]] += 1
                table[place[j], last[place[j]]] = x.size + j
            return tournament(
                assembly, pool_forms([x, u]), table, node.shape, 1.0 if combine == "max" else -1.0
            )
        put = sparse.csr_array((np.ones(kept.size), (place[kept], kept)), shape=(x.size, u.size))
        added = u.map(put, node.shape)
        return assembly.hold(x + added if combine == "add" else x - added)

    return rule


def _dot(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    if isinstance(x, Forms) and isinstance(y, Forms):
        raise refuse(
            node, "A product of two values that depend on the input is not piecewise affine."
        )
    first = isinstance(x, Forms)
    forms, fixed = (x, y) if first else (y, x)
    numbers = node.params["dimension_numbers"]
    M, exact = with_numbers(
        lambda weights: contraction(numbers, forms.shape, weights, first), fixed
    )
    return assembly.hold(forms.map(M, node.shape, exact), always=True)


def _convolve(assembly: Assembly, node: Node, x: Any, kernel: Any) -> Forms:
    if not isinstance(kernel, np.ndarray):
        raise refuse(
            node, "A convolution with a kernel that depends on the input is not piecewise affine."
        )
    if node.params["batch_group_count"] != 1:
        raise refuse(node, "Convolutions with batch groups are not read.", "use feature groups")
    M, exact = with_numbers(
        lambda weights: convolution(node.params, x.shape, weights, node.shape), kernel
    )
    return assembly.hold(x.map(M, node.shape, exact), always=True)


def _sum(assembly: Assembly, node: Node, x: Any) -> Forms:
    table = groups(x.shape, node.params["axes"])
    return assembly.hold(x.map(summation(table, x.size), node.shape))


def _pool_sum(assembly: Assembly, node: Node, x: Any) -> Forms:
    return assembly.hold(x.map(summation(windows(node.params, x.shape), x.size), node.shape))


def _running(sign: float) -> Callable[..., Forms]:
    """`cumsum` (sign 0), `cummax` (1) and `cummin` (-1) along an axis."""

    def rule(assembly: Assembly, node: Node, x: Any) -> Forms:
        table = prefixes(x.shape, node.params["axis"], node.params["reverse"])
        if sign:
            return tournament(assembly, x, table, node.shape, sign)
        return assembly.hold(x.map(summation(table, x.size), node.shape))

    return rule


def _enter(assembly: Assembly, node: Node, *values: Any) -> Any:
    """A function with a derivative of its own: only its values matter here."""
    (body,) = node.graphs
    try:
        results = forward(domain(assembly), body, *values).flat_outputs
    except SubjectError as error:
        name = node.label or node.primitive
        raise SubjectError(
            f"`{name}`: {error.what}", where=node.source, got=error.got, remedy=error.remedy
        ) from error
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
    "gt": compare(1.0, strict=True),
    "ge": compare(1.0, strict=False),
    "lt": compare(-1.0, strict=True),
    "le": compare(-1.0, strict=False),
    "eq": equal(unequal=False),
    "ne": equal(unequal=True),
    **{word: combine(word) for word in ("and", "or", "xor")},
    "not": negate,
    "sort": sort,
    "top_k": largest,
    **{f"scatter-{word}": _scatter(word) for word in ("add", "sub", "max", "min")},
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
