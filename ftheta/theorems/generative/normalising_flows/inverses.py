"""Networks from a space to itself as changes of variables: Jacobians, and inverses by Newton's method."""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ftheta.graph.certain import is_differentiable_at
from ftheta.graph.enclosing import enclose_number
from ftheta.graph.jaxprs import trace
from ftheta.lazy import jax, jnp
from ftheta.logic import Enclosure
from ftheta.subjects import Network

STEPS = 60


@lru_cache(maxsize=2)
def _compile(net: Network) -> tuple[Any, Any]:
    f = partial(net.apply, net.params)
    return jax.jit(jax.vmap(f)), jax.jit(jax.vmap(jax.jacfwd(f)))


@dataclass(frozen=True, eq=False)
class Map:
    """A network as a map of rows."""

    net: Network

    def values(self, x: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(_compile(self.net)[0](jnp.asarray(x)))

    def jacobians(self, x: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(_compile(self.net)[1](jnp.asarray(x)))

    def determinants(self, x: np.ndarray) -> np.ndarray:
        return np.linalg.det(self.jacobians(x))

    def invert(self, y: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Newton's method from `start`, each step halved until the residual falls; and the residuals."""
        x = start.copy()
        gap = np.abs(self.values(x) - y).max(1)
        for _ in range(STEPS):
            if not (gap > 1e-12 * (1 + np.abs(y).max())).any():
                break
            jacobians = self.jacobians(x) + 1e-14 * np.eye(x.shape[1])
            step = np.linalg.solve(jacobians, (self.values(x) - y)[:, :, None])[:, :, 0]
            for share in (1.0, 0.5, 0.25, 0.06):
                other = x - share * step
                found = np.abs(self.values(other) - y).max(1)
                better = found < gap
                x = np.where(better[:, None], other, x)
                gap = np.where(better, found, gap)
        return x, gap

    def enclose_turn(self, a: np.ndarray, b: np.ndarray) -> Enclosure:
        r"""$-\det DT(a)\det DT(b)$ in intervals, in one or two dimensions: positive where the orientation changes; all
        numbers where a derivative of the program need not be that of the function."""
        f = partial(self.net.apply, self.net.params)

        def determinant(x: Any) -> Any:
            J = jax.jacfwd(f)(x)
            return J[0, 0] if J.shape == (1, 1) else J[0, 0] * J[1, 1] - J[0, 1] * J[1, 0]

        if len(a) > 2:
            return Enclosure.unknown()
        graph = trace(f, a, fold_rounded=False)
        if not (is_differentiable_at(graph, a) and is_differentiable_at(graph, b)):
            return Enclosure.unknown()
        return enclose_number(lambda a, b: -determinant(a) * determinant(b), a, b)
