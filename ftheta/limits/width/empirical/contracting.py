"""The contractions behind an empirical tangent kernel, for blocks of inputs that fit into memory."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from ftheta.graph import active_slots
from ftheta.graph.domains.adjoints import ADJOINTS
from ftheta.graph.domains.values import VALUES
from ftheta.graph.interpret import backward, forward

from .plan import Plan

Kernel = Callable[[Any, Any, Any], jax.Array]  # (params, x1, x2 or None for x1) -> (n1, n2) or (n1, n2, out, out)


@lru_cache(32)
def by_derivatives(plan: Plan, full: bool) -> Kernel:
    """From the parts of the plan: adjoints of every output at every input, then products of Gram matrices."""
    graph = plan.graph
    active = active_slots(graph, [part.adjoint for part in plan.parts] + list(graph.argument(0)))

    def features(params: Any, x: Any) -> tuple[list[Any], list[Any]]:
        inputs = graph.signature.inputs_of((params, x))
        primal = forward(VALUES, graph, *inputs)
        out = graph.outputs[0]

        def adjoints(seed: Any) -> list[Any]:
            swept = backward(ADJOINTS, primal, {out.id: seed.reshape(out.shape)}, active)
            return [jnp.ravel(swept[part.adjoint]) for part in plan.parts]

        vectors = [jnp.ravel(primal[part.vector]) if part.vector else jnp.ones(0) for part in plan.parts]
        return vectors, jax.vmap(adjoints)(jnp.eye(out.size, dtype=out.dtype))

    def kernel(params: Any, x1: Any, x2: Any) -> jax.Array:
        of_all = jax.vmap(features, (None, 0))
        a1, d1 = of_all(params, x1)
        a2, d2 = (a1, d1) if x2 is None else of_all(params, x2)
        columns = len(x1) if x2 is None else len(x2)
        total = jnp.zeros((len(x1), columns, *((plan.outputs,) * 2 if full else ())))
        for part, a, b, d, e in zip(plan.parts, a1, a2, d1, d2):
            if full:
                gram = jnp.einsum("ikp,jlp->ijkl", d, e)
                scale = (a @ b.T)[:, :, None, None] if part.vector else 1.0
            else:
                gram = d.reshape(len(d), -1) @ e.reshape(len(e), -1).T / plan.outputs
                scale = a @ b.T if part.vector else 1.0
            total = total + scale * gram
        return total

    return jax.jit(kernel)


@lru_cache(32)
def by_products(apply: Any, full: bool) -> Kernel:
    r"""One product of the kernel with a vector for each input and output: $J(x_1)\,(J(x_2)^\top e_k)$."""

    def kernel(params: Any, x1: Any, x2: Any) -> jax.Array:
        outputs = lambda p: jax.vmap(lambda x: jnp.ravel(apply(p, x)))(x1)
        pushed = jax.linearize(outputs, params)[1]

        def column(x: Any) -> jax.Array:
            y, pull = jax.vjp(lambda p: jnp.ravel(apply(p, x)), params)
            return jax.lax.map(lambda seed: pushed(pull(seed)[0]), jnp.eye(y.size, dtype=y.dtype))  # (out2, n1, out1)

        columns = jax.lax.map(column, x1 if x2 is None else x2)  # (n2, out2, n1, out1)
        return columns.transpose(2, 0, 3, 1) if full else jnp.einsum("jkik->ij", columns) / columns.shape[1]

    return jax.jit(kernel)
