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

from ftheta.graph import Graph, GraphError, Interval, Node, Slot, intervals, trace
from ftheta.graph.domains.values import VALUES
from ftheta.graph.interpret import forward
from ftheta.logic import Enclosure, Identity, SubjectError, Witness


@dataclass(frozen=True, eq=False)
class Features:
    """Rows φ(xᵢ), the network's `outputs`, and its own readout; `gap` is the largest |f − Wφ − b|."""

    phi: np.ndarray
    outputs: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    enclosed: Callable[[int], tuple[Interval, Interval] | None]
    """φ and f at one row, with outward rounding; None without rules."""

    def claim(self) -> Identity:
        """That the network is affine in its features, on the rows."""
        relative = Enclosure.equal(self.gap / max(self.scale, 1e-300))
        witness = None if self.affine else self._witness()
        return Identity("f − Wφ − b on the rows, relative", relative, Enclosure.exact(0), witness, atol=1e-9)

    def _witness(self) -> Witness:
        """The row with the largest gap, beside the first, which b is read off: f − f₀ − W(φ − φ₀) in intervals."""
        gaps = np.abs(self.outputs - self.phi @ self.weight.T - self.bias)
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(gaps)), gaps.shape))
        here, first = self.enclosed(i), self.enclosed(0)
        gap = Enclosure.unknown()
        if here is not None and first is not None:
            entry = lambda box, k: Enclosure.between(float(box.lo[k]), float(box.hi[k]))
            gap = entry(here[1], j) - entry(first[1], j)
            for k, w in enumerate(self.weight[j].tolist()):
                gap = gap - (entry(here[0], k) - entry(first[0], k)) * w
        how = "both rows in intervals rounded outward"
        return Witness({"row": float(i), "output": float(j)}, abs(gap) / self.scale, Enclosure.exact(0), how)

    @property
    def gap(self) -> float:
        return float(np.abs(self.outputs - self.phi @ self.weight.T - self.bias).max())

    @property
    def scale(self) -> float:
        return float(np.abs(self.outputs).max() + (np.abs(self.phi) @ np.abs(self.weight).T).max())

    @property
    def affine(self) -> bool:
        return self.gap <= 1e-9 * max(self.scale, 1e-300)

    def spectrum(self) -> np.ndarray:
        r"""The eigenvalues of $\frac1n\Phi\Phi^\top$, the largest first."""
        return np.linalg.svd(self.phi, compute_uv=False) ** 2 / len(self.phi)


def features(apply: Callable[[Any, Any], Any], params: Any, x: np.ndarray) -> Features:
    """What enters the last affine map of `apply(params, x)` at the rows of x."""
    with jax.enable_x64(True):
        params = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), params)
        graph = trace(apply, params, jax.ShapeDtypeStruct(x.shape[1:], np.float64))
        last, slot = _last_product(graph)
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(params)]

        def of_row(row: Any) -> tuple[Any, Any]:
            values = forward(VALUES, graph, *leaves, row)
            return jnp.ravel(values[slot]), jnp.ravel(values[graph.outputs[0]])

        phi, outputs = (np.asarray(v) for v in jax.lax.map(of_row, jnp.asarray(x, float), batch_size=256))
        weight = _weights(graph, last, slot, leaves, x)
    if weight.shape != (outputs.shape[1], phi.shape[1]):
        raise SubjectError(
            "The last product of this network is not a map of all its features to its outputs.",
            got=f"{phi.shape[1]} features, {outputs.shape[1]} outputs, weights {weight.shape}",
            remedy="give a network that ends in a dense layer",
        )
    bias = outputs[0] - phi[0] @ weight.T

    def enclosed(row: int) -> tuple[Interval, Interval] | None:
        try:
            seen = intervals(graph, params, np.asarray(x[row], np.float64))
        except GraphError:
            return None
        return seen[slot].map(np.ravel), seen[graph.outputs[0]].map(np.ravel)

    return Features(phi, outputs, weight, bias, enclosed)


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
        raise SubjectError("This network has no last linear layer.", remedy="give a network that ends in a dense layer")
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


# ---- the linear probe -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Probe:
    r"""Ridge regression on features with an offset: predictions, and those with each row left out."""

    weight: np.ndarray
    bias: np.ndarray
    fitted: np.ndarray
    left_out: np.ndarray
    ridge: float

    def objective(self, phi: np.ndarray, y: np.ndarray) -> float:
        return ridge_objective(phi, y, self.weight, self.bias, self.ridge)


def linear_probe(phi: np.ndarray, y: np.ndarray, ridge: float) -> Probe:
    r"""$\min_{W,b}\sum_i\|W\varphi_i+b-y_i\|^2+\lambda\|W\|^2$; the offset is free.

    Rows left out by the shortcut $y_i-\hat y_{-i}=(y_i-\hat y_i)/(1-h_{ii})$.
    """
    centre, mean = phi.mean(0), y.mean(0)
    A = phi - centre
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > s.max(initial=0.0) * max(A.shape) * np.finfo(float).eps
    U, s, Vt = U[:, kept], s[kept], Vt[kept]
    weight = (Vt.T * (s / (s**2 + ridge))) @ (U.T @ (y - mean))
    leverage = (U**2) @ (s**2 / (s**2 + ridge)) + 1 / len(phi)
    fitted = A @ weight + mean
    left = y - (y - fitted) / np.maximum(1 - leverage, 1e-300)[:, None]
    return Probe(weight.T, mean - centre @ weight, fitted, left, ridge)


def ridge_objective(phi: np.ndarray, y: np.ndarray, weight: np.ndarray, bias: np.ndarray, ridge: float) -> float:
    return float(np.sum((phi @ weight.T + bias - y) ** 2) + ridge * np.sum(weight**2))


def targets_of(y: np.ndarray, classes: np.ndarray | None, outputs: int) -> np.ndarray:
    """Real targets, or one column a class."""
    return y.astype(float) if classes is None else np.eye(outputs)[classes]


def score(predictions: np.ndarray, y: np.ndarray, classes: np.ndarray | None) -> float:
    r"""The share of right classes, or $R^2=1-\mathrm{SSE}/\mathrm{SST}$ of real targets."""
    if classes is not None:
        return float(np.mean(predictions.argmax(1) == classes))
    total = float(np.sum((y - y.mean(0)) ** 2))
    return 1 - float(np.sum((predictions - y) ** 2)) / total if total else float("nan")


def principal(phi: np.ndarray) -> np.ndarray:
    """The first two principal coordinates of the features."""
    centred = phi - phi.mean(0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    found = U[:, :2] * s[:2]
    return np.pad(found, ((0, 0), (0, 2 - found.shape[1])))
