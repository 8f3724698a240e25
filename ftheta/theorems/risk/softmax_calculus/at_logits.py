"""The softmax at given logits: its rounding errors against ball arithmetic, and its derivatives against formulas."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]

from ftheta.certify.balls import known
from ftheta.logic import Enclosure
from ftheta.risks.softmax import jacobian, log_sum_exp, softmax

BITS = 256


def balls(z: Sequence[float]) -> tuple[list[Any], Any]:
    r"""$p$ and $\mathrm{lse}(z)$ in balls."""
    weights = [arb(v).exp() for v in z]
    total = sum(weights, arb(0))
    return [w / total for w in weights], total.log()


def stability(logits: np.ndarray) -> tuple[Enclosure, Enclosure, Enclosure]:
    r"""The largest error of the computed $\mathrm{lse}$ (relative to $\max(1,|\cdot|)$) and of the computed $p$ over
    the rows, and the least probability, as a logarithm: all against balls."""
    errors = []
    apart = []
    least = []
    with jax.enable_x64(True), ctx.workprec(BITS):
        computed = np.asarray(softmax(logits)).tolist(), np.asarray(log_sum_exp(logits)).tolist()
        for row, computed_p, value in zip(logits.tolist(), *computed):
            p, total = balls(row)
            size = arb.max(abs(total), arb(1))
            errors.append(known(abs(arb(value) - total) / size).hi)
            apart += [known(abs(arb(a) - b)).hi for a, b in zip(computed_p, p)]
            least.append(known(min((arb(v) - total for v in row), key=float)).lo)
    return Enclosure.exact(max(errors)), Enclosure.exact(max(apart)), Enclosure.exact(min(least))


def shift_error(logits: np.ndarray, shift: float) -> float:
    r"""$\max|\mathrm{softmax}(z+c)-\mathrm{softmax}(z)|$ over the rows, beyond the rounding of the shifted logits."""
    with jax.enable_x64(True):
        moved = logits + shift
        rounding = np.abs((moved - shift) - logits).max(-1) + np.finfo(float).eps * np.abs(
            moved
        ).max(-1)
        gap = np.abs(np.asarray(softmax(moved)) - np.asarray(softmax(logits))).max(-1)
    return float(np.maximum(gap - rounding, 0).max())


@jax.jit
def _derivatives(z: Any) -> tuple[Any, ...]:
    r"""$p$, its Jacobian by differences of step $10^{-6}$, and by JAX $\nabla\mathrm{lse}$, $\nabla_z\mathrm{CE}$."""
    h = 1e-6
    K = z.shape[-1]
    # p stays, and a step does not vanish beside a large logit
    centred = z - z.max(-1, keepdims=True)
    ends = [softmax(centred[:, None, :] + s * h * jnp.eye(K)) for s in (1, -1)]
    entropy = lambda row, k: log_sum_exp(row) - row[k]
    each = jax.vmap(jax.vmap(jax.grad(entropy), (None, 0)), (0, None))(z, jnp.arange(K))
    return (
        softmax(z),
        jnp.swapaxes(ends[0] - ends[1], 1, 2) / (2 * h),
        jax.vmap(jax.grad(log_sum_exp))(z),
        each,
    )


def derivative_errors(logits: np.ndarray) -> dict[str, float]:
    r"""Largest differences over the rows between derivatives and the formulas $\mathrm{diag}(p)-pp^\top$,
    $\nabla\mathrm{lse}=p$ and $\nabla_z\mathrm{CE}(z,k)=p-e_k$."""
    with jax.enable_x64(True):
        p, numerical, slopes, each = (
            np.asarray(v) for v in _derivatives(jnp.asarray(logits, float))
        )
    return {
        "Jacobian": float(np.abs(numerical - jacobian(p)).max()),
        "gradient of lse": float(np.abs(slopes - p).max()),
        "gradient of CE": float(np.abs(each - (p[:, None, :] - np.eye(p.shape[-1]))).max()),
    }
