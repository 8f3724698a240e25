r"""Back-propagation by hand, layer by layer, for a whole batch: ForwardNN and BackwardNN.

Rows are inputs. Forward $Z_r=X_rA_r^\top+\mathbf1b_r^\top$, $X_{r+1}=\rho_r(Z_r)$; backward, from
$g=X_L-Y$ (the loss is $\frac12\|X_L-Y\|^2$),
$$M=\rho_r'(Z_r)\odot g,\qquad\nabla A_r=M^\top X_r,\qquad\nabla b_r=M^\top\mathbf1,\qquad g\leftarrow MA_r.$$
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph import Graph, adjoints, trace
from ftheta.graph.differences import slope
from ftheta.graph.enclosing import enclose_entry
from ftheta.logic import AtMost, Axis, Claim, Curves, Dag, Enclosure, Identity, Series, Vertex, Witness

from .activations import activation
from .description import Dense, Description

Gradients = list[tuple[np.ndarray, np.ndarray]]
NEAR = 1e-7  # of the largest entry of the gradient: what the catalogue asks


@dataclass(frozen=True, eq=False)
class Flow:
    """The states X_0 … X_L, the slopes ρ′(Z_r), the adjoints g_0 … g_L, and the gradients (∇A_r, ∇b_r)."""

    states: list[np.ndarray]
    slopes: list[np.ndarray]
    adjoints: list[np.ndarray]
    gradients: Gradients

    @property
    def flat(self) -> np.ndarray:
        return np.concatenate([np.ravel(part) for pair in self.gradients for part in pair])


def forward_pass(description: Description, x: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """States and slopes of every layer at the rows of x."""
    states, slopes = [np.asarray(x, np.float64)], []
    for layer in description.layers:
        z = jnp.asarray(states[-1] @ layer.weight.T + layer.bias)
        value, steep = jax.jvp(activation(layer.activation).function, (z,), (jnp.ones_like(z),))
        states.append(np.asarray(value))
        slopes.append(np.asarray(steep))
    return states, slopes


def backpropagate(description: Description, x: np.ndarray, y: np.ndarray) -> Flow:
    """Both passes, for the loss ½‖X_L − Y‖² summed over the batch."""
    states, slopes = forward_pass(description, x)
    above = [states[-1] - y]
    gradients: Gradients = []
    for layer, state, steep in zip(description.layers[::-1], states[-2::-1], slopes[::-1]):
        m = steep * above[-1]
        gradients.append((m.T @ state, m.sum(0)))
        above.append(m @ layer.weight)
    return Flow(states, slopes, above[::-1], gradients[::-1])


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
        return backpropagate(self.description, self.x, self.y)

    def loss(self, params: Any) -> Any:
        outputs = jax.vmap(lambda row: jnp.ravel(self.apply(params, row)))(self.x)
        return jnp.sum((outputs - self.y) ** 2) / 2

    @cached_property
    def graph(self) -> Graph:
        return trace(self.loss, self.params)

    @cached_property
    def reverse(self) -> np.ndarray:
        """By reverse mode on the graph of the loss."""
        found = adjoints(self.graph, self.params)
        return np.concatenate([np.ravel(np.asarray(found[slot])) for slot in self.graph.inputs])

    @property
    def scale(self) -> float:
        return max(float(np.abs(self.reverse).max(initial=0.0)), 1e-300)

    @cached_property
    def _of_row(self) -> Callable[[np.ndarray], float]:
        """The loss as a function of all parameters in one row."""
        leaves, tree = jax.tree.flatten(self.params)
        ends = np.cumsum([np.size(leaf) for leaf in leaves])[:-1]
        build = lambda row: jax.tree.unflatten(tree, [c.reshape(v.shape) for c, v in zip(jnp.split(row, ends), leaves)])
        compiled = jax.jit(lambda row: self.loss(build(row)))
        return lambda row: float(compiled(row))

    def difference(self, k: int) -> float:
        """∂ loss / ∂ parameter k by central differences, with the step of least doubt."""
        row = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(self.params)])
        return slope(self._of_row, row, k).value

    def claims(self, rng: np.random.Generator, coordinates: int) -> tuple[Claim, ...]:
        """Relative to the largest entry: the recursion and reverse mode, the recursion and differences."""
        gap = np.abs(self.flow.flat - self.reverse) / self.scale
        worst, chosen = int(np.argmax(gap)), rng.permutation(gap.size)[:coordinates]
        apart = np.array([abs(self.flow.flat[k] - self.difference(k)) / self.scale for k in chosen])
        return (
            AtMost(
                "recursion and reverse mode on the graph, relative difference",
                Enclosure.at_least(float(gap[worst]), samples=gap.size),
                Enclosure.exact(1e-10),
                witness=self._again(worst) if gap[worst] > NEAR else None,
            ),
            AtMost(
                "recursion and finite differences, relative difference",
                Enclosure.at_least(float(apart.max()), samples=len(chosen)),
                Enclosure.exact(NEAR),
                witness=self._again(int(chosen[np.argmax(apart)])) if apart.max() > NEAR else None,
            ),
        )

    def _again(self, k: int) -> Witness:
        """One entry of the recursion beside the derivative of the loss in that parameter."""

        def gradient(params: Any) -> Any:
            return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(jax.grad(self.loss)(params))])

        gap = abs(Enclosure.exact(float(self.flow.flat[k])) - enclose_entry(gradient, self.params, entry=k))
        how = "the derivative in intervals rounded outward"
        return Witness({"parameter": float(k)}, gap / self.scale, Enclosure.exact(NEAR), how)

    # -- what the sources print -----------------------------------------------------------------------------

    def misprints(self) -> tuple[Claim, ...]:
        """The parameter gradient with the adjoint of the wrong end of the layer; an activation after the last layer."""
        found: list[Claim] = []
        flow, layers = self.flow, self.description.layers
        square = [r for r, layer in enumerate(layers) if layer.weight.shape[0] == layer.weight.shape[1]]
        if square:
            r = square[-1]
            printed = (flow.slopes[r] * flow.adjoints[r]).T @ flow.states[r]
            found.append(_entry(f"∇A of layer {r + 1} with the gradient at its input", printed, flow.gradients[r][0]))
        names = [layer.activation for layer in layers[:-1]]
        if names and layers[-1].activation == "identity" and names[-1] != "identity":
            bent = Description((*layers[:-1], replace(layers[-1], activation=names[-1])))
            other = backpropagate(bent, self.x, self.y).gradients[-1][0]
            found.append(_entry("∇A of the last layer with an activation after it", other, flow.gradients[-1][0]))
        return tuple(found)

    # -- pictures -------------------------------------------------------------------------------------------

    @property
    def picture(self) -> Dag:
        """States to the right with their norms; below, the norm of the adjoint that flows back."""
        flow, ids = self.flow, [f"X{r}" for r in range(len(self.flow.states))]
        notes = [
            f"‖X‖ = {np.linalg.norm(x):.3g} →\n‖g‖ = {np.linalg.norm(g):.3g} ←"
            for x, g in zip(flow.states, flow.adjoints)
        ]
        return Dag("forward and backward flow", tuple(map(Vertex, ids, ids, notes)), tuple(pairwise(ids)))

    @property
    def norms(self) -> Curves:
        r = list(range(len(self.flow.states)))
        size = lambda parts: [max(float(np.sqrt(np.mean(np.square(p)))), 1e-300) for p in parts]
        weights = [a for a, _ in self.flow.gradients]
        series = (
            Series("state X (forward)", r, size(self.flow.states)),
            Series("adjoint g (backward)", r, size(self.flow.adjoints), "other"),
            Series("∇A of the layer before", r[1:], size(weights), "reference", mark="points"),
        )
        return Curves("size layer by layer", Axis("layer"), Axis("root mean square", "log"), series)


def one_neuron() -> tuple[tuple[float, float], ...]:
    """∇ = (ŷ − y)x for ŷ = ⟨w, x⟩ + b, in numbers that float64 holds exactly: recursion and formula."""
    w, b, x, y = np.array([[1.0, 2.0, -1.0]]), np.array([0.5]), np.array([[1.0, 2.0, 3.0]]), np.array([[1.0]])
    found = backpropagate(Description((Dense(w, b),)), x, y).gradients[0][0][0]
    formula = (x[0] @ w[0] + b[0] - y[0, 0]) * x[0]
    return tuple((float(a), float(c)) for a, c in zip(found, formula))


def _entry(what: str, printed: np.ndarray, right: np.ndarray) -> Identity:
    """The entry in which two gradients differ most."""
    k = np.unravel_index(int(np.argmax(np.abs(printed - right))), right.shape)
    return Identity(what, Enclosure.equal(float(printed[k])), Enclosure.equal(float(right[k])))
