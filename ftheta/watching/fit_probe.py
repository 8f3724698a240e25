"""What is measured between the steps of `ft.fit`: the same as on a module of torch, in one compiled program."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ftheta.graph.domains.values import values
from ftheta.graph.errors import GraphError
from ftheta.graph.jaxprs import Graph, Node, trace

ROWS = 64


class FitProbe:
    """Of the model that a `machine` trains, on the first rows of its data."""

    def __init__(self, machine: Any) -> None:
        self._apply = machine.model.apply
        self._loss = machine.problem.loss
        self._paths = machine.model.paths
        self._x = np.asarray(machine.examples.x[:ROWS])
        self._y = np.asarray(machine.examples.y[:ROWS])
        start = machine.model.params
        self._ndim = [np.ndim(leaf) for leaf in jax.tree.leaves(start)]
        self._way = np.random.default_rng(0).normal(
            size=sum(np.size(leaf) for leaf in jax.tree.leaves(start))
        )
        self._relus = self._find_relus(start)
        self._program = jax.jit(self._measure).lower(start, self._way).compile()

    def _find_relus(self, params: Any) -> tuple[Graph, list[Node]] | None:
        try:
            graph = trace(
                self._apply, params, jax.ShapeDtypeStruct(self._x.shape[1:], self._x.dtype)
            )
        except GraphError:
            return None
        return graph, [node for node in graph.nodes if _rectifies(graph, node)]

    def _mean_loss(self, params: Any) -> Any:
        outputs = jax.vmap(self._apply, (None, 0))(params, self._x)
        return jnp.mean(jax.vmap(self._loss)(outputs, self._y))

    def _measure(self, params: Any, way: Any) -> Any:
        """Dead shares, the gradient's norms, a Rayleigh quotient and the product that the iteration goes on with."""
        flat, build = ravel_pytree(params)
        way = (way / jnp.linalg.norm(way)).astype(flat.dtype)
        slope = jax.grad(lambda theta: self._mean_loss(build(theta)))
        gradient, product = jax.jvp(slope, (flat,), (way,))
        norms = [jnp.linalg.norm(leaf) for leaf in jax.tree.leaves(build(gradient))]
        return self._dead(params), norms, way @ product, product

    def _dead(self, params: Any) -> list[Any]:
        if self._relus is None:
            return []
        graph, nodes = self._relus

        def of_row(row: Any) -> list[Any]:
            seen = values(graph, params, row)
            return [jnp.ravel(seen[node.outputs[0]]) for node in nodes]

        return [jnp.mean((unit.max(0) <= 0).astype(float)) for unit in jax.vmap(of_row)(self._x)]

    def look(self, params: Any) -> tuple[dict[str, float], dict[str, float], float | None, float]:
        """Dead shares, gradient norms, the ratio of the first and the last matrix, and the sharpness (from below)."""
        dead, norms, quotient, product = self._program(params, self._way)
        product = np.asarray(product, float)
        if np.isfinite(product).all() and product.any():
            self._way = product
        sizes = [float(norm) for norm in norms]
        matrices = [size for size, ndim in zip(sizes, self._ndim) if ndim > 1]
        ratio = matrices[0] / matrices[-1] if len(matrices) > 1 and matrices[-1] > 0 else None
        shares = {f"ReLU {k}": float(share) for k, share in enumerate(dead, 1)}
        return shares, dict(zip(self._paths, sizes)), ratio, float(quotient)


def _rectifies(graph: Graph, node: Node) -> bool:
    """ReLU, or a maximum with 0."""
    if node.label == "relu":
        return True
    constants = [graph.constants.get(slot.id) for slot in node.inputs]
    return node.primitive == "max" and any(c is not None and not np.any(c) for c in constants)
