"""A network looked at for vanishing gradients: on its data, or where there are none on random ones."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from operator import mul
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify.lipschitz import layer_norms
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Enclosure, Witness
from ftheta.networks import activation
from ftheta.networks.description import Description
from ftheta.spectra.loss_constants import signals
from ftheta.spectra.objective import Objective
from ftheta.spectra.signals import LayerGradients
from ftheta.training.study import natural_loss

ROWS = 64
UNGIVEN = (
    "standard normal inputs, as no data were given (ftheta audit MODEL --data FILE looks at yours)"
)


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Gradients of the function itself (`measured`, by reverse mode) beside what its list of layers says of them."""

    layers: LayerGradients
    measured: np.ndarray
    source: str
    enclose: Callable[[int], Witness]
    """Both sides for one layer with outward rounding, the bound with ‖W‖ in place of ‖J_x F‖, which is no larger."""

    @property
    def numbers(self) -> dict[str, float]:
        """The factor of the gradient per layer, its ends, and how many units let nothing through."""
        hidden = self.layers.slopes[:-1] or self.layers.slopes
        return {
            "factor a layer": self.layers.rate,
            "gradient of layer 1": self.measured[0],
            "bound of layer 1": self.layers.bounds[0],
            "gradient of the last layer": self.measured[-1],
            "largest ‖J_x F‖": self.layers.factors.max(),
            "saturated": max(self.layers.saturated),
            "dead units": float(sum(self.layers.dead)),
            "hidden units": float(sum(s.shape[1] for s in hidden)),
        }


def diagnose(net: Any, description: Description, rng: np.random.Generator) -> Diagnosis:
    """`net` has `apply`, `params`, `data`; missing inputs and labels are drawn standard normal."""
    x, y, loss, source = _rows_of(net, description, rng)
    objective = Objective.of((net.params, net.apply), (x, y), loss)
    layers = signals(objective, description, len(x))
    if layers is None:
        raise ValueError("the layers do not take these rows")
    slope = objective.build(jnp.asarray(objective.gradient()))
    leaves = [float((np.asarray(leaf) ** 2).sum()) for leaf in jax.tree.leaves(slope)]
    fits = len(leaves) == 2 * layers.depth
    measured = np.sqrt(np.array(leaves).reshape(-1, 2).sum(1)) if fits else layers.norms
    return Diagnosis(
        layers, measured, source, partial(_enclose_sides, objective, description, fits)
    )


def _enclose_sides(objective: Objective, description: Description, fits: bool, j: int) -> Witness:
    """Layer j: the gradient of the function itself, and the bound of its description, in intervals."""
    x = objective.examples.x
    y = objective.examples.y
    norms = layer_norms(description)
    constants = [activation(layer.activation).lipschitz for layer in description.layers]

    def gradient(params: Any) -> Any:
        def risk(params: Any) -> Any:
            outputs = jax.vmap(objective.model.apply, (None, 0))(params, x)
            return jnp.mean(jax.vmap(objective.loss.of)(outputs, y))

        leaves = jax.tree.leaves(jax.grad(risk)(params))[2 * j : 2 * j + 2]
        return jnp.sqrt(sum((jnp.sum(leaf * leaf) for leaf in leaves), jnp.zeros(())))

    def sizes(weights: Any, biases: Any) -> Any:
        def of_row(row: Any, target: Any) -> Any:
            state = before = row
            for i, layer in enumerate(description.layers):
                before = state if i == j else before
                state = activation(layer.activation).function(weights[i] @ state + biases[i])
            g = jax.grad(objective.loss.of)(state, target)
            return jnp.sqrt((jnp.sum(before * before) + 1) * jnp.sum(g * g))

        return jnp.mean(jax.vmap(of_row)(x, y))

    left = enclose_number(gradient, objective.model.params) if fits else Enclosure.unknown()
    told = (
        [layer.weight for layer in description.layers],
        [layer.bias for layer in description.layers],
    )
    local = enclose_number(sizes, *told) * constants[j]
    bound = reduce(mul, (c * w for c, w in zip(constants[j + 1 :], norms[j + 1 :])), local)
    how = "both sides in intervals rounded outward"
    return Witness({"layer": float(j + 1)}, left, Enclosure.between(0.0, bound.hi), how)


def _rows_of(
    net: Any, description: Description, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, str, str]:
    d = description.widths[0]
    outputs = description.widths[-1]
    if net.data is None:
        x = rng.normal(size=(ROWS, d))
        y = None
        source = f"{ROWS} {UNGIVEN}"
    else:
        x = net.data.x[:ROWS].reshape(-1, d).astype(float)
        y = net.data.y
        source = f"{len(x)} rows of {net.data.name}"
    y = None if y is None else y[:ROWS].reshape(len(x), -1).astype(float)
    loss = None if y is None else natural_loss(y, outputs)
    if y is None or loss is None:
        return x, rng.normal(size=(len(x), outputs)), "squared", f"{source}, with random targets"
    return x, y, loss, source
