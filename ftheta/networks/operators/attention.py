r"""Attention: averages of values with weights that are a softmax of products of queries and keys.

A layer of self-attention is $y_i=\sum_{hj}A^h_{ij}V_hx_j$ with
$A^h_{ij}\propto e^{\langle Q_hx_i,K_hx_j\rangle/\sqrt{d_k}}$.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.compiling import call_compiled


def attention_weights(q: Any, k: Any, mask: Any = None) -> Any:
    r"""$\operatorname{softmax}(qk^\top/\sqrt{d_k})$ over the last two axes; a query sees keys in `mask`."""
    scores = q @ jnp.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf)
    return jax.nn.softmax(scores, axis=-1)


def attend(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    r"""$\operatorname{softmax}(qk^\top/\sqrt{d_k})\,v$ for queries, keys and values (…, tokens, features)."""
    return attention_weights(q, k, mask) @ v


class Projections(NamedTuple):
    r"""One layer: queries $Q$ and keys $K$ of shape (heads, $d_k$, $d$), values $V$ of shape (heads, outputs, $d$)."""

    Q: Any
    K: Any
    V: Any

    @classmethod
    def normal(
        cls, rng: np.random.Generator, heads: int, dimension: int, keys: int
    ) -> "Projections":
        """Entries of variance 1/d; the heads are summed, so that each counts 1/√heads."""
        draw = lambda rows: rng.normal(size=(heads, rows, dimension)) / np.sqrt(dimension)
        return cls(draw(keys), draw(keys), draw(dimension) / np.sqrt(heads))


def _project(layer: Projections, x: Any) -> tuple[Any, Any, Any]:
    q, k, v = (x @ jnp.swapaxes(M, -1, -2) for M in layer)
    return q, k, v


def self_attention(layer: Projections, x: Any) -> Any:
    """The heads on tokens (n, d), summed."""
    return attend(*_project(layer, x)).sum(0)


def linear_attention(layer: Projections, x: Any) -> Any:
    r"""The same without the softmax: the weights are $\langle Qx_i,Kx_j\rangle/\sqrt{d_k}$ and sum to anything."""
    q, k, v = _project(layer, x)
    return (q @ jnp.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5 @ v).sum(0)


def causal_attention(layer: Projections, x: Any) -> Any:
    """No token looks at a later one."""
    return attend(*_project(layer, x), np.tri(len(x), dtype=bool)).sum(0)


KINDS = {"softmax": self_attention, "causal": causal_attention, "linear": linear_attention}


def jacobian(layer: Projections, x: np.ndarray) -> np.ndarray:
    r"""$\partial y_i/\partial x_k$ of `self_attention` in closed form, of shape (n, outputs, n, d).

    With $M=Q^\top K/\sqrt{d_k}$ and $m_i=\sum_jA_{ij}x_j$, a head contributes
    $$A_{ik}V+\delta_{ik}\,V\sum_jA_{ij}(x_j-m_i)x_j^\top M^\top+A_{ik}V(x_k-m_i)x_i^\top M.$$
    """
    n = len(x)
    total = np.zeros((n, np.shape(layer.V)[1], *x.shape))
    for Q, K, V in zip(*map(np.asarray, layer)):
        M = Q.T @ K / np.sqrt(len(Q))
        scores = x @ M @ x.T
        A = np.exp(scores - scores.max(1, keepdims=True))
        A /= A.sum(1, keepdims=True)
        apart = x[None] - (A @ x)[:, None]  # x_j − m_i
        spread = np.einsum("ij,ija,jb->iab", A, apart, x)
        total += np.einsum("ik,ab->iakb", A, V)
        total[np.arange(n), :, np.arange(n)] += V @ spread @ M.T
        total += np.einsum("ik,oa,ika,ib->iokb", A, V, apart, x @ M, optimize=True)
    return total


def cyclic_convolution_as_attention(kernel: np.ndarray, x: np.ndarray) -> np.ndarray:
    r"""$y_i=\sum_\tau\psi_\tau x_{i+\tau}$ by attention that knows positions alone: head $\tau$ looks at $i+\tau$.

    `kernel` has shape (offsets, outputs, d).
    """
    n = len(x)
    ahead = (np.arange(n)[None] - np.arange(n)[:, None]) % n
    seen = np.stack([ahead == offset % n for offset in range(len(kernel))])
    same = np.zeros((len(kernel), n, 1))  # all scores are 0: the mask decides
    return np.asarray(call_compiled(attend, same, same, x @ kernel.transpose(0, 2, 1), seen)).sum(0)
