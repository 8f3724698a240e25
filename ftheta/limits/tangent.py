r"""Tangent kernels of actual networks, $\hat\Theta(x,x')=\langle\partial_\theta f(x),\partial_\theta f(x')\rangle$."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb

from ftheta.estimates import mean
from ftheta.logic import (
    Axis,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Identity,
    Rate,
    Series,
    SubjectError,
    Witness,
)
from ftheta.networks import Description

from .orders import observed_order
from .width import WideLimit, kernel_flow, unscaled

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

    `apply(params, x)` is the network for one input, `X` has one input a row. Jacobians are contracted: memory is rows
    times parameters. The compiled code is kept for the next network with the same `apply` and shapes.
    """
    return np.asarray(_contraction(apply, _on_device(params), X))


def linearised_training(J: np.ndarray, y: np.ndarray, t: float) -> np.ndarray:
    r"""The outputs $J\theta_t$ of the linear model trained by $\dot\theta=J^\top(y-J\theta)$ from 0.

    Integrated in $\theta$ by Runge–Kutta steps of a hundredth of the fastest time scale.
    """
    steps = int(min(20_000, max(100, 100 * t * float(np.linalg.norm(J, 2)) ** 2)))
    force, theta, h = (lambda w: J.T @ (y - J @ w)), np.zeros(J.shape[1]), t / steps
    for _ in range(steps):
        k1 = force(theta)
        k2 = force(theta + h / 2 * k1)
        k3 = force(theta + h / 2 * k2)
        theta = theta + h / 6 * (k1 + 2 * k2 + 2 * k3 + force(theta + h * k3))
    return J @ theta


def tangent_features(apply: Apply, params: Any, X: np.ndarray) -> np.ndarray:
    r"""The rows $\partial_\theta f(x_i)$ of a network with one output, flattened."""
    rows = jax.vmap(jax.grad(lambda p, x: jnp.sum(apply(p, x))), (None, 0))(params, X)
    return np.concatenate([np.asarray(leaf).reshape(len(X), -1) for leaf in jax.tree.leaves(rows)], axis=1)


@partial(jax.jit, static_argnums=(0, 4))
def _descend(apply, params, X, y, steps, rate):
    loss = lambda p: jnp.sum((jax.vmap(lambda x: jnp.sum(apply(p, x)))(X) - y) ** 2) / 2
    step = lambda p, _: (jax.tree.map(lambda w, g: w - rate * g, p, jax.grad(loss)(p)), None)
    return jax.lax.scan(step, params, length=steps)[0]


def kernel_drift(apply: Apply, params: Any, X: np.ndarray, y: np.ndarray, steps: int = 100) -> float:
    r"""$\|\hat\Theta_k-\hat\Theta_0\|/\|\hat\Theta_0\|$ after $k$ `steps` of descent on $\frac12\sum(f(x_i)-y_i)^2$.

    The step size is half the largest stable one, $1/\lambda_{\max}(\hat\Theta_0)$.
    """
    before = empirical_ntk(apply, params, X)
    trained = _descend(apply, _on_device(params), X, y, steps, 1 / np.linalg.eigvalsh(before)[-1])
    return float(np.linalg.norm(empirical_ntk(apply, trained, X) - before) / np.linalg.norm(before))


def affordable(parameters: int, most: int, least: int = 2) -> int:
    """How many of `most` draws or inputs of a network with so many parameters fit into the memory allowed."""
    return max(least, min(most, MEMORY // max(1, parameters)))


def evidence_of_one(apply: Apply, params: Any, X: np.ndarray, description: Description | None) -> Evidence:
    """The spectrum of one network's kernel on the rows of `X` and, where the limit is known, the distance to it."""
    values = np.linalg.eigvalsh(empirical_ntk(apply, params, X))[::-1]
    plain, far, width = (None if description is None else unscaled(description)), np.inf, 1.0
    if description is not None and plain is not None:
        width, ntk = float(min(description.widths[1:-1])), plain[2].kernels(X)[1]
        far = float(np.linalg.norm(empirical_ntk(plain[0], plain[1], X) - ntk) / np.linalg.norm(ntk))
    limit, found = Enclosure.exact(0), (Enclosure.equal(far),)
    spectrum = (Series("eigenvalues", np.arange(len(values)) + 1, np.maximum(values, values[0] * 1e-16 + 1e-300)),)
    return Evidence(
        claims=(Converges("‖Θ̂ − Θ‖ / ‖Θ‖ on these inputs", limit, found, (width,), within=min(0.5, 5 / width**0.5)),),
        charts=(Curves("spectrum of the tangent kernel", Axis("index"), Axis("eigenvalue", "log"), spectrum),),
        numbers={"largest eigenvalue": values[0], "smallest eigenvalue": values[-1], "distance to the limit": far},
        summary=f"on {len(X)} inputs the eigenvalues of the tangent kernel lie in [{values[-1]:.4g}, {values[0]:.4g}]",
    )


@dataclass(frozen=True, eq=False)
class Study:
    r"""Empirical kernels of random networks of several `widths` on a fan of inputs `X`, beside the limit `ntk`.

    `kernels[i]`, of shape `(draws, n, n)`, belongs to `widths[i]`; so do the `drifts[i]` of a few of them in training.
    The first two inputs are the pair asked for; `features` are the tangent features of one of the narrowest networks.
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

    def agreement(self) -> tuple[Claim, ...]:
        r"""The claims that $\hat\Theta$ has the mean $\Theta$.

        On the diagonal and for one hidden layer it has at every width; elsewhere in the limit.
        """
        own = Identity("mean of Θ̂(x, x)", self.mean(0, 0), Enclosure.equal(self.ntk[0, 0]), atol=1e-9)
        limit, name = Enclosure.equal(self.ntk[0, 1]), "mean of Θ̂(x, x′)"
        if self.layers == 1:
            return Identity(name, self.mean(0, 1), limit, self._other_kernel(), atol=1e-9), own
        means = tuple(Enclosure.measured(float(K[:, 0, 1].mean()), samples=len(K)) for K in self.kernels)
        return Converges(name, limit, means, tuple(self.widths), within=0.1 * (self.layers + 1)), own

    def _other_kernel(self) -> Witness | None:
        r"""One network's $\hat\Theta$ with a bound of its rounding, beside $\kappa_1+\rho\kappa_0$ in balls.

        A sum of $p$ products is off by at most $2pu$ times the sum of their sizes, which is at most
        $\sqrt{\hat\Theta(x,x)\hat\Theta(x',x')}$; each factor has a few more roundings.
        """
        if self.random or self.limit.gains != (1.0,) or self.limit.first != 1.0:
            return None
        kernel = self.kernels[-1][0]
        size = float(np.sqrt(kernel[0, 0] * kernel[1, 1]))
        rounding = (2 * self.features.shape[-1] * self.widths[-1] + 64) * np.finfo(float).eps * size
        x, z = ([arb(float(c)) for c in row] for row in self.X[:2])
        product = lambda a, b: sum((s * t for s, t in zip(a, b)), arb(0))
        cosine = (product(x, z) / (product(x, x) * product(z, z)).sqrt()).max(-1).min(1)
        angle = cosine.acos()
        limit = (angle.sin() + 2 * (arb.pi() - angle) * cosine) / arb.pi()
        left = Enclosure.around(float(kernel[0, 1]), float(rounding))
        return Witness({"width": float(self.widths[-1])}, left, Enclosure.ball(limit), "the limit in balls")

    def fluctuations(self, groups: int = 8) -> tuple[np.ndarray, np.ndarray]:
        """Root mean square distances to the limit, one for each of several groups of draws at each width."""
        parts = [[np.sqrt(np.mean((part - self.ntk) ** 2)) for part in np.array_split(K, groups)] for K in self.kernels]
        return np.repeat(self.widths, groups), np.ravel(parts)

    def movements(self) -> tuple[np.ndarray, np.ndarray]:
        """Relative movements of the kernel in training, one for each network that was trained."""
        return np.repeat(self.widths, [len(drift) for drift in self.drifts]), np.concatenate(self.drifts)

    def orders(self) -> tuple[Rate, ...]:
        r"""The claims that $\hat\Theta$ fluctuates like $m^{-1/2}$ and moves in training by $O(m^{-1/2})$."""
        fluctuation = observed_order("fluctuation of Θ̂ around Θ", 0.5, *self.fluctuations(), sharp=True, slack=0.2)
        return fluctuation + observed_order("movement of Θ̂ in training", 0.5, *self.movements(), slack=0.2)

    def linearised(self, time: float) -> tuple[float, float]:
        """An output of the linearised network trained for that time and the kernel flow's, where they differ most."""
        trained = linearised_training(self.features, self.y, time)
        formula = kernel_flow(self.features @ self.features.T, self.y, time)
        worst = int(np.abs(trained - formula).argmax())
        return float(trained[worst]), float(formula[worst])

    def against_width(self) -> Curves:
        """Fluctuation at initialisation and movement in training against the width."""
        scales, sizes = self.fluctuations()
        guide = np.sqrt(np.mean(sizes**2 * scales) / self.widths)
        lines = (
            Series("slope −1/2", self.widths, guide, "reference"),
            Series("fluctuation at random", scales, sizes, "measured", "points"),
            Series("movement in training", *self.movements(), "other", "points"),
        )
        return Curves("distance to the limit", Axis("width m", "log"), Axis("distance", "log"), lines)

    def against_angle(self) -> Curves:
        """The limit as a function of the angle, with the mean and spread of the widest networks."""
        degrees, row = np.linspace(0, 180, len(self.X) - 2), self.kernels[-1][:, 0, 2:]
        middle, spread = row.mean(0), row.std(0)
        name = f"width {self.widths[-1]:g}, mean ± spread"
        measured = Series(name, degrees, middle, "measured", "points", middle - spread, middle + spread)
        fine = np.linspace(0, np.pi, 91)
        curve = self.limit.kernels(np.stack([np.cos(fine), np.sin(fine)], 1))[1][0]
        limit = Series("limit", np.rad2deg(fine), curve, "reference")
        return Curves("kernel against angle", Axis("angle in degrees"), Axis("Θ(x, x′)"), (limit, measured))


def study(
    member: Callable[[int, np.random.Generator], Any],
    widths: Sequence[int],
    limit: WideLimit,
    angle: float,
    draws: int,
    rng: np.random.Generator,
) -> Study:
    """Draw networks and measure their kernels; `member(width, rng)` has `apply`, `params` and `input_shape`."""
    narrow, other = member(widths[0], rng), member(widths[0], rng)
    if not isinstance(limit, WideLimit) or int(np.prod(narrow.input_shape)) < 2:
        raise SubjectError(
            "A family of random networks needs its limit and two inputs or more.",
            got=f"limit {limit}, inputs {narrow.input_shape}",
            remedy="give the Family limit=ftheta.limits.width.WideLimit(gains)",
        )
    pairs = zip(jax.tree.leaves(narrow.params), jax.tree.leaves(other.params))
    random = not all(np.array_equal(a, b) for a, b in pairs)
    X = fan(angle, int(np.prod(narrow.input_shape)))
    y = np.cos(3 * np.arctan2(X[:, 1], X[:, 0]))
    kernels, drifts = [], []
    for width in widths:
        size = sum(np.size(leaf) for leaf in jax.tree.leaves(member(width, rng).params))
        nets = [member(width, rng) for _ in range(affordable(size, draws, least=8))]
        kernels.append(np.stack([empirical_ntk(net.apply, net.params, X) for net in nets]))
        few = nets[: affordable(20 * size, 8)]
        drifts.append(np.array([kernel_drift(net.apply, net.params, X, y) for net in few]))
    features = tangent_features(narrow.apply, narrow.params, X)
    return Study(X, y, limit.kernels(X)[1], np.array(widths, float), kernels, drifts, features, limit, random)
