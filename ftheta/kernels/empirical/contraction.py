"""The contractions behind an empirical tangent kernel, for blocks of inputs that fit into memory."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.domains.adjoints import ADJOINTS
from ftheta.graph.domains.values import VALUES
from ftheta.graph.interpret import active_slots, backward, forward

from .contraction_plan import ContractionPlan, ParameterBlock


@dataclass(frozen=True)
class Contraction:
    """`prepare(params, rows)` is what is needed of each row; `block(left, right)` the kernel between two such."""

    prepare: Callable[[Any, Any], Any]
    block: Callable[[Any, Any], np.ndarray]


# -- structured derivatives and Jacobians ----------------------------------------------------------


@lru_cache(32)
def by_derivatives(plan: ContractionPlan, full: bool) -> Contraction:
    """From the parts of the plan: adjoints of every output at every input, then products of Gram matrices."""
    block = jax.jit(partial(_block, plan, full))
    return Contraction(
        jax.jit(jax.vmap(_features(plan), (None, 0))),
        lambda left, right: np.asarray(block(left, right)),
    )


def _features(plan: ContractionPlan) -> Callable[[Any, Any], list[tuple[Any, Any]]]:
    """For one input: rows of features (None for a part that is taken as it is) and adjoints of all outputs."""
    graph = plan.graph
    out = plan.graph.outputs[0]
    wanted = [slot for part in plan.parts for slot in part.adjoints()]
    active = active_slots(graph, wanted + list(graph.argument(0)))

    def features(params: Any, x: Any) -> list[tuple[Any, Any]]:
        primal = forward(VALUES, graph, *graph.signature.inputs_of((params, x)))

        def adjoints(seed: Any) -> list[Any]:
            swept = backward(ADJOINTS, primal, {out.id: seed.reshape(out.shape)}, active)
            return [_adjoint_rows(part, swept) for part in plan.parts]

        swept = jax.vmap(adjoints)(jnp.eye(out.size, dtype=out.dtype))
        return [_join(part, primal, found) for part, found in zip(plan.parts, swept)]

    return features


def _adjoint_rows(part: ParameterBlock, swept: Any) -> Any:
    if part.uses:
        return jnp.concatenate([use.adjoints(swept[use.result]) for use in part.uses])
    return jnp.ravel(swept[part.adjoints()[0]])


def _join(part: ParameterBlock, primal: Any, adjoints: Any) -> tuple[Any, Any]:
    """Rows of features and adjoints of a part that is taken apart; else its derivatives, `(outputs, entries)`."""
    if not part.uses:
        return None, adjoints
    rows = jnp.concatenate([use.features(primal[use.operand]) for use in part.uses])
    if part.apart:
        return rows, adjoints
    return None, jnp.einsum("pk,opc->ock", rows, adjoints).reshape(len(adjoints), -1)


def _block(plan: ContractionPlan, full: bool, left: Any, right: Any) -> jax.Array:
    """The kernel between two blocks of inputs. Gram matrices of adjoints that parts share are made once."""
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
        gram = known[shared] if shared in known else _gram(d, e, full)
        if shared >= 0:
            known[shared] = gram
        if part.apart:
            scale = a[:, 0] @ b[:, 0].T
            gram = gram * (scale[:, None, :, None] if full else scale)
        total = total + gram
    return total.swapaxes(1, 2) if full else total / many


def _gram(d: jax.Array, e: jax.Array, full: bool) -> jax.Array:
    """Of adjoints `(n, out, …)`: between all pairs of outputs, or summed over equal ones."""
    if not full:
        return d.reshape(len(d), -1) @ e.reshape(len(e), -1).T
    return jnp.einsum("ikp,jlp->ikjl", *(x.reshape(*x.shape[:2], -1) for x in (d, e)))


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
    return Contraction(
        lambda params, x: (params, x), lambda left, right: np.asarray(compiled(*left, right[1]))
    )
