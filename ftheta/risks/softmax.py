r"""Calculus of $p=\mathrm{softmax}(z)$ and $\mathrm{lse}(z)=\ln\sum_je^{z_j}$: identities for all $z$, stable numbers.

What holds for all $z$ is a polynomial identity in the weights $q_j=e^{z_j}>0$ (or in $p$), and those are checked on the
coefficients. The Jacobian $J=\mathrm{diag}(p)-pp^\top$ has
$v^\top Jv=\sum_{i<j}p_ip_j(v_i-v_j)^2\ge0$, zero only for constant $v$, and
$\|J\|_2\le\|J\|_\infty=\max_i2p_i(1-p_i)=\frac12-\min_i\frac12(1-2p_i)^2\le\frac12$.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import Ordering, fmpz_mpoly_ctx, fmpz_poly  # type: ignore[import-untyped]

from ftheta.shapes import Float

MOST_CLASSES = 6  # for polynomials with two variables per class


def softmax(z: Any) -> Any:
    r"""$p_k=e^{z_k}/\sum_je^{z_j}$ along the last axis, shifted by the largest entry: nothing overflows."""
    return jax.nn.softmax(jnp.asarray(z), axis=-1)


def log_sum_exp(z: Any) -> Any:
    r"""$\max z+\ln\sum_je^{z_j-\max z}$ along the last axis."""
    return jax.nn.logsumexp(jnp.asarray(z), axis=-1)


def jacobian(p: Float[np.ndarray, "*b k"]) -> Float[np.ndarray, "*b k k"]:
    r"""$\mathrm{diag}(p)-pp^\top$, for each row of probabilities."""
    return p[..., :, None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :]


def jacobian_norm(p: Float[np.ndarray, "*b k"]) -> Float[np.ndarray, "*b"]:
    """Its largest eigenvalue."""
    return np.linalg.eigvalsh(jacobian(p))[..., -1]


# ---- identities for all z -------------------------------------------------------------------------------------------


def variance_gap(classes: int) -> int:
    r"""Coefficients by which $\sum q\sum qv^2-(\sum qv)^2$ differs from $\sum_{i<j}q_iq_j(v_i-v_j)^2$: none."""
    names = [f"{letter}{i}" for letter in "qv" for i in range(classes)]
    variables = fmpz_mpoly_ctx.get(names, Ordering.lex).gens()
    q = variables[:classes]
    v = variables[classes:]
    zero = q[0] - q[0]
    total = lambda terms: sum(terms, zero)
    left = (
        total(q) * total(a * b * b for a, b in zip(q, v)) - total(a * b for a, b in zip(q, v)) ** 2
    )
    pairs = [(i, j) for i in range(classes) for j in range(i)]
    return len(left - total(q[i] * q[j] * (v[i] - v[j]) ** 2 for i, j in pairs))


def half_gap() -> int:
    r"""Coefficients by which $\frac12-2p(1-p)$, twice, differs from the square $(1-2p)^2$: none."""
    p = fmpz_poly([0, 1])
    return len([c for c in (1 - 4 * p * (1 - p) - (1 - 2 * p) ** 2).coeffs() if c])
