"""The recursion on a list of layers beside other ways to the gradient, and in intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph import Graph, adjoints, trace
from ftheta.graph.differences import slope
from ftheta.graph.enclosing import enclose_entry, enclose_number
from ftheta.logic import Enclosure, Witness
from ftheta.networks.activations import activation
from ftheta.networks.backprop import Flow, backpropagate
from ftheta.networks.description import Dense, Description

NEAR = 1e-7  # of the largest entry of the gradient: what the catalogue asks
ENCLOSED = 2_000_000  # parameters times rows of a batch whose recursion is evaluated in intervals


@dataclass(frozen=True, eq=False)
class Backprop:
    """The recursion on a description beside two other ways to the gradient of the function that it describes."""

    description: Description
    apply: Callable[[Any, Any], Any]
    params: Any
    x: np.ndarray
    y: np.ndarray

    @cached_property
    def flow(self) -> Flow:
        """Both passes of the recursion."""
        return backpropagate(self.description, self.x, self.y)

    def loss(self, params: Any) -> Any:
        """½‖X_L − Y‖² summed over the batch."""
        outputs = jax.vmap(lambda row: jnp.ravel(self.apply(params, row)))(self.x)
        return jnp.sum((outputs - self.y) ** 2) / 2

    @cached_property
    def graph(self) -> Graph:
        """The graph of the loss as a function of the parameters."""
        return trace(self.loss, self.params)

    @cached_property
    def reverse(self) -> np.ndarray:
        """By reverse mode on the graph of the loss."""
        found = adjoints(self.graph, self.params)
        return np.concatenate([np.ravel(np.asarray(found[slot])) for slot in self.graph.inputs])

    @property
    def scale(self) -> float:
        """The largest entry of the gradient."""
        return max(float(np.abs(self.reverse).max(initial=0.0)), 1e-300)

    @cached_property
    def _of_row(self) -> Callable[[np.ndarray], float]:
        """The loss as a function of all parameters in one row."""
        leaves, tree = jax.tree.flatten(self.params)
        ends = np.cumsum([np.size(leaf) for leaf in leaves])[:-1]
        build = lambda row: jax.tree.unflatten(
            tree, [c.reshape(v.shape) for c, v in zip(jnp.split(row, ends), leaves)]
        )
        compiled = jax.jit(lambda row: self.loss(build(row)))
        return lambda row: float(compiled(row))

    def difference(self, k: int) -> float:
        """∂ loss / ∂ parameter k by central differences, with the step of least doubt."""
        row = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(self.params)])
        return slope(self._of_row, row, k).value

    def witness(self, k: int) -> Witness:
        """One entry of the recursion beside the derivative of the loss in that parameter."""

        def gradient(params: Any) -> Any:
            return jnp.concatenate(
                [jnp.ravel(leaf) for leaf in jax.tree.leaves(jax.grad(self.loss)(params))]
            )

        gap = abs(
            Enclosure.exact(float(self.flow.flat[k]))
            - enclose_entry(gradient, self.params, entry=k)
        )
        how = "the derivative in intervals rounded outward"
        return Witness({"parameter": float(k)}, gap / self.scale, Enclosure.exact(NEAR), how)


def enclose_weight_gradient(
    description: Description,
    x: np.ndarray,
    y: np.ndarray,
    layer: int,
    entry: tuple[int, int],
    at_input: bool = False,
) -> Enclosure:
    r"""One entry of $\nabla A_r=M^\top X_r$ by the recursion, in intervals rounded outward; `layer` is $r$ from 0.

    With `at_input` $M=\rho'(Z_r)\odot g$ has the gradient at the input of the layer in place of that at its output.
    Nothing is known of a batch that is too large.
    """
    if sum(W.size for W, _ in description.params) * len(x) > ENCLOSED:
        return Enclosure.unknown()
    words = [part.activation for part in description.layers]
    row, column = entry

    def gradient(weights: Any, biases: Any) -> Any:
        states = [jnp.asarray(x)]
        slopes = []
        for W, b, word in zip(weights, biases, words):
            z = states[-1] @ W.T + b
            value, steep = jax.jvp(activation(word).function, (z,), (jnp.ones_like(z),))
            states.append(value)
            slopes.append(steep)
        above = [states[-1] - y]
        for W, steep in zip(weights[::-1], slopes[::-1]):
            above.append((steep * above[-1]) @ W)
        g = above[::-1][layer if at_input else layer + 1]
        return ((slopes[layer] * g).T @ states[layer])[row, column]

    weights = [W for W, _ in description.params]
    biases = [b for _, b in description.params]
    return enclose_number(gradient, weights, biases)


def one_neuron() -> tuple[tuple[float, float], ...]:
    """∇ = (ŷ − y)x for ŷ = ⟨w, x⟩ + b, in numbers that float64 holds exactly: recursion and formula."""
    w = np.array([[1.0, 2.0, -1.0]])
    b = np.array([0.5])
    x = np.array([[1.0, 2.0, 3.0]])
    y = np.array([[1.0]])
    found = backpropagate(Description((Dense(w, b),)), x, y).gradients[0][0][0]
    formula = (x[0] @ w[0] + b[0] - y[0, 0]) * x[0]
    return tuple((float(a), float(c)) for a, c in zip(found, formula))
