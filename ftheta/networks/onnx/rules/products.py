"""Matrix products and contractions: dense layers and the scores of attention."""

from typing import Any

import jax.numpy as jnp

from ftheta.networks.onnx.call import Call
from ftheta.networks.programs.call import RuleTable

# of one Einsum: the search for the order of the products grows fast with their number
MAX_FACTORS = 8


def _matmul(call: Call, x: Any, y: Any) -> Any:
    return jnp.matmul(x, y)


def _gemm(call: Call, x: Any, y: Any, c: Any = None) -> Any:
    r"""$\alpha\,X'Y'+\beta\,C$ with either matrix transposed if asked."""
    x = x.T if call.whole("transA", 0) else x
    y = y.T if call.whole("transB", 0) else y
    alpha = call.real("alpha", 1.0)
    beta = call.real("beta", 1.0)
    product = jnp.matmul(x, y) if alpha == 1.0 else alpha * jnp.matmul(x, y)
    if c is None:
        return product
    return product + (c if beta == 1.0 else beta * c)


def _einsum(call: Call, *factors: Any) -> Any:
    if len(factors) > MAX_FACTORS:
        raise call.refuse("An Einsum of so many factors is not read.", len(factors))
    return jnp.einsum(call.word("equation", "").replace(" ", ""), *factors, optimize="greedy")


RULES: RuleTable = {"MatMul": _matmul, "Gemm": _gemm, "Einsum": _einsum}
