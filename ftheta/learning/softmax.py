r"""Calculus of $p=\mathrm{softmax}(z)$ and $\mathrm{lse}(z)=\ln\sum_je^{z_j}$: exact identities and stable numbers.

What holds for all $z$ is a polynomial identity in the weights $q_j=e^{z_j}>0$ (or in $p$), and those are checked on the
coefficients. The Jacobian $J=\mathrm{diag}(p)-pp^\top$ has
$v^\top Jv=\sum_{i<j}p_ip_j(v_i-v_j)^2\ge0$, zero only for constant $v$, and
$\|J\|_2\le\|J\|_\infty=\max_i2p_i(1-p_i)=\frac12-\min_i\frac12(1-2p_i)^2\le\frac12$.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import Ordering, arb, ctx, fmpz_mpoly_ctx, fmpz_poly  # type: ignore[import-untyped]

from ftheta.certify.balls import known
from ftheta.logic import Enclosure

MOST_CLASSES = 6  # for polynomials with two variables a class
BITS = 256


def softmax(z: Any) -> Any:
    r"""$p_k=e^{z_k}/\sum_je^{z_j}$ along the last axis, shifted by the largest entry: nothing overflows."""
    return jax.nn.softmax(jnp.asarray(z), axis=-1)


def log_sum_exp(z: Any) -> Any:
    r"""$\max z+\ln\sum_je^{z_j-\max z}$ along the last axis."""
    return jax.nn.logsumexp(jnp.asarray(z), axis=-1)


def jacobian(p: np.ndarray) -> np.ndarray:
    r"""$\mathrm{diag}(p)-pp^\top$, for each row of probabilities."""
    return p[..., :, None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :]


def jacobian_norm(p: np.ndarray) -> np.ndarray:
    """Its largest eigenvalue."""
    return np.linalg.eigvalsh(jacobian(p))[..., -1]


# ---- identities for all z -------------------------------------------------------------------------------------------


def variance_gap(classes: int) -> int:
    r"""Coefficients by which $\sum q\sum qv^2-(\sum qv)^2$ differs from $\sum_{i<j}q_iq_j(v_i-v_j)^2$: none."""
    names = [f"{letter}{i}" for letter in "qv" for i in range(classes)]
    variables = fmpz_mpoly_ctx.get(names, Ordering.lex).gens()
    q, v = variables[:classes], variables[classes:]
    zero = q[0] - q[0]
    total = lambda terms: sum(terms, zero)
    left = total(q) * total(a * b * b for a, b in zip(q, v)) - total(a * b for a, b in zip(q, v)) ** 2
    pairs = [(i, j) for i in range(classes) for j in range(i)]
    return len(left - total(q[i] * q[j] * (v[i] - v[j]) ** 2 for i, j in pairs))


def half_gap() -> int:
    r"""Coefficients by which $\frac12-2p(1-p)$, twice, differs from the square $(1-2p)^2$: none."""
    p = fmpz_poly([0, 1])
    return len([c for c in (1 - 4 * p * (1 - p) - (1 - 2 * p) ** 2).coeffs() if c])


# ---- at given logits ------------------------------------------------------------------------------------------------


def balls(z: Sequence[float]) -> tuple[list[Any], Any]:
    r"""$p$ and $\mathrm{lse}(z)$ in balls."""
    weights = [arb(v).exp() for v in z]
    total = sum(weights, arb(0))
    return [w / total for w in weights], total.log()


def stability(logits: np.ndarray) -> tuple[Enclosure, Enclosure, Enclosure]:
    r"""The largest error of the computed $\mathrm{lse}$ (relative to $\max(1,|\cdot|)$) and of the computed $p$ over
    the rows, and the least probability, as a logarithm: all against balls."""
    errors, apart, least = [], [], []
    with jax.enable_x64(True), ctx.workprec(BITS):
        computed = np.asarray(softmax(logits)).tolist(), np.asarray(log_sum_exp(logits)).tolist()
        for row, told, value in zip(logits.tolist(), *computed):
            p, total = balls(row)
            size = arb.max(abs(total), arb(1))
            errors.append(known(abs(arb(value) - total) / size).hi)
            apart += [known(abs(arb(a) - b)).hi for a, b in zip(told, p)]
            least.append(known(min((arb(v) - total for v in row), key=float)).lo)
    return Enclosure.exact(max(errors)), Enclosure.exact(max(apart)), Enclosure.exact(min(least))


def shift_error(logits: np.ndarray, shift: float) -> float:
    r"""$\max|\mathrm{softmax}(z+c)-\mathrm{softmax}(z)|$ over the rows, beyond the rounding of the shifted logits."""
    with jax.enable_x64(True):
        moved = logits + shift
        rounding = np.abs((moved - shift) - logits).max(-1) + np.finfo(float).eps * np.abs(moved).max(-1)
        gap = np.abs(np.asarray(softmax(moved)) - np.asarray(softmax(logits))).max(-1)
    return float(np.maximum(gap - rounding, 0).max())


@jax.jit
def _derivatives(z: Any) -> tuple[Any, ...]:
    r"""$p$, its Jacobian by differences of step $10^{-6}$, and by JAX $\nabla\mathrm{lse}$, $\nabla_z\mathrm{CE}$."""
    h = 1e-6
    K = z.shape[-1]
    centred = z - z.max(-1, keepdims=True)  # p stays, and a step does not vanish beside a large logit
    ends = [softmax(centred[:, None, :] + s * h * jnp.eye(K)) for s in (1, -1)]
    entropy = lambda row, k: log_sum_exp(row) - row[k]
    each = jax.vmap(jax.vmap(jax.grad(entropy), (None, 0)), (0, None))(z, jnp.arange(K))
    return softmax(z), jnp.swapaxes(ends[0] - ends[1], 1, 2) / (2 * h), jax.vmap(jax.grad(log_sum_exp))(z), each


def derivative_errors(logits: np.ndarray) -> dict[str, float]:
    r"""Largest differences over the rows between derivatives and the formulas $\mathrm{diag}(p)-pp^\top$,
    $\nabla\mathrm{lse}=p$ and $\nabla_z\mathrm{CE}(z,k)=p-e_k$."""
    with jax.enable_x64(True):
        p, numerical, slopes, each = (np.asarray(v) for v in _derivatives(jnp.asarray(logits, float)))
    return {
        "Jacobian": float(np.abs(numerical - jacobian(p)).max()),
        "gradient of lse": float(np.abs(slopes - p).max()),
        "gradient of CE": float(np.abs(each - (p[:, None, :] - np.eye(p.shape[-1]))).max()),
    }


def simplex_grid(size: int) -> tuple[np.ndarray, np.ndarray]:
    """A square grid over the triangle with corners (0, 0), (1, 0), (½, √3/2): barycentric coordinates, and whether a
    point lies inside. Rows go from the bottom."""
    height = np.sqrt(3) / 2
    x, y = np.meshgrid((np.arange(size) + 0.5) / size, (np.arange(size) + 0.5) / size * height)
    third = y / height
    second = x - third / 2
    p = np.stack([1 - second - third, second, third], axis=-1)
    return p, np.asarray((p >= 0).all(-1))


def simplex_points(p: np.ndarray) -> np.ndarray:
    """The place of probabilities of three classes in that triangle."""
    return p[:, 1:2] * np.array([1.0, 0.0]) + p[:, 2:3] * np.array([0.5, np.sqrt(3) / 2])
