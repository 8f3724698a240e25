r"""Lazy training: the model $f_\alpha=\alpha(f_\theta-f_{\theta_0})$ fits with ever smaller movement as $\alpha$ grows.

Descent on $\frac1{2\alpha^2}\|f_\alpha-y\|^2$ moves the parameters by $O(1/\alpha)$; the outputs stay as close to those
of the linearised model, $u_{k+1}=u_k+\eta K(y-u_k)$ with $K$ the tangent kernel at the start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.networks.shared_program import program_of
from ftheta.shapes import Float, Real


@dataclass(frozen=True, eq=False)
class Lazy:
    r"""At each scale: `moved` is $\|\theta_k-\theta_0\|/\|\theta_0\|$, `apart` the distance to the linear model."""

    scales: Float[np.ndarray, "s"]
    moved: Float[np.ndarray, "s"]
    apart: Float[np.ndarray, "s"]


def lazy_training(
    net: Any,
    X: Real[np.ndarray, "n *shape"],
    y: Float[np.ndarray, "n"],
    scales: Sequence[float] = (4.0, 16.0, 64.0, 256.0, 1024.0),
    steps: int = 100,
) -> Lazy:
    r"""Train a network (its `apply` and `params`, one output) for so many steps of size $1/\lambda_{\max}(K)$."""
    apply = program_of(net)
    start = jax.tree.map(jnp.asarray, net.params)
    features = jax.vmap(jax.grad(lambda p, x: jnp.sum(apply(p, x))), (None, 0))(start, X)
    J = np.concatenate(
        [np.asarray(leaf).reshape(len(X), -1) for leaf in jax.tree.leaves(features)], 1
    )
    values, vectors = np.linalg.eigh(J @ J.T)
    rate = 1 / values[-1]
    linear = vectors @ ((1 - (1 - rate * values) ** steps) * (vectors.T @ y))
    size = np.sqrt(sum(float(jnp.sum(leaf**2)) for leaf in jax.tree.leaves(start)))
    ends = [train(apply, steps, start, X, y, alpha, rate) for alpha in scales]
    apart = [
        np.linalg.norm(np.asarray(out) - linear) / np.linalg.norm(linear) for out, _, _ in ends
    ]
    return Lazy(
        np.array(scales), np.array([float(far) / size for _, far, _ in ends]), np.array(apart)
    )


@partial(jax.jit, static_argnums=(0, 1))
def train(
    apply: Any, steps: int, start: Any, X: Any, y: Any, alpha: Any, rate: Any
) -> tuple[Any, Any, Any]:
    """The outputs at the end, how far the parameters have moved, and where they are."""
    raw = lambda p: jax.vmap(lambda x: jnp.sum(apply(p, x)))(X)
    origin = raw(start)
    outputs = lambda p: alpha * (raw(p) - origin)
    loss = lambda p: jnp.sum((outputs(p) - y) ** 2) / (2 * alpha**2)
    step = lambda p, _: (jax.tree.map(lambda w, g: w - rate * g, p, jax.grad(loss)(p)), None)
    end = jax.lax.scan(step, start, length=steps)[0]
    squares = [jnp.sum((a - b) ** 2) for a, b in zip(jax.tree.leaves(end), jax.tree.leaves(start))]
    return outputs(end), jnp.sqrt(sum(squares, jnp.zeros(()))), end
