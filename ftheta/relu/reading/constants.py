r"""Constants that a program computes: exactly where it adds, multiplies and divides them, marked as rounded elsewhere.

A constant is an array of numbers. One whose numbers the program's float type cannot hold (the sum of 0.1 and 0.2) is an
array of rationals, of dtype object. Arithmetic on constants is first done in floats, with a test on whole arrays for
whether anything was rounded; only then in rationals, and only up to a size.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.graph.graph import Node
from ftheta.graph.primitives import MOVES, UNROUNDED

from ..matrices import rational
from ..rounding import product_is_exact, quotient_is_exact, sum_is_exact
from .assembly import Assembly
from .entries import refuse
from .forms import floats
from .linear_maps import groups

MOST_RATIONALS = 20_000  # products or sums of constants in one operation

DATA = {
    "pad": (0, 1),
    "gather": (0,),
    "dynamic_slice": (0,),
    "dynamic_update_slice": (0, 1),
    "scatter": (0, 2),
}
"""Operands that are moved (not read as indices); all of them where a primitive is not named here."""

INSIDE = frozenset(("custom_jvp_call", "custom_vjp_call"))
"""Nodes that are entered: what they contain is looked at one by one."""


def moved_operands(node: Node, count: int) -> tuple[int, ...]:
    """The operands whose entries a primitive moves."""
    if node.primitive == "select_n":
        return tuple(range(1, count))
    return DATA.get(node.primitive, tuple(range(count)))


def places_of(node: Node, values: Sequence[Any]) -> list[np.ndarray]:
    """A primitive that moves entries, run on their numbers: which entry of all the operands is where."""
    start = 0
    operands = list(values)
    for k in moved_operands(node, len(values)):
        shape = values[k].shape
        operands[k] = np.arange(start, start + prod(shape), dtype=np.int32).reshape(shape)
        start += prod(shape)
    places = [np.asarray(out) for out in node.evaluate(*operands)]
    if any((place < 0).any() or (place >= start).any() for place in places):
        raise refuse(
            node, "An index lies outside the array.", "gather with indices inside the array"
        )
    return places


def fold_constants(
    assembly: Assembly, node: Node, rule: Callable[..., Any], values: Sequence[np.ndarray]
) -> Any:
    """What a node computes of constants."""
    if node.primitive in INSIDE:
        return rule(assembly, node, *values)
    has_rationals = any(value.dtype == object for value in values)
    is_real = any(out.is_real for out in node.outputs)
    if not has_rationals and (
        not is_real or node.primitive in UNROUNDED or not all(map(_is_finite, values))
    ):
        return _evaluate(node, values)
    found = _exactly(node, values, has_rationals)
    if found is not None:
        return found
    assembly.note_rounding(f"constants by `{node.primitive}` in {node.dtype}")
    return _evaluate(node, [_store(value, slot.dtype) for value, slot in zip(values, node.inputs)])


def _evaluate(node: Node, values: Sequence[np.ndarray]) -> Any:
    results = [np.asarray(out) for out in node.evaluate(*values)]
    return results[0] if len(node.outputs) == 1 else results


def _is_finite(value: np.ndarray) -> bool:
    return value.dtype == object or bool(np.isfinite(value.astype(np.float64)).all())


def _store(value: np.ndarray, dtype: Any) -> np.ndarray:
    return floats(value).astype(dtype) if value.dtype == object else value


def _exactly(node: Node, values: Sequence[np.ndarray], has_rationals: bool) -> Any:
    """The result without rounding; None where that is not known, or too long."""
    if not has_rationals and (plain := _in_floats(node, values)) is not None:
        return plain
    size = sum(value.size for value in values) + prod(node.shape)
    if not all(out.is_real for out in node.outputs) or not all(map(_is_finite, values)):
        return None
    if node.primitive in MOVES or node.primitive == "select_n":
        return _move(node, values) if size <= MOST_RATIONALS else None
    operation = RATIONALLY.get(node.primitive)
    if operation is None or size > MOST_RATIONALS:
        return None
    found = operation(node, *(_rationals(value) for value in values))
    return (
        None if found is None else _kept(np.asarray(found, object).reshape(node.shape), node.dtype)
    )


def _in_floats(node: Node, values: Sequence[np.ndarray]) -> np.ndarray | None:
    """The result in floats if nothing was rounded."""
    test = TESTS.get(node.primitive)
    if test is None and node.primitive not in CASTS:
        return None
    result = _evaluate(node, values)
    wide = [value.astype(np.float64) for value in values]
    if node.primitive in CASTS:
        return (
            result if np.array_equal(result.astype(np.float64), wide[0], equal_nan=True) else None
        )
    assert test is not None
    operation, is_exact = test
    with np.errstate(all="ignore"):
        meant = operation(*wide)
    same = np.array_equal(result.astype(np.float64), meant, equal_nan=True)
    return result if same and is_exact(*np.broadcast_arrays(*wide)).all() else None


def _move(node: Node, values: Sequence[np.ndarray]) -> Any:
    entries = np.concatenate(
        [_rationals(values[k]).ravel() for k in moved_operands(node, len(values))]
    )
    taken = [
        _kept(entries[place], out.dtype)
        for place, out in zip(places_of(node, values), node.outputs)
    ]
    return taken[0] if len(node.outputs) == 1 else taken


def _rationals(value: np.ndarray) -> np.ndarray:
    if value.dtype == object:
        return value
    found = np.empty(value.shape, object)
    found.ravel()[:] = [rational(x) for x in value.ravel()]
    return found


def _kept(found: np.ndarray, dtype: Any) -> np.ndarray:
    """Rationals as floats of the program's type where that can hold them all."""
    near = floats(found).astype(dtype)
    same = all(rational(x) == q for x, q in zip(near.ravel(), found.ravel()) if np.isfinite(x))
    return near if same and np.isfinite(near.astype(np.float64)).all() else found


def _quotient(node: Node, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    return x / y if all(y.ravel()) else None


def _sum(node: Node, x: np.ndarray) -> np.ndarray:
    table = groups(x.shape, node.params["axes"])
    return np.array([sum(x.ravel()[row], fmpq(0)) for row in table], object)


def _power(node: Node, x: np.ndarray) -> np.ndarray | None:
    y = node.params.get("y", 2)
    return np.array([q**y for q in x.ravel()], object) if 0 <= y <= 8 else None


def _product(node: Node, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """`dot_general` without batch axes."""
    (left, right), (batch, _) = node.params["dimension_numbers"]
    work = prod(node.shape) * prod(x.shape[a] for a in left)
    return np.tensordot(x, y, axes=(left, right)) if not batch and work <= MOST_RATIONALS else None


CASTS = frozenset(("convert_element_type", "reduce_precision", "copy", "copy_p"))

TESTS: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]] = {
    **dict.fromkeys(("add", "add_any"), (np.add, sum_is_exact)),
    "sub": (np.subtract, lambda a, b: sum_is_exact(a, -b)),
    "mul": (np.multiply, product_is_exact),
    "div": (np.divide, quotient_is_exact),
}
"""The operation, and on which entries float64 computes it without rounding."""

RATIONALLY: dict[str, Callable[..., np.ndarray | None]] = {
    **dict.fromkeys(("add", "add_any"), lambda node, x, y: x + y),
    "sub": lambda node, x, y: x - y,
    "mul": lambda node, x, y: x * y,
    "neg": lambda node, x: -x,
    "div": _quotient,
    "max": lambda node, x, y: np.maximum(x, y),
    "min": lambda node, x, y: np.minimum(x, y),
    "abs": lambda node, x: abs(x),
    "reduce_sum": _sum,
    "dot_general": _product,
    **dict.fromkeys(("square", "integer_pow"), _power),
    **dict.fromkeys(
        ("convert_element_type", "reduce_precision", "stop_gradient"), lambda node, x: x
    ),
}
"""The same operations in rationals. A cast between float types changes nothing: arithmetic is that of real numbers."""
