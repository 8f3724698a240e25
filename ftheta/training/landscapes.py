r"""Losses as functions of one vector: of a whole network, and of its last layer alone, where the loss is convex."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ftheta.graph.compiling import call_compiled
from ftheta.networks.description import Description
from ftheta.shapes import Float, Real

from .losses import loss_named
from .study import natural_loss


@dataclass(frozen=True, eq=False)
class Landscape:
    r"""$\theta\mapsto\frac1n\sum_i\ell(f_\theta(x_i),y_i)$ as a function of one vector, its value at one row, and the
    vector of the network's own parameters. `loss` is the name of $\ell$."""

    loss: str
    risk: Callable[[Any], Any]
    row: Callable[[Any, Any], Any]
    start: Float[np.ndarray, "p"]
    rows: int


def landscape(
    apply: Callable[[Any, Any], Any],
    params: Any,
    x: Real[np.ndarray, "n *shape"],
    y: Real[np.ndarray, "n *k"],
) -> Landscape | None:
    """The loss of a network on these rows; none where the targets fit no loss."""
    if not len(x):
        return None
    shape = jax.eval_shape(apply, params, x[0]).shape
    name = natural_loss(y, int(np.prod(shape)))
    if name is None:
        return None
    chosen = loss_named(name)
    (start, rebuild) = ravel_pytree(params)
    targets = chosen.targets(y, shape)

    def row(theta: Any, i: Any) -> Any:
        return chosen.of(apply(rebuild(theta), jnp.asarray(x)[i]), jnp.asarray(targets)[i])

    def risk(theta: Any) -> Any:
        return jnp.mean(jax.vmap(row, (None, 0))(theta, jnp.arange(len(x))))

    return Landscape(name, risk, row, np.asarray(start, np.float64), len(x))


@dataclass(frozen=True, eq=False)
class LastLayer:
    r"""$F(W)=\frac1{2n}\|\Phi W-Y\|_F^2+\frac\gamma2\|W\|_F^2$: the features $\Phi$ that the layers before make (with a
    column of ones), the targets $Y$, the ridge $\gamma$. Convex whatever the network, with Hessian
    $H=\frac1n\Phi^\top\Phi+\gamma I$ for every column of $W$."""

    features: Float[np.ndarray, "n p"]
    targets: Float[np.ndarray, "n k"]
    ridge: float
    start: Float[np.ndarray, "p k"]

    @classmethod
    def of(
        cls,
        layers: Description,
        x: Real[np.ndarray, "n *shape"],
        y: Real[np.ndarray, "n *k"],
        ridge: float = 0.0,
    ) -> "LastLayer":
        """Of a network on these rows; classes become rows of zeros and ones."""
        before = layers.layers[:-1]
        last = layers.layers[-1]
        body = Description(before) if before else None
        features = x if body is None else np.asarray(body.apply(body.params, x))
        wide = len(last.bias)
        targets = y if y.shape[1] == wide else np.eye(wide)[y[:, 0].astype(int)]
        start = np.concatenate([last.weight.T, last.bias[None]])
        return cls(np.concatenate([features, np.ones((len(x), 1))], axis=1), targets, ridge, start)

    @property
    def hessian(self) -> Float[np.ndarray, "p p"]:
        r"""$\frac1n\Phi^\top\Phi+\gamma I$."""
        return self.features.T @ self.features / len(self.features) + self.ridge * np.eye(
            self.features.shape[1]
        )

    @property
    def optimum(self) -> Float[np.ndarray, "p k"]:
        """The minimiser nearest to the start."""
        residual = (
            self.features.T @ (self.targets - self.features @ self.start) / len(self.features)
        )
        return (
            self.start
            + np.linalg.lstsq(self.hessian, residual - self.ridge * self.start, rcond=1e-12)[0]
        )

    def value(self, W: Any) -> Any:
        """F(W)."""
        misfit = jnp.asarray(self.features) @ W - self.targets
        return jnp.sum(misfit**2) / (2 * len(self.features)) + self.ridge * jnp.sum(W**2) / 2

    def row(self, W: Any, i: Any) -> Any:
        """The part of row i; its mean over the rows is `value`."""
        misfit = jnp.asarray(self.features)[i] @ W - jnp.asarray(self.targets)[i]
        return jnp.sum(misfit**2) / 2 + self.ridge * jnp.sum(W**2) / 2


def curvature_along_gradient(
    objective: Callable[[Any], Any], start: Float[np.ndarray, "*shape"]
) -> float:
    r"""$g^\top\nabla^2F\,g/\|g\|^2$ in absolute value, at the start: a first guess at the smoothness."""
    gradient = jax.grad(objective)

    def bent(theta: Any) -> Any:
        g, along = jax.jvp(gradient, (theta,), (gradient(theta),))
        return jnp.abs(jnp.vdot(g, along)) / jnp.maximum(jnp.vdot(g, g), 1e-300)

    return float(call_compiled(bent, np.asarray(start, np.float64)))
