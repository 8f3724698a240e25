r"""The worst loss of any network, found by ascent from several starts:
$\varphi(\theta)=\frac1n\sum_i\max_{\|x'-x_i\|_\infty\le\varepsilon}\ell(f_\theta(x'),y_i)$."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify.bounds import Ball, bounds
from ftheta.subjects import Network
from ftheta.training.losses import LOSSES, Loss

STEPS = 40
FIRST = 0.5  # length of the first step, in units of ε
SHRINK = 0.85  # of every further one
STARTS = 6


@dataclass(frozen=True, eq=False)
class Search:
    """The best inputs found near every row, their losses, and those of all starts: points (starts, rows, …)."""

    points: np.ndarray
    losses: np.ndarray
    all_points: np.ndarray
    all_losses: np.ndarray

    @property
    def value(self) -> float:
        """The mean over the rows of the largest loss found."""
        return float(self.losses.mean())

    def ties(self, epsilon: float) -> int:
        """Rows with a second input, far from the best one, at which the loss is as large within 10⁻⁹."""
        gaps = self.losses - self.all_losses
        far = (
            np.abs(self.all_points - self.points).reshape(*gaps.shape, -1).max(axis=2)
            > 1e-3 * epsilon
        )
        close = gaps <= 1e-9 * np.maximum(1.0, np.abs(self.losses))
        return int(np.count_nonzero((far & close).any(axis=0)))


def loss_of(net: Network) -> Loss:
    """Logistic of one output, cross-entropy of several."""
    return LOSSES["logistic" if int(np.prod(net.output_shape)) == 1 else "cross-entropy"]


def targets_of(net: Network, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The first rows of the data, and their labels as the loss takes them."""
    data = net.data
    if data is None or data.y is None:
        raise ValueError("Labels are a hypothesis.")
    x = np.asarray(data.x[:rows], np.float64).reshape(-1, *net.input_shape)
    return x, loss_of(net).targets(np.asarray(data.y[:rows]), net.output_shape)


def search(
    net: Network,
    params: Any,
    x: np.ndarray,
    y: np.ndarray,
    epsilon: float,
    near: np.ndarray | None = None,
) -> Search:
    """Ascent from the rows, from random corners of their boxes and, if given, from inputs `near` the maximisers."""
    rng = np.random.default_rng(0)
    corners = x + epsilon * rng.choice([-1.0, 1.0], size=(STARTS - 1, *x.shape))
    starts = np.concatenate(
        [x[None], corners] if near is None else [x[None], corners[:1], near[None]]
    )
    points, losses = map(np.asarray, _compile(net)(params, x, y, starts, epsilon))
    best = losses.argmax(axis=0)
    each = np.arange(len(x))
    return Search(points[best, each], losses[best, each], points, losses)


@lru_cache(maxsize=4)
def _compile(net: Network) -> Callable[..., Any]:
    loss = loss_of(net)

    def ascend(params: Any, x: Any, y: Any, start: Any, epsilon: Any) -> tuple[Any, Any]:
        value_and_slope = jax.value_and_grad(lambda point: loss.of(net.apply(params, point), y))

        def move(k: Any, carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            point, best, most = carry
            value, slope = value_and_slope(point)
            better = value > most
            best, most = jnp.where(better, point, best), jnp.where(better, value, most)
            step = point + FIRST * SHRINK**k * epsilon * jnp.sign(slope)
            return jnp.clip(step, x - epsilon, x + epsilon), best, most

        begin = (start, start, jnp.asarray(-inf, start.dtype))
        return jax.lax.fori_loop(0, STEPS, move, begin)[1:]

    of_rows = jax.vmap(ascend, (None, 0, 0, 0, None))
    return jax.jit(jax.vmap(of_rows, (None, None, None, 0, None)))


def gradient_at(net: Network, params: Any, points: np.ndarray, y: np.ndarray) -> Any:
    """The gradient of the mean loss in the parameters, at these inputs."""
    loss = loss_of(net)

    def risk(params: Any) -> Any:
        return jnp.mean(
            jax.vmap(lambda row, target: loss.of(net.apply(params, row), target))(points, y)
        )

    return jax.tree.map(np.asarray, jax.jit(jax.grad(risk))(params))


def certified_margins(net: Network, x: np.ndarray, y: np.ndarray, epsilon: float) -> np.ndarray:
    """Lower bounds, rounded outward, of the margins of every label over each class within ε of the rows."""
    classes = y.shape[1]
    pairs = (np.eye(classes)[:, None] - np.eye(classes)).reshape(-1, classes)
    found = bounds(net, Ball(x, epsilon), rows=pairs).lower.reshape(len(x), classes, classes)
    return found[np.arange(len(x)), y.argmax(axis=1)]


def certified_share(margins: np.ndarray, y: np.ndarray) -> int:
    """How many rows have all margins over other classes positive."""
    return int(np.count_nonzero(np.where(y > 0, inf, margins).min(axis=1) > 0))


def count_unflipped(net: Network, params: Any, found: Search, y: np.ndarray) -> int:
    """How many rows keep their label at the inputs found."""
    outputs = np.asarray(
        jax.jit(jax.vmap(lambda row: jnp.ravel(net.apply(params, row))))(found.points)
    )
    if outputs.shape[1] == 1:
        return int(np.count_nonzero(outputs * y.reshape(outputs.shape) > 0))
    own = np.where(y > 0, outputs, -inf).max(axis=1)
    return int(np.count_nonzero(own > np.where(y > 0, -inf, outputs).max(axis=1)))
