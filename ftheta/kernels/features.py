r"""A network as a linear model on its own features: $f(x)=W\varphi(x)+b$, $\varphi$ being what enters its last layer.

The last product of the graph in which one factor depends on the input and the other does not is that map, whatever the
network is made of. Its weights are read off; whether the rest of the program is affine is checked on the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.domains.interval import Interval, intervals
from ftheta.graph.domains.values import VALUES
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import forward
from ftheta.graph.jaxprs import trace
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.shapes import Float, Int, Real


@dataclass(frozen=True, eq=False)
class Features:
    """Rows φ(xᵢ), the network's `outputs`, and its own readout; `gap` is the largest |f − Wφ − b|."""

    phi: Float[np.ndarray, "n p"]
    outputs: Float[np.ndarray, "n k"]
    weight: Float[np.ndarray, "k p"]
    bias: Float[np.ndarray, "k"]
    enclose_row: Callable[[int], tuple[Interval, Interval] | None]
    """φ and f at one row, with outward rounding; None without rules."""

    def enclose_largest_gap(self) -> tuple[int, int, Enclosure]:
        r"""Row $i$ and output $j$ where $|f-W\varphi-b|$ is largest, and that gap enclosed, relative to `scale`.

        The bias $b$ is read off the first row, so that the gap is $f_j(x_i)-f_j(x_0)-W_j(\varphi(x_i)-\varphi(x_0))$;
        it is evaluated in intervals rounded outward. Without rules for the program the enclosure is unknown.
        """
        gaps = np.abs(self.outputs - self.phi @ self.weight.T - self.bias)
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(gaps)), gaps.shape))
        here = self.enclose_row(i)
        first = self.enclose_row(0)
        if here is None or first is None:
            return i, j, Enclosure.unknown()
        gap = _entry(here[1], j) - _entry(first[1], j)
        for k, w in enumerate(self.weight[j].tolist()):
            gap = gap - (_entry(here[0], k) - _entry(first[0], k)) * w
        return i, j, abs(gap) / self.scale

    @property
    def gap(self) -> float:
        r"""The largest $|f-W\varphi-b|$ over the rows and outputs."""
        return float(np.abs(self.outputs - self.phi @ self.weight.T - self.bias).max())

    @property
    def scale(self) -> float:
        r"""What rounding errors are proportional to: $\max|f|+\max|W||\varphi|$."""
        return float(np.abs(self.outputs).max() + (np.abs(self.phi) @ np.abs(self.weight).T).max())

    @property
    def affine(self) -> bool:
        """Whether the gap is a rounding error."""
        return self.gap <= 1e-9 * max(self.scale, 1e-300)

    def spectrum(self) -> Float[np.ndarray, "m"]:
        r"""The eigenvalues of $\frac1n\Phi\Phi^\top$, the largest first."""
        return np.linalg.svd(self.phi, compute_uv=False) ** 2 / len(self.phi)


def _entry(box: Interval, k: int) -> Enclosure:
    return Enclosure.between(float(box.lo[k]), float(box.hi[k]))


def features(
    apply: Callable[[Any, Any], Any], params: Any, x: Real[np.ndarray, "n *shape"]
) -> Features:
    """What enters the last affine map of `apply(params, x)` at the rows of x."""
    with jax.enable_x64(True):
        params = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), params)
        graph = trace(apply, params, jax.ShapeDtypeStruct(x.shape[1:], np.float64))
        last, slot = _last_product(graph)
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(params)]

        def of_row(row: Any) -> tuple[Any, Any]:
            values = forward(VALUES, graph, *leaves, row)
            return jnp.ravel(values[slot]), jnp.ravel(values[graph.outputs[0]])

        phi, outputs = (
            np.asarray(v) for v in jax.lax.map(of_row, jnp.asarray(x, float), batch_size=256)
        )
        weight = _weights(graph, last, slot, leaves, x)
    if weight.shape != (outputs.shape[1], phi.shape[1]):
        raise SubjectError(
            "The last product of this network is not a map of all its features to its outputs.",
            got=f"{phi.shape[1]} features, {outputs.shape[1]} outputs, weights {weight.shape}",
            remedy="give a network that ends in a dense layer",
        )
    bias = outputs[0] - phi[0] @ weight.T

    def enclose_row(row: int) -> tuple[Interval, Interval] | None:
        try:
            seen = intervals(graph, params, np.asarray(x[row], np.float64))
        except GraphError:
            return None
        return seen[slot].map(np.ravel), seen[graph.outputs[0]].map(np.ravel)

    return Features(phi, outputs, weight, bias, enclose_row)


def _last_product(graph: Graph) -> tuple[Node, Slot]:
    """The last product of something that depends on the input with something that does not."""
    moving = {slot.id for slot in graph.argument(1)}
    found: tuple[Node, Slot] | None = None
    for node in graph.nodes:
        depends = [slot.id in moving for slot in node.inputs]
        if any(depends):
            moving |= {slot.id for slot in node.outputs}
        if node.primitive == "dot_general" and sum(depends) == 1:
            found = node, node.inputs[depends.index(True)]
    if found is None:
        raise SubjectError(
            "This network has no last linear layer.",
            remedy="give a network that ends in a dense layer",
        )
    return found


def _weights(graph: Graph, last: Node, slot: Slot, leaves: list[Any], x: np.ndarray) -> np.ndarray:
    """The matrix of the product, column by column."""
    values = forward(VALUES, graph, *leaves, jnp.asarray(x[0], float))
    operands = [values[s] for s in last.inputs]
    place = [s.id for s in last.inputs].index(slot.id)

    def of_feature(v: Any) -> Any:
        given = list(operands)
        given[place] = v.reshape(slot.shape).astype(slot.dtype)
        return jnp.ravel(last.evaluate(*given)[0])

    return np.asarray(jax.vmap(of_feature)(jnp.eye(slot.size))).T


def targets_of(
    y: Real[np.ndarray, "n *k"], classes: Int[np.ndarray, "n"] | None, outputs: int
) -> Float[np.ndarray, "n *columns"]:
    """Real targets `y` as they are, or one column per class: a one in the column of the row's class."""
    return y.astype(float) if classes is None else np.eye(outputs)[classes]
