r"""Tangent kernels of actual networks, $\hat\Theta(x,x')=\langle\partial_\theta f(x),\partial_\theta f(x')\rangle$."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import mean
from ftheta.flows.runge_kutta import runge_kutta_step
from ftheta.logic import Enclosure, SubjectError
from ftheta.networks import Description

from .relu import WideLimit, kernel_flow, rescale

Apply = Callable[[Any, Any], Any]

MEMORY = 10_000_000  # numbers held at once: of large networks fewer are drawn, and on fewer inputs
OUTPUTS = 16  # of a network with many outputs, the first so many enter its kernel


def fan(angle: float, dimension: int, points: int = 9) -> np.ndarray:
    """Unit inputs in the plane of the first two coordinates: at 0, at the angle, then evenly from 0 to 180 degrees."""
    angles = np.array([0.0, angle, *np.linspace(0, np.pi, points)])
    X = np.zeros((len(angles), dimension))
    X[:, 0], X[:, 1] = np.cos(angles), np.sin(angles)
    return X


def _on_device(params: Any) -> Any:
    # a NumPy array that was traced before in single precision would be handed to compiled code as it was then
    return jax.tree.map(jnp.asarray, params)


@partial(jax.jit, static_argnums=0)
def _contraction(apply: Apply, params: Any, X: Any) -> jax.Array:
    def of_output(k):
        rows = jax.vmap(jax.grad(lambda p, x: jnp.ravel(apply(p, x))[k]), (None, 0))(params, X)
        flat = [leaf.reshape(len(X), -1) for leaf in jax.tree.leaves(rows)]
        return sum((J @ J.T for J in flat), jnp.zeros((len(X), len(X))))

    outputs = min(OUTPUTS, max(1, int(np.prod(jax.eval_shape(apply, params, X[0]).shape))))
    return jax.lax.map(of_output, jnp.arange(outputs)).mean(0)


def empirical_ntk(apply: Apply, params: Any, X: np.ndarray) -> np.ndarray:
    r"""$\hat\Theta_{ij}=\langle\partial_\theta f(x_i),\partial_\theta f(x_j)\rangle$, averaged over the outputs.

    `apply(params, x)` is the network for one input, `X` has one input per row. Jacobians are contracted: memory is rows
    times parameters. The compiled code is kept for the next network with the same `apply` and shapes.
    """
    return np.asarray(_contraction(apply, _on_device(params), X))


def train_linear_model(J: np.ndarray, y: np.ndarray, t: float) -> np.ndarray:
    r"""The outputs $J\theta_t$ of the linear model trained by $\dot\theta=J^\top(y-J\theta)$ from 0.

    Integrated in $\theta$ by Runge–Kutta steps of a hundredth of the fastest time scale.
    """
    steps = int(min(20_000, max(100, 100 * t * float(np.linalg.norm(J, 2)) ** 2)))
    force = lambda J, w: J.T @ (y - J @ w)
    theta = np.zeros(J.shape[1])
    for _ in range(steps):
        theta = runge_kutta_step(force, (J, J, J), theta, t / steps)
    return J @ theta


def tangent_features(apply: Apply, params: Any, X: np.ndarray) -> np.ndarray:
    r"""The rows $\partial_\theta f(x_i)$ of a network with one output, flattened."""
    rows = jax.vmap(jax.grad(lambda p, x: jnp.sum(apply(p, x))), (None, 0))(params, X)
    return np.concatenate(
        [np.asarray(leaf).reshape(len(X), -1) for leaf in jax.tree.leaves(rows)], axis=1
    )


@partial(jax.jit, static_argnums=(0, 4))
def _descend(apply, params, X, y, steps, rate):
    loss = lambda p: jnp.sum((jax.vmap(lambda x: jnp.sum(apply(p, x)))(X) - y) ** 2) / 2
    step = lambda p, _: (jax.tree.map(lambda w, g: w - rate * g, p, jax.grad(loss)(p)), None)
    return jax.lax.scan(step, params, length=steps)[0]


def kernel_drift(
    apply: Apply, params: Any, X: np.ndarray, y: np.ndarray, steps: int = 100
) -> float:
    r"""$\|\hat\Theta_k-\hat\Theta_0\|/\|\hat\Theta_0\|$ after $k$ `steps` of descent on $\frac12\sum(f(x_i)-y_i)^2$.

    The step size is half the largest stable one, $1/\lambda_{\max}(\hat\Theta_0)$.
    """
    before = empirical_ntk(apply, params, X)
    trained = _descend(apply, _on_device(params), X, y, steps, 1 / np.linalg.eigvalsh(before)[-1])
    return float(np.linalg.norm(empirical_ntk(apply, trained, X) - before) / np.linalg.norm(before))


def affordable(parameters: int, most: int, least: int = 2) -> int:
    """How many of `most` draws or inputs of a network with so many parameters fit into the memory allowed."""
    return max(least, min(most, MEMORY // max(1, parameters)))


def distance_to_limit(description: Description, X: np.ndarray) -> float:
    r"""$\|\hat\Theta-\Theta\|/\|\Theta\|$ on the rows of `X`; infinite where the limit of the network is not known."""
    plain = rescale(description)
    if plain is None:
        return np.inf
    apply, params, limit = plain
    ntk = limit.kernels(X)[1]
    return float(np.linalg.norm(empirical_ntk(apply, params, X) - ntk) / np.linalg.norm(ntk))


def is_random(member: Callable[[int, np.random.Generator], Any], width: int) -> bool:
    """Whether two draws of a network of this width differ in some weight."""
    one, other = (member(width, np.random.default_rng(seed)).params for seed in (0, 1))
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other))
    return not all(np.array_equal(a, b) for a, b in pairs)


@dataclass(frozen=True, eq=False)
class Kernels:
    r"""Empirical kernels of random networks of several `widths` on a fan of inputs `X`, beside the limit `ntk`.

    `kernels[i]`, of shape `(draws, n, n)`, belongs to `widths[i]`; so do the `drifts[i]` of a few of them in training.
    The first two inputs are the pair asked for; `features` are the tangent features of one of the narrowest networks;
    the widest are `random` if two of them differ.
    """

    X: np.ndarray
    y: np.ndarray
    ntk: np.ndarray
    widths: np.ndarray
    kernels: list[np.ndarray]
    drifts: list[np.ndarray]
    features: np.ndarray
    limit: WideLimit
    random: bool

    @property
    def layers(self) -> int:
        """The number of hidden layers."""
        return len(self.limit.gains)

    def mean(self, i: int, j: int, width: int = -1) -> Enclosure:
        r"""The mean of $\hat\Theta(x_i,x_j)$ over the draws; its one value where the networks are not random."""
        values = self.kernels[width][:, i, j]
        return mean(values) if self.random else Enclosure.equal(float(values[0]))

    def fluctuations(self, groups: int = 8) -> tuple[np.ndarray, np.ndarray]:
        """Root mean square distances to the limit, one for each of several groups of draws at each width."""
        parts = [
            [np.sqrt(np.mean((part - self.ntk) ** 2)) for part in np.array_split(K, groups)]
            for K in self.kernels
        ]
        return np.repeat(self.widths, groups), np.ravel(parts)

    def movements(self) -> tuple[np.ndarray, np.ndarray]:
        """Relative movements of the kernel in training, one for each network that was trained."""
        return np.repeat(self.widths, [len(drift) for drift in self.drifts]), np.concatenate(
            self.drifts
        )

    def train_linearised(self, time: float) -> tuple[float, float]:
        """An output of the linearised network trained for that time and the kernel flow's, where they differ most."""
        trained = train_linear_model(self.features, self.y, time)
        formula = kernel_flow(self.features @ self.features.T, self.y, time)
        worst = int(np.abs(trained - formula).argmax())
        return float(trained[worst]), float(formula[worst])


def measure_kernels(
    member: Callable[[int, np.random.Generator], Any],
    widths: Sequence[int],
    limit: WideLimit,
    angle: float,
    draws: int,
    rng: np.random.Generator,
) -> Kernels:
    """Draw networks and measure their kernels; `member(width, rng)` has `apply`, `params` and `input_shape`."""
    narrow = member(widths[0], rng)
    if not isinstance(limit, WideLimit) or int(np.prod(narrow.input_shape)) < 2:
        raise SubjectError(
            "A family of random networks needs its limit and two inputs or more.",
            got=f"limit {limit}, inputs {narrow.input_shape}",
            remedy="give the Family limit=ftheta.theorems.width.ntk_kernel.relu.WideLimit(gains)",
        )
    random = is_random(member, widths[-1])
    X = fan(angle, int(np.prod(narrow.input_shape)))
    y = np.cos(3 * np.arctan2(X[:, 1], X[:, 0]))
    kernels = []
    drifts = []
    for width in widths:
        size = sum(np.size(leaf) for leaf in jax.tree.leaves(member(width, rng).params))
        nets = [member(width, rng) for _ in range(affordable(size, draws, least=8))]
        kernels.append(np.stack([empirical_ntk(net.apply, net.params, X) for net in nets]))
        few = nets[: affordable(20 * size, 8)]
        drifts.append(np.array([kernel_drift(net.apply, net.params, X, y) for net in few]))
    features = tangent_features(narrow.apply, narrow.params, X)
    return Kernels(
        X, y, limit.kernels(X)[1], np.array(widths, float), kernels, drifts, features, limit, random
    )
