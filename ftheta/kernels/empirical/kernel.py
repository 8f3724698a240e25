r"""The empirical tangent kernel $\langle\partial_\theta f(x),\partial_\theta f(x')\rangle$ of a network.

Three ways, chosen by the operations they need and the memory allowed (Novak, Sohl-Dickstein and Schoenholz 2022), with
$P$ parameters, $O$ outputs, $F$ operations of one forward pass and $N$ inputs: contraction of Jacobians,
$NOF+N^2OP$; structured derivatives, $NOF+N^2O(\text{widths})$ where matrices multiply few vectors; products with
vectors, $N^2OF$ but only a few copies of the parameters in memory.
"""

from functools import lru_cache
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.domains.cost import cost
from ftheta.graph.errors import NoRule
from ftheta.logic.errors import UsageError
from ftheta.networks.shared_program import program_of
from ftheta.shapes import Float

from .contraction import Contraction, by_derivatives, by_products
from .contraction_plan import ContractionPlan, plan_contraction

Method = Literal["auto", "structured", "jacobian", "products"]

MEMORY = 2_000_000_000  # bytes
REAL = 8  # bytes of a number


class Choice(NamedTuple):
    """A method, the operations it is expected to need, and how many rows are taken at a time."""

    method: str
    operations: float
    rows: int


def empirical(
    net: Any,
    x1: Any,
    x2: Any = None,
    *,
    outputs: str = "mean",
    method: Method = "auto",
    memory: int = MEMORY,
) -> Float[np.ndarray, "n1 n2 *outputs"]:
    r"""$\hat\Theta$ between the rows of `x1` and of `x2` (by default `x1`), in float64.

    `net` has `apply(params, x)`, `params` and `input_shape`, as every `ft.Network` has. With `outputs="mean"` the
    result is `(n1, n2)`, the mean over the outputs $k$ of the kernel of $f_k$; with `"full"` it is
    `(n1, n2, outputs, outputs)`. Rows are taken in blocks such that all that is held stays within `memory` bytes.
    """
    if outputs not in ("mean", "full"):
        raise UsageError("Unknown `outputs`.", got=outputs, remedy="choose mean or full")
    full = outputs == "full"
    with jax.enable_x64(True):
        one = _rows(net, x1)
        two = one if x2 is None else _rows(net, x2)
        params = jax.tree.map(jnp.asarray, net.params)
        options = choices(net, one, two, full, memory)
        wanted = [c for c in options if method in ("auto", c.method) and c.rows > 0]
        if not wanted:
            raise _too_large(method, options, memory)
        best = min(wanted, key=lambda choice: choice.operations)
        contraction = _contraction(net, one, best.method, full)
        return _blocks(contraction, params, one, two, best.rows)


def choices(net: Any, x1: Any, x2: Any, full: bool, memory: int) -> tuple[Choice, ...]:
    """What each method would need; `rows` is 0 where not even one row fits."""
    return _choices(
        program_of(net), _key(net.params), _key_of_row(x1), len(x1), len(x2), full, memory
    )


@lru_cache(256)
def _choices(
    apply: Any, params: Any, row: Any, n1: int, n2: int, full: bool, memory: int
) -> tuple[Choice, ...]:
    structured, plain = (_plan(apply, params, row, flag) for flag in (True, False))
    many = plain.outputs
    P = plain.parameters
    F = _operations(plain)
    free = memory // REAL - n1 * n2 * (many * many if full else 1)
    found = []
    for name, plan in (("structured", structured), ("jacobian", plain)):
        rows = _rows_that_fit(plan, free, full)
        # inputs whose adjoints are computed
        swept = n1 + (n2 if rows >= n1 else n2 * n1 / max(1, rows))
        pair = sum(part.operations(many) for part in plan.parts) * (many if full else 1)
        found.append(Choice(name, swept * 3 * many * F + n1 * n2 * pair, rows))
    rows = max(0, free - 4 * P) // (2 * plain.passing())
    return (*found, Choice("products", 4.0 * n1 * n2 * many * F, int(rows)))


def _rows_that_fit(plan: ContractionPlan, free: int, full: bool) -> int:
    """The most rows r with 2r(features and what is held on the way) + (Gram matrices between positions) ≤ free."""
    linear = 2 * (plan.kept() + plan.passing() * plan.outputs)
    square = 2 * plan.positions**2 * (plan.outputs**2 if full else 1)
    return max(0, int((np.sqrt(linear**2 + 4.0 * square * max(free, 0)) - linear) / (2 * square)))


def _operations(plan: ContractionPlan) -> float:
    """Of one forward pass; where a primitive has no count, two a parameter."""
    try:
        return float(cost(plan.graph).forward_total.flops)
    except NoRule:
        return 2.0 * plan.parameters


def _blocks(contraction: Contraction, params: Any, one: Any, two: Any, rows: int) -> np.ndarray:
    """The kernel block by block; of rows with themselves, on one side of the diagonal."""
    if two is one and rows >= len(one):
        return contraction.alone(params, one)
    result: np.ndarray | None = None
    for i in range(0, len(one), rows):
        left = contraction.prepare(params, one[i : i + rows])
        for j in range(i if two is one else 0, len(two), rows):
            right = (
                left if two is one and i == j else contraction.prepare(params, two[j : j + rows])
            )
            block = contraction.block(left, right)
            if block.shape[:2] == (len(one), len(two)):
                return block
            if result is None:
                result = np.empty((len(one), len(two), *block.shape[2:]))
            result[i : i + rows, j : j + rows] = block
            if two is one and j > i:
                turned = block.swapaxes(0, 1)
                result[j : j + rows, i : i + rows] = (
                    turned.swapaxes(2, 3) if turned.ndim == 4 else turned
                )
    assert result is not None
    return result


def _contraction(net: Any, x: Any, method: str, full: bool) -> Contraction:
    apply = program_of(net)
    if method == "products":
        return by_products(apply, full)
    plan = _plan(apply, _key(net.params), _key_of_row(x), method == "structured")
    return by_derivatives(plan, full)


@lru_cache(64)
def _plan(apply: Any, params: Any, row: Any, structured: bool) -> ContractionPlan:
    with jax.enable_x64(True):  # a plan is kept: it must not depend on who asked first
        return plan_contraction(
            apply, _stand_for(params), jax.ShapeDtypeStruct(*row), structured=structured
        )


@lru_cache(64)
def _result(apply: Any, params: Any, row: Any) -> Any:
    """The shape and dtype of the outputs."""
    with jax.enable_x64(True):
        return jax.eval_shape(apply, _stand_for(params), jax.ShapeDtypeStruct(*row))


def _key(tree: Any) -> Any:
    """Structure, shapes and dtypes: what a graph depends on."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple((np.shape(leaf), np.dtype(jnp.result_type(leaf))) for leaf in leaves)


def _key_of_row(x: Any) -> Any:
    return x.shape[1:], np.dtype(x.dtype)


def _stand_for(key: Any) -> Any:
    """A tree of that structure, those shapes and dtypes."""
    return jax.tree.unflatten(key[0], [jax.ShapeDtypeStruct(*leaf) for leaf in key[1]])


def _rows(net: Any, x: Any) -> Any:
    """Rows of the network's input shape; whole numbers stay whole where the network takes them only so."""
    x = np.asarray(x)
    if x.dtype.kind not in "fiub" or x.size == 0 or x.shape[1:] != tuple(net.input_shape):
        remedy = f"give an array of shape (n, {', '.join(map(str, net.input_shape))})"
        raise UsageError(
            "The rows do not fit the network.", got=f"{x.dtype} {x.shape}", remedy=remedy
        )
    if not np.isfinite(x).all():
        raise UsageError(
            "The rows are not finite.",
            got=f"{int((~np.isfinite(x)).sum())} such numbers",
            remedy="mend them",
        )
    errors = []
    for kind in (np.float64, *((np.int64,) if x.dtype.kind in "iub" else ())):
        try:
            found = _result(program_of(net), _key(net.params), (x.shape[1:], np.dtype(kind)))
        except Exception as error:  # whatever the user's function raises when it is traced
            errors.append(error)
            continue
        if not (hasattr(found, "dtype") and jnp.issubdtype(found.dtype, jnp.floating)):
            raise UsageError(
                "The outputs have no derivative.",
                got=str(found),
                remedy="give the network before its argmax",
            )
        return jnp.asarray(x, kind)
    raise UsageError(
        "The network cannot be traced on these rows.",
        got=f"{x.dtype} rows: {str(errors[0]).splitlines()[0]}",
        remedy="give an integer array to a network of tokens, and real numbers to any other",
    ) from errors[0]


def _too_large(method: str, options: tuple[Choice, ...], memory: int) -> UsageError:
    known = [choice.method for choice in options]
    if method not in ("auto", *known):
        return UsageError(
            "This method does not serve here.",
            got=method,
            remedy=f"choose auto or {', '.join(known)}",
        )
    got = f"{memory:,} bytes"
    return UsageError(
        "The memory allowed is too small for one row.",
        got=got,
        remedy="give more memory= or fewer rows",
    )
