r"""LISTA: the layers of ISTA with weights that are learnt, $\alpha\leftarrow S_\theta(W_ex+S\alpha)$.

The weights are the same in every layer, as in ISTA, and start at those of ISTA; the threshold is one number a code
entry. Training brings the layers close to the true codes in the mean, on signals like those it will meet; an error
counts half as much as in the layer after it.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.training.fitting import fit

from .sparse_coding import SparseCoding

RATE = 3e-3


def layers(params: dict[str, Any], x: Any, depth: int) -> Any:
    """The codes after 1, …, K layers, of shape (K, d), of one signal."""
    given = params["encoder"] @ x

    def layer(code: Any, _: Any) -> tuple[Any, Any]:
        v = given + params["lateral"] @ code
        new = jax.nn.relu(v - params["level"]) - jax.nn.relu(-v - params["level"])
        return new, new

    return jax.lax.scan(layer, jnp.zeros_like(given), None, length=depth)[1]


def as_ista(problem: SparseCoding) -> dict[str, np.ndarray]:
    """The weights with which LISTA is ISTA."""
    d = problem.A.shape[1]
    tau = problem.tau
    level = np.full(d, tau * problem.weight)
    return {
        "encoder": tau * problem.A.T,
        "lateral": np.eye(d) - tau * problem.A.T @ problem.A,
        "level": level,
    }


@dataclass(frozen=True, eq=False)
class Lista:
    """Learnt weights, the depth they were learnt for, and the training losses."""

    params: dict[str, np.ndarray]
    depth: int
    losses: np.ndarray

    def codes(self, signals: np.ndarray) -> np.ndarray:
        """After 1, …, K layers, of shape (K, m, d), in NumPy."""
        given = signals @ self.params["encoder"].T
        code = np.zeros((len(signals), len(self.params["lateral"])))
        found = []
        for _ in range(self.depth):
            v = given + code @ self.params["lateral"].T
            code = np.maximum(v - self.params["level"], 0) - np.maximum(
                -v - self.params["level"], 0
            )
            found.append(code)
        return np.array(found)


def train_lista(problem: SparseCoding, depth: int, steps: int, seed: int, batch: int = 64) -> Lista:
    """Learn on the signals of `problem`, with their certified codes as targets."""
    # of the difference; its square is that of the error
    worth = 2.0 ** (-np.arange(depth)[::-1, None] / 2)
    targets = worth * problem.solution[:, None]
    start = as_ista(problem)
    rows = len(problem.signals)
    run = fit(
        (start, lambda params, x: worth * layers(params, x, depth)),
        (problem.signals, targets),
        "squared",
        "adam",
        step=RATE,
        steps=steps,
        batch=min(batch, rows),
        seed=seed,
        progress=False,
    )
    trained = {name: np.asarray(value, np.float64) for name, value in run.params.items()}
    return Lista(trained, depth, np.asarray(run.history.loss))
