r"""Interaction networks: bodies that push each other by learnt messages, and the momentum that pairs cannot change.

Body $i$ receives $\sum_jm_{ij}$ over the edges of the graph. If $m_{ij}=g(x_i,x_j)-g(x_j,x_i)$ for any network $g$,
then $m_{ij}=-m_{ji}$, the sum over all bodies is 0 on every undirected graph, and momentum is conserved.
"""

from dataclasses import dataclass

import numpy as np

from .graph import Graph


@dataclass(frozen=True, eq=False)
class Messages:
    r"""$g(a,b)=C\,r(W(a,b)+c)$, a hidden layer of ReLUs; antisymmetric: $m(a,b)=g(a,b)-g(b,a)$, else $m=g$."""

    W: np.ndarray
    c: np.ndarray
    C: np.ndarray
    antisymmetric: bool = True

    @classmethod
    def random(
        cls, rng: np.random.Generator, dimension: int, hidden: int = 8, whole: bool = False
    ) -> "Messages":
        """With `whole`, weights from −3 to 3, with which whole positions give whole messages without rounding."""

        def draw(*shape: int) -> np.ndarray:
            if whole:
                return rng.integers(-3, 4, size=shape).astype(np.float64)
            return rng.normal(size=shape) / np.sqrt(shape[-1])

        return cls(draw(hidden, 2 * dimension), draw(hidden), draw(dimension, hidden))

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Of every pair of rows."""
        sent = self._one(a, b)
        return sent - self._one(b, a) if self.antisymmetric else sent

    def _one(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.maximum(np.concatenate([a, b], axis=-1) @ self.W.T + self.c, 0) @ self.C.T


def forces(messages: Messages, x: np.ndarray, graph: Graph) -> np.ndarray:
    """What every body receives along its edges, each message times the weight of its edge."""
    i, j = np.nonzero(graph.edges)
    total = np.zeros_like(x)
    np.add.at(total, i, graph.edges[i, j][:, None] * messages(x[i], x[j]))
    return total


def momenta(
    messages: Messages, x: np.ndarray, v: np.ndarray, graph: Graph, step: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Velocity Verlet with unit masses: the total momentum $\sum_iv_i$ and the positions after 0, …, K steps."""
    sums = [v.sum(0)]
    places = [x]
    force = forces(messages, x, graph)
    for _ in range(steps):
        v = v + step / 2 * force
        x = x + step * v
        force = forces(messages, x, graph)
        v = v + step / 2 * force
        sums.append(v.sum(0))
        places.append(x)
    return np.array(sums), np.array(places)
