r"""Attention: averages of values with weights that are a softmax of products of queries and keys."""

from typing import Any

import jax
import jax.numpy as jnp


def attention_weights(q: Any, k: Any, mask: Any = None) -> Any:
    r"""$\operatorname{softmax}(qk^\top/\sqrt{d_k})$ over the last two axes; a query sees keys in `mask`."""
    scores = q @ jnp.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf)
    return jax.nn.softmax(scores, axis=-1)


def attend(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    r"""$\operatorname{softmax}(qk^\top/\sqrt{d_k})\,v$ for queries, keys and values (…, tokens, features)."""
    return attention_weights(q, k, mask) @ v
