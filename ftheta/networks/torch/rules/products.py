"""Matrix products, dense layers and attention."""

from typing import Any

import jax
import jax.numpy as jnp

from ftheta.networks.programs.call import Call, RuleTable

# of one einsum: the search for the order of the products grows fast with their number
MAX_FACTORS = 8


def _linear(call: Call, x: Any, weight: Any, bias: Any = None) -> Any:
    y = jnp.matmul(x, weight.T)
    return y if bias is None else y + bias


def _scaled_sum(x: Any, product: Any, beta: Any, alpha: Any) -> Any:
    product = product if alpha == 1 else alpha * product
    return product + (x if beta == 1 else beta * x)


def _addmm(call: Call, x: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _scaled_sum(x, jnp.matmul(mat1, mat2), beta, alpha)


def _baddbmm(call: Call, x: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _scaled_sum(x, jnp.matmul(batch1, batch2), beta, alpha)


def _addmv(call: Call, x: Any, mat: Any, vec: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _scaled_sum(x, jnp.matmul(mat, vec), beta, alpha)


def _einsum(call: Call, equation: str, tensors: list[Any], path: Any = None) -> Any:
    if len(tensors) > MAX_FACTORS:
        raise call.refuse("An einsum of so many factors is not read.", len(tensors))
    return jnp.einsum(equation.replace(" ", ""), *tensors, optimize="greedy")


def _bilinear(call: Call, input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    y = jnp.einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else y + bias


def _trilinear(
    call: Call,
    i1: Any,
    i2: Any,
    i3: Any,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
) -> Any:
    """The sum over some axes of a product of three, each with new axes first: what `bilinear` becomes in core ATen."""
    factors = [
        jnp.expand_dims(x, tuple(axes)) for x, axes in ((i1, expand1), (i2, expand2), (i3, expand3))
    ]
    return jnp.sum(factors[0] * factors[1] * factors[2], axis=tuple(sumdim))


def _attention_parts(
    call: Call,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Any, Any]:
    r"""$\operatorname{softmax}(s\,QK^\top+M)V$ with $s=1/\sqrt d$ unless given; the mask adds, or says what is seen.

    The second value is the logarithm of the sums that the softmax divides by.
    """
    if dropout_p:
        raise call.refuse(
            "Dropout in training mode is random.",
            f"dropout_p = {dropout_p}",
            "export module.eval()",
        )
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key = jnp.repeat(key, times, -3)
        value = jnp.repeat(value, times, -3)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = jnp.matmul(query * scale, jnp.swapaxes(key, -1, -2))
    if is_causal:
        attn_mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    if attn_mask is not None and attn_mask.dtype == bool:
        scores = jnp.where(attn_mask, scores, -jnp.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    # a query that sees nothing is answered with zero
    blind = jnp.all(jnp.isneginf(scores), axis=-1, keepdims=True)
    weights = jax.nn.softmax(jnp.where(blind, 0.0, scores), axis=-1)
    return jnp.matmul(jnp.where(blind, 0.0, weights), value), jax.nn.logsumexp(scores, axis=-1)


def _attention(call: Call, query: Any, key: Any, value: Any, **others: Any) -> Any:
    return _attention_parts(call, query, key, value, **others)[0]


RULES: RuleTable = {
    "linear": _linear,
    "mm": lambda call, x, mat2: jnp.matmul(x, mat2),
    "bmm": lambda call, x, mat2: jnp.matmul(x, mat2),
    "matmul": lambda call, x, other: jnp.matmul(x, other),
    "mv": lambda call, x, vec: jnp.matmul(x, vec),
    "dot": lambda call, x, tensor: jnp.matmul(x, tensor),
    "outer": lambda call, x, vec2: jnp.outer(x, vec2),
    "addmm": _addmm,
    "baddbmm": _baddbmm,
    "addmv": _addmv,
    "einsum": _einsum,
    "bilinear": _bilinear,
    "_trilinear": _trilinear,
    "scaled_dot_product_attention": _attention,
    "_scaled_dot_product_flash_attention_for_cpu": _attention_parts,
}
