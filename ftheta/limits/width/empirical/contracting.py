"""The contractions behind an empirical tangent kernel, for blocks of inputs that fit into memory."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph import Node, active_slots
from ftheta.graph.domains.adjoints import ADJOINTS, local_vjp
from ftheta.graph.domains.values import VALUES, evaluate
from ftheta.graph.interpret import backward, forward

from .plan import Part, Plan
from .unfolding import unfolded, unfolds


@dataclass(frozen=True)
class Contraction:
    """`prepare(params, rows)` is what is needed of each row; `block(left, right)` the kernel between two such."""

    prepare: Callable[[Any, Any], Any]
    block: Callable[[Any, Any], np.ndarray]


# -- structured derivatives and Jacobians ----------------------------------------------------------


@lru_cache(32)
def by_derivatives(plan: Plan, full: bool) -> Contraction:
    """From the parts of the plan: adjoints of every output at every input, then products of Gram matrices."""
    return Contraction(partial(_prepared, plan, jax.jit(jax.vmap(_features(plan), (None, 0)))), partial(_block, plan, full))


def _convolved(node: Node, x: Any, weight: Any) -> Any:
    return unfolded(node, x, weight) if unfolds(node) else evaluate(node, x, weight)


def _convolved_back(node: Node, inputs: Any, cotangents: Any, wanted: Any) -> list[Any]:
    if not unfolds(node):
        return local_vjp(node, inputs, cotangents, wanted)
    found = jax.vjp(partial(unfolded, node), *inputs)[1](cotangents[0])
    return [part if w else None for part, w in zip(found, wanted)]


FORWARD = replace(VALUES, rules={**VALUES.rules, "conv_general_dilated": _convolved})
BACKWARD = replace(ADJOINTS, rules={**ADJOINTS.rules, "conv_general_dilated": _convolved_back})


def _features(plan: Plan) -> Callable[[Any, Any], list[tuple[Any, Any]]]:
    """For one input: rows of features (None for a part that is taken as it is) and adjoints of all outputs."""
    graph, out = plan.graph, plan.graph.outputs[0]
    wanted = [slot for part in plan.parts for slot in part.adjoints()]
    active = active_slots(graph, wanted + list(graph.argument(0)))

    def features(params: Any, x: Any) -> list[tuple[Any, Any]]:
        primal = forward(FORWARD, graph, *graph.signature.inputs_of((params, x)))

        def adjoints(seed: Any) -> list[Any]:
            swept = backward(BACKWARD, primal, {out.id: seed.reshape(out.shape)}, active)
            return [_adjoint_rows(part, swept) for part in plan.parts]

        rows = [
            jnp.concatenate([use.features(primal[use.operand]) for use in part.uses]) if part.uses else None
            for part in plan.parts
        ]
        return list(zip(rows, jax.vmap(adjoints)(jnp.eye(out.size, dtype=out.dtype))))

    return features


def _adjoint_rows(part: Part, swept: Any) -> Any:
    if part.uses:
        return jnp.concatenate([use.adjoints(swept[use.result]) for use in part.uses])
    return jnp.ravel(swept[part.adjoints()[0]])


def _prepared(plan: Plan, features: Any, params: Any, x: Any) -> list[tuple[Any, Any]]:
    """Features of all rows in NumPy; those of a part that is not taken apart are joined to its Jacobian."""
    return [_joined(part, *map(_numpy, found)) for part, found in zip(plan.parts, features(params, x))]


def _numpy(array: Any) -> Any:
    return None if array is None else np.asarray(array)


def _joined(part: Part, rows: Any, adjoints: Any) -> tuple[Any, Any]:
    if not part.uses or part.apart:
        return rows, adjoints
    jacobian = rows.swapaxes(1, 2)[:, None] @ adjoints  # (n, out, inputs, outputs)
    return None, jacobian.reshape(*jacobian.shape[:2], -1)


def _block(plan: Plan, full: bool, left: Any, right: Any) -> np.ndarray:
    """The kernel between two blocks of inputs. Gram matrices of adjoints that parts share are made once."""
    n, m, many = len(left[0][1]), len(right[0][1]), plan.outputs
    total = np.zeros((n, many, m, many) if full else (n, m))
    known: dict[int, np.ndarray] = {}
    for part, (a, d), (b, e) in zip(plan.parts, left, right):
        slot = part.adjoints()[0].id
        if part.positions > 1 and part.apart:
            total += _over_positions(a, b, d, e, full)
            continue
        shared = slot if part.apart or part.bias else -1
        gram = known[shared] if shared in known else _gram(d, e, full)
        if shared >= 0:
            known[shared] = gram
        if part.apart:
            scale = _product(a, b, lambda x: x[:, 0])
            gram = gram * (scale[:, None, :, None] if full else scale)
        total += gram
    return total.swapaxes(1, 2) if full else total / many


def _product(left: np.ndarray, right: np.ndarray, rows: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """All inner products of the rows that `rows` makes of both; of one array with itself NumPy computes one half."""
    one = rows(left)
    return one @ (one if right is left else rows(right)).T


def _gram(d: np.ndarray, e: np.ndarray, full: bool) -> np.ndarray:
    """Of adjoints `(n, out, …)`: between all pairs of outputs, or summed over equal ones."""
    if not full:
        return _product(d, e, lambda x: x.reshape(len(x), -1))
    found = _product(d, e, lambda x: x.reshape(x.shape[0] * x.shape[1], -1))
    return found.reshape(*d.shape[:2], *e.shape[:2])


def _over_positions(a: np.ndarray, b: np.ndarray, d: np.ndarray, e: np.ndarray, full: bool) -> np.ndarray:
    r"""$\sum_{p,q}(AA'^\top)_{pq}(\Delta\Delta'^\top)_{pq}$ from rows `(n, p, k)` and adjoints `(n, out, p, c)`."""
    (n, many, p, _), m = d.shape, len(e)
    rows = _product(a, b, lambda x: x.reshape(len(x) * p, -1)).reshape(n, p, m, p)
    if full:
        gram = _product(d, e, lambda x: x.reshape(len(x) * many * p, -1)).reshape(n, many, p, m, many, p)
        return np.einsum("ipjq,ikpjlq->ikjl", rows, gram)
    gram = _product(d, e, lambda x: x.swapaxes(1, 2).reshape(len(x) * p, -1)).reshape(n, p, m, p)
    return np.einsum("ipjq,ipjq->ij", rows, gram)


# -- products with vectors ---------------------------------------------------------------------------


@lru_cache(32)
def by_products(apply: Any, full: bool) -> Contraction:
    r"""One product of the kernel with a vector for each input and output: $J(x_1)\,(J(x_2)^\top e_k)$."""

    def kernel(params: Any, x1: Any, x2: Any) -> jax.Array:
        outputs = lambda p: jax.vmap(lambda x: jnp.ravel(apply(p, x)))(x1)
        pushed = jax.linearize(outputs, params)[1]

        def column(x: Any) -> jax.Array:
            y, pull = jax.vjp(lambda p: jnp.ravel(apply(p, x)), params)
            return jax.lax.map(lambda seed: pushed(pull(seed)[0]), jnp.eye(y.size, dtype=y.dtype))  # (out2, n1, out1)

        columns = jax.lax.map(column, x2)  # (n2, out2, n1, out1)
        return columns.transpose(2, 0, 3, 1) if full else jnp.einsum("jkik->ij", columns) / columns.shape[1]

    compiled = jax.jit(kernel)
    return Contraction(lambda params, x: (params, x), lambda left, right: np.asarray(compiled(*left, right[1])))
