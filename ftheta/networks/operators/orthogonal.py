r"""Matrices of spectral norm 1 as functions of any matrix: normalised, or orthogonalised by Björck or by Cayley.

*Semi-orthogonal* means $Q^\top Q=I$, or $QQ^\top=I$ where $Q$ has fewer rows than columns: all singular values are 1.
All three maps are differentiable and hold up to rounding and to the number of iterations; what they reached is bounded
afterwards by `ftheta.certify.unit_lipschitz`.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

SQUARINGS = 10
BJORCK_STEPS = 30


def estimate_norm(W: Any, squarings: int = SQUARINGS) -> Any:
    r"""$\|Wv\|\le\|W\|_2$ for the longest column $v$ of $(W^\top W)^{2^k}$, scaled to $\|v\|=1$, after $k$ `squarings`.

    That is power iteration of $2^k$ steps from the best of all unit vectors. (From one fixed start, training finds
    matrices whose top direction is hidden from it.) As a function of $W$ it has the slope $uv^\top$ of $\|W\|_2$: no
    derivative goes through the iteration (`miyato2018`).
    """
    fixed = jax.lax.stop_gradient(W)
    turned = W.shape[0] < W.shape[1]
    fixed = fixed.T if turned else fixed
    square = lambda _, G: _scale_down(G @ G)
    G = jax.lax.fori_loop(0, squarings, square, _scale_down(fixed.T @ fixed))
    v = _unit(G[:, jnp.argmax(jnp.sum(G * G, axis=0))])
    u = _unit(fixed @ v)
    return v @ (W @ u) if turned else u @ (W @ v)


def normalise_spectrally(W: Any) -> Any:
    r"""$W/\|W\|_2$, with the norm by `estimate_norm`."""
    return W / jnp.maximum(estimate_norm(W), jnp.finfo(W.dtype).tiny)


def orthogonalise_by_bjorck(W: Any, steps: int = BJORCK_STEPS) -> Any:
    r"""$A\leftarrow A(\frac32I-\frac12A^\top A)$ from $A=W/\|W\|_2$ (`bjorck1971`, `anil2019`).

    Every singular value goes by $s\leftarrow\frac32s-\frac12s^3$ to 1 from below: $A$ is the nearest semi-orthogonal
    matrix in the limit, and of norm at most 1 on the way.
    """
    A = normalise_spectrally(W)
    turned = A.shape[0] < A.shape[1]
    A = A.T if turned else A
    for _ in range(steps):
        A = 1.5 * A - 0.5 * A @ (A.T @ A)
    return A.T if turned else A


def orthogonalise_by_cayley(W: Any) -> Any:
    r"""With $W=\binom UV$, $U$ square, and $A=U-U^\top+V^\top V$: $Q=\binom{(I+A)^{-1}(I-A)}{-2V(I+A)^{-1}}$
    (`trockman2021`); the transpose of that of $W^\top$ where $W$ has fewer rows than columns.

    $I+A$ can be inverted, as $A+A^\top=2V^\top V\succeq0$.
    """
    if W.shape[0] < W.shape[1]:
        return orthogonalise_by_cayley(W.T).T
    n = W.shape[1]
    U, V = W[:n], W[n:]
    identity = jnp.eye(n, dtype=W.dtype)
    A = U - U.T + V.T @ V
    inverse = jnp.linalg.solve(identity + A, identity)
    return jnp.concatenate([inverse @ (identity - A), -2 * V @ inverse])


CONSTRAINTS: dict[str, Callable[[Any], Any]] = {
    "spectral": normalise_spectrally,
    "bjorck": orthogonalise_by_bjorck,
    "cayley": orthogonalise_by_cayley,
}
"""Maps from any matrix to one of norm 1, by name."""


def _scale_down(G: Any) -> Any:
    """Largest entry 1: powers of it neither overflow nor vanish."""
    return G / jnp.maximum(jnp.max(jnp.abs(G)), jnp.finfo(G.dtype).tiny)


def _unit(v: Any) -> Any:
    return v / jnp.maximum(jnp.linalg.norm(v), jnp.finfo(v.dtype).tiny)
