r"""Descent of many neurons: $f=\frac1q\sum_k\mu_k\sigma(\langle w_k,x\rangle)$ on $F=\frac12\mathrm{mean}(f-y)^2$.

Every neuron follows $\dot\theta_k=-\nabla V(\theta_k)$, the gradient of $qF$. Arrays of neurons have the shape
`(runs, q, 1 + d)`, one row $(\mu,w)$ a neuron; runs are independent of one another. Neurons are taken in blocks that
stay in the processor's cache: a million of them need little more memory than themselves.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.networks import ACTIVATIONS, activation
from ftheta.shapes import Float

BLOCK = 30_000  # numbers of a block
# of the step, where the energy fell and where it rose
FASTER = 1.05
SLOWER = 0.5


@dataclass(frozen=True, eq=False)
class RegressionTask:
    """Inputs `(n, d)`, one number per row, and the activation of the neurons."""

    X: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, "n"]
    sigma: str = "relu"

    @classmethod
    def of(cls, x: Any, y: Any, sigma: str = "relu") -> "RegressionTask":
        """Checked: finite numbers of fitting shapes, an activation that is known."""
        X = np.asarray(x, np.float64)
        y = np.asarray(y, np.float64)
        if X.ndim != 2 or X.size == 0 or y.size != len(X):
            raise UsageError(
                "Neurons are fitted to rows with one number each.",
                got=f"x {X.shape}, y {y.shape}",
                remedy="give x of shape (n, d) and y of shape (n,)",
            )
        if not (np.isfinite(X).all() and np.isfinite(y).all()):
            raise UsageError(
                "The data are not finite.", got="NaN or infinity", remedy="mend these rows"
            )
        if sigma not in ACTIVATIONS:
            raise UsageError(
                "Unknown activation.", got=sigma, remedy=f"choose one of {', '.join(ACTIVATIONS)}"
            )
        return cls(X, y.ravel(), sigma)

    def energy(self, outputs: Float[np.ndarray, "*runs n"]) -> Float[Any, "*runs"]:
        """$F$ of outputs `(…, n)`."""
        return ((outputs - self.y) ** 2).mean(-1) / 2

    @property
    def worth(self) -> float:
        """The energy without any neuron."""
        return float(self.energy(np.zeros(len(self.y))))

    def with_rows(self, x: Float[np.ndarray, "n d"]) -> "RegressionTask":
        return RegressionTask(x, np.zeros(len(x)), self.sigma)

    # -- neurons ---------------------------------------------------------------------------------

    def outputs(self, theta: Float[np.ndarray, "runs q c"]) -> Float[np.ndarray, "runs n"]:
        """Of each run at each input, `(runs, n)`."""
        total = np.zeros((len(theta), len(self.X)))
        for part in self._blocks(theta):
            mu = part[:, None, :, 0]
            W = part[..., 1:]
            total += (mu @ self._bent(W @ self.X.T))[:, 0]
        return total / theta.shape[1]

    def velocity(
        self, theta: Float[np.ndarray, "runs q c"], outputs: Float[np.ndarray, "runs n"]
    ) -> Float[np.ndarray, "runs q c"]:
        r"""$-\nabla V$ of every neuron, given the outputs of its run."""
        gap = ((outputs - self.y) / len(self.y))[:, None, :]
        weighted = gap.swapaxes(1, 2) * self.X
        found = np.empty_like(theta)
        start = 0
        for part in self._blocks(theta):
            mu = part[..., :1]
            W = part[..., 1:]
            before = W @ self.X.T
            to = found[:, start : start + part.shape[1]]
            if self.sigma == "relu":  # h = w·h′x: the first component is that of the others along w
                pull = np.greater(before, 0.0, out=before) @ weighted
                to[..., 0], to[..., 1:] = -(W * pull).sum(-1), -mu * pull
            else:
                h, slope = _with_slope(self.sigma)(before)
                to[..., 0] = -(np.asarray(h) @ gap.swapaxes(1, 2))[..., 0]
                to[..., 1:] = -mu * ((np.asarray(slope) * gap) @ self.X)
            start += part.shape[1]
        return found

    def _blocks(self, theta: np.ndarray) -> Iterator[np.ndarray]:
        size = max(1, BLOCK // (len(theta) * len(self.X)))
        return (theta[:, i : i + size] for i in range(0, theta.shape[1], size))

    def _bent(self, before: np.ndarray) -> np.ndarray:
        return (
            np.maximum(before, 0.0, out=before)
            if self.sigma == "relu"
            else np.asarray(_with_slope(self.sigma)(before)[0])
        )


@lru_cache(16)
def _with_slope(sigma: str) -> Callable[[Any], tuple[Any, Any]]:
    function = activation(sigma).function
    both = jax.jit(lambda z: jax.jvp(function, (z,), (jnp.ones_like(z),)))

    def precise(z: np.ndarray) -> tuple[Any, Any]:
        with jax.enable_x64(True):
            return both(z)

    return precise


@dataclass(frozen=True, eq=False)
class Runs:
    """Energies `(runs, steps + 1)`, dissipations and times alike, and the neurons: at the start, the end, on the way.

    `paths` are `(looks, few, 1 + d)` neurons of the first run.
    """

    energies: Float[np.ndarray, "runs steps"]
    dissipations: Float[np.ndarray, "runs steps"]
    times: Float[np.ndarray, "runs steps"]
    start: Float[np.ndarray, "runs q c"]
    end: Float[np.ndarray, "runs q c"]
    paths: Float[np.ndarray, "looks few c"]


def descend(
    task: RegressionTask,
    theta: Float[np.ndarray, "runs q c"],
    steps: int,
    step: float | None = None,
    looks: int = 60,
    few: int = 200,
) -> Runs:
    """Explicit steps of the flow. Without `step` each run finds its own: shorter where the energy would rise."""
    start = theta
    outputs = task.outputs(theta)
    energy = task.energy(outputs)
    tau = np.full(len(theta), step) if step else 1 / np.maximum(stiffness(task, theta), 1e-300)
    time = np.zeros(len(theta))
    rows = []
    paths = []
    seen = set(np.geomspace(1, steps + 1, looks).astype(int).tolist())
    for k in range(steps + 1):
        velocity = task.velocity(theta, outputs)
        rows.append((energy, (velocity**2).sum(2).mean(1), time))
        if k + 1 in seen:
            paths.append(theta[0, :few].copy())
        if k == steps:
            break
        trial = theta + tau[:, None, None] * velocity
        reached = task.outputs(trial)
        new = task.energy(reached)
        good = np.full(len(tau), True) if step else new <= energy
        if good.all():
            theta = trial
            outputs = reached
        else:
            theta = np.where(good[:, None, None], trial, theta)
            outputs = np.where(good[:, None], reached, outputs)
        energy = np.where(good, new, energy)
        time = np.where(good, time + tau, time)
        tau = tau if step else tau * np.where(good, FASTER, SLOWER)
    energies, dissipations, times = (np.stack(row, 1) for row in zip(*rows))
    return Runs(energies, dissipations, times, start, theta, np.stack(paths))


def stiffness(
    task: RegressionTask, theta: Float[np.ndarray, "runs q c"]
) -> Float[np.ndarray, "runs"]:
    """The trace of the kernel of the outputs, no less than its largest eigenvalue, from up to a thousand neurons."""
    few = theta[:, :1000]
    before = few[..., 1:] @ task.X.T
    h, slope = (np.asarray(v) for v in _with_slope(task.sigma)(before))
    squares = h**2 + (few[..., :1] * slope) ** 2 * (task.X**2).sum(1)
    return squares.mean((1, 2))
