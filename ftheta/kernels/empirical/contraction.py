"""The contractions behind an empirical tangent kernel, for blocks of inputs that fit into memory."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.domains.adjoints import ADJOINTS
from ftheta.graph.domains.values import VALUES
from ftheta.graph.interpret import active_slots, backward, forward

from .contraction_plan import ContractionPlan, ParameterBlock

LONG = 4096
"""Numbers of a row from which on derivatives are long."""
CHUNK = 32
"""Rows whose long derivatives are taken at a time: what is held on the way stays in the caches."""
LINE = 64
"""Bytes. Arrays that begin at a multiple of it are taken over by XLA, others are copied."""
FEW = 128
"""Rows of which the whole product is as fast as three quarters of it."""


@dataclass(frozen=True)
class Contraction:
    """`prepare(params, rows)` is what is needed of each row; `block(left, right)` the kernel between two such.
    `alone(params, rows)` is the kernel of rows with themselves."""

    prepare: Callable[[Any, Any], Any]
    block: Callable[[Any, Any], np.ndarray]
    alone: Callable[[Any, Any], np.ndarray]


# -- structured derivatives and Jacobians ----------------------------------------------------------


@lru_cache(32)
def by_derivatives(plan: ContractionPlan, full: bool) -> Contraction:
    """From the parts of the plan: adjoints of every output at every input, then products of Gram matrices."""
    features = jax.jit(partial(_features, plan))
    chunked = any(_is_long(plan, part) for part in plan.parts)
    prepare = partial(_in_chunks, features) if chunked else features
    pair = jax.jit(partial(_block, plan, full))
    halves = jax.jit(partial(_by_halves, plan, full))
    at_once = jax.jit(partial(_at_once, plan, full))

    def finish(total: Any) -> np.ndarray:
        return np.array(total).swapaxes(1, 2) if full else np.asarray(total) / plan.outputs

    def alone(params: Any, x: Any) -> np.ndarray:
        if not chunked:
            return finish(at_once(params, x))
        rows = prepare(params, x)
        return finish(pair(rows, rows) if len(x) < 2 * FEW else halves(*_split(rows)))

    return Contraction(prepare, lambda left, right: finish(pair(left, right)), alone)


def _is_long(plan: ContractionPlan, part: ParameterBlock) -> bool:
    """Whether it is convolved, or multiplies many tokens, with long derivatives."""
    return part.joined and part.positions > 1 and part.parameter.size * plan.outputs > LONG


def _at_once(plan: ContractionPlan, full: bool, params: Any, x: Any) -> jax.Array:
    """The kernel of all inputs with themselves."""
    rows = _features(plan, params, x)
    if len(x) < 2 * FEW:
        return _block(plan, full, rows, rows)
    return _by_halves(plan, full, *_split(rows))


def _split(rows: Any) -> tuple[Any, Any]:
    n = len(rows[0][1])
    return jax.tree.map(lambda a: a[: n // 2], rows), jax.tree.map(lambda a: a[n // 2 :], rows)


def _in_chunks(features: Callable[[Any, Any], Any], params: Any, x: Any) -> Any:
    """What `features` finds of all rows, a few at a time. The last few are as many, so that one program serves."""
    n = len(x)
    if n <= CHUNK:
        return features(params, x)
    x = np.asarray(x)
    whole: Any = None
    for start in range(0, n, CHUNK):
        rows = slice(min(start, n - CHUNK), min(start + CHUNK, n))
        found = features(params, x[rows])
        if whole is None:
            whole = jax.tree.map(lambda a: _empty((n, *a.shape[1:]), a.dtype), found)
        for into, some in zip(jax.tree.leaves(whole), jax.tree.leaves(found)):
            into[rows] = some
    return whole


def _empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array that begins at the beginning of a line of the caches."""
    size = prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def _features(plan: ContractionPlan, params: Any, x: Any) -> list[tuple[Any, Any]]:
    """For each part and all inputs: rows of features (None for one that is not taken apart), and adjoints of all
    outputs."""
    swept = jax.vmap(_sweep(plan), (None, 0))(params, x)
    return [_finish(part, *found) for part, found in zip(plan.parts, swept)]


def _sweep(plan: ContractionPlan) -> Callable[[Any, Any], list[tuple[list[Any], list[Any]]]]:
    """For one input: what each part multiplies, and the adjoints of all outputs, a pair for every use."""
    graph = plan.graph
    out = plan.graph.outputs[0]
    wanted = [slot for part in plan.parts for slot in part.adjoints()]
    active = active_slots(graph, wanted + list(graph.argument(0)))

    def sweep(params: Any, x: Any) -> list[tuple[list[Any], list[Any]]]:
        primal = forward(VALUES, graph, *graph.signature.inputs_of((params, x)))

        def adjoints(seed: Any) -> list[list[Any]]:
            swept = backward(ADJOINTS, primal, {out.id: seed.reshape(out.shape)}, active)
            return [_adjoint_rows(part, swept) for part in plan.parts]

        swept = jax.vmap(adjoints)(jnp.eye(out.size, dtype=out.dtype))
        operands = [[primal[use.operand] for use in part.uses] for part in plan.parts]
        return list(zip(operands, swept))

    return sweep


def _adjoint_rows(part: ParameterBlock, swept: Any) -> list[Any]:
    if part.uses:
        return [use.adjoints(swept[use.result]) for use in part.uses]
    return [jnp.ravel(swept[part.adjoints()[0]])]


def _finish(part: ParameterBlock, operands: list[Any], adjoints: list[Any]) -> tuple[Any, Any]:
    """Of all inputs: rows of features and adjoints of a part that is taken apart; else its derivatives, `(inputs,
    outputs, entries)`."""
    if not part.uses:
        return None, adjoints[0]
    if part.apart:
        rows = [jax.vmap(use.features)(x) for use, x in zip(part.uses, operands)]
        return jnp.concatenate(rows, 1), jnp.concatenate(adjoints, 2)
    join = partial(_join, part)
    if part.positions == 1:
        return None, jax.vmap(join)(operands, adjoints)
    # The windows of one image stay in the cache, those of many do not.
    return None, jax.lax.map(lambda row: join(*row), (operands, adjoints))


def _join(part: ParameterBlock, operands: list[Any], adjoints: list[Any]) -> Any:
    """Derivatives of all outputs at one input, `(outputs, entries)`."""
    total: Any = 0.0
    for use, x, delta in zip(part.uses, operands, adjoints):
        many = len(delta)
        turned = delta.swapaxes(1, 2).reshape(many * use.outputs, use.positions)
        products = [turned @ columns for columns in use.columns(x)]
        total = total + jnp.concatenate(products, -1).reshape(many, -1)
    return total


def _by_halves(plan: ContractionPlan, full: bool, first: Any, second: Any) -> jax.Array:
    """The kernel of two halves of the inputs with themselves: what is below the diagonal is what is above it."""
    upper = _block(plan, full, first, second)
    lower = upper.transpose(2, 3, 0, 1) if full else upper.T
    whole = [[_block(plan, full, first, first), upper], [lower, _block(plan, full, second, second)]]
    return jnp.concatenate([jnp.concatenate(line, -2 if full else -1) for line in whole])


def _block(plan: ContractionPlan, full: bool, left: Any, right: Any) -> jax.Array:
    """The sum over all outputs of the kernel between two blocks of inputs. Gram matrices of adjoints that parts share
    are made once."""
    n = len(left[0][1])
    m = len(right[0][1])
    many = plan.outputs
    total = jnp.zeros((n, many, m, many) if full else (n, m))
    known: dict[int, jax.Array] = {}
    for part, (a, d), (b, e) in zip(plan.parts, left, right):
        slot = part.adjoints()[0].id
        if part.positions > 1 and part.apart:
            total = total + _over_positions(a, b, d, e, full)
            continue
        shared = slot if part.apart or part.bias else -1
        gram = known[shared] if shared in known else _product(d, e, full)
        if shared >= 0:
            known[shared] = gram
        if part.apart:
            scale = a[:, 0] @ b[:, 0].T
            gram = gram * (scale[:, None, :, None] if full else scale)
        total = total + gram
    return total


def _product(d: Any, e: Any, full: bool) -> Any:
    """Of adjoints `(n, out, …)`: between all pairs of outputs, or summed over equal ones."""
    n, many = d.shape[:2]
    m = len(e)
    if not full:
        return d.reshape(n, -1) @ e.reshape(m, -1).T
    product = d.reshape(n * many, -1) @ e.reshape(m * many, -1).T
    return product.reshape(n, many, m, many)


def _over_positions(
    a: jax.Array, b: jax.Array, d: jax.Array, e: jax.Array, full: bool
) -> jax.Array:
    r"""$\sum_{p,q}(AA'^\top)_{pq}(\Delta\Delta'^\top)_{pq}$ from rows `(n, p, k)` and adjoints `(n, out, p, c)`."""
    rows = jnp.einsum("ipk,jqk->ipjq", a, b)
    if full:
        return jnp.einsum("ipjq,ikpjlq->ikjl", rows, jnp.einsum("ikpc,jlqc->ikpjlq", d, e))
    return jnp.einsum("ipjq,ipjq->ij", rows, jnp.einsum("ikpc,jkqc->ipjq", d, e))


# -- products with vectors ---------------------------------------------------------------------------


@lru_cache(32)
def by_products(apply: Any, full: bool) -> Contraction:
    r"""One product of the kernel with a vector for each input and output: $J(x_1)\,(J(x_2)^\top e_k)$."""

    def kernel(params: Any, x1: Any, x2: Any) -> jax.Array:
        outputs = lambda p: jax.vmap(lambda x: jnp.ravel(apply(p, x)))(x1)
        pushed = jax.linearize(outputs, params)[1]

        def column(x: Any) -> jax.Array:
            y, pull = jax.vjp(lambda p: jnp.ravel(apply(p, x)), params)
            # (out2, n1, out1)
            return jax.lax.map(lambda seed: pushed(pull(seed)[0]), jnp.eye(y.size, dtype=y.dtype))

        columns = jax.lax.map(column, x2)  # (n2, out2, n1, out1)
        return (
            columns.transpose(2, 0, 3, 1)
            if full
            else jnp.einsum("jkik->ij", columns) / columns.shape[1]
        )

    compiled = jax.jit(kernel)

    def block(left: Any, right: Any) -> np.ndarray:
        return np.asarray(compiled(*left, right[1]))

    return Contraction(
        lambda params, x: (params, x), block, lambda params, x: block((params, x), (params, x))
    )
