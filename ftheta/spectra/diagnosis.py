"""A network looked at for vanishing gradients: on its data, or where there are none on random ones."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from operator import mul
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify import layer_norms
from ftheta.estimates import worst_ratio
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Identity, Series, Witness
from ftheta.networks import activation, random_mlp
from ftheta.networks.description import Description
from ftheta.training.study import natural_loss

from .constants import signals
from .objective import Objective
from .signals import LayerGradients, residual_gradients

ROWS = 64
UNGIVEN = "standard normal inputs, as no data were given (ftheta audit MODEL --data FILE looks at yours)"
FAMILIES = ("sigmoid", "tanh", "relu", "residual tanh")


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Gradients of the function itself (`measured`, by reverse mode) beside what its list of layers says of them."""

    layers: LayerGradients
    measured: np.ndarray
    source: str
    against: Callable[[int], Witness]
    """Both sides for one layer with outward rounding, the bound with ‖W‖ in place of ‖J_x F‖, which is no larger."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """One for each layer; of a deep network, for the layers where the bound is tightest."""
        ratio = np.array([worst_ratio(m, b) for m, b in zip(self.measured, self.layers.bounds)])
        shown = np.sort(np.argsort(-ratio, kind="stable")[:12])
        left, right = ([_known(float(v)) for v in side] for side in (self.measured, self.layers.bounds))
        return tuple(
            AtMost(
                f"‖∇_θ L‖ of layer {j + 1}",
                left[j],
                right[j],
                witness=self.against(int(j)) if ratio[j] > 1 + 1e-9 else None,
                atol=1e-300,
            )
            for j in shown
        )

    @property
    def numbers(self) -> dict[str, float]:
        found, bound = self.layers, self.layers.bounds
        told = {"factor a layer": found.rate, "gradient of layer 1": self.measured[0], "bound of layer 1": bound[0]}
        told |= {"gradient of the last layer": self.measured[-1], "largest ‖J_x F‖": found.factors.max()}
        hidden = found.slopes[:-1] or found.slopes
        told |= {"saturated": max(found.saturated), "dead units": float(sum(found.dead))}
        return told | {"hidden units": float(sum(s.shape[1] for s in hidden))}


def _known(value: float) -> Enclosure:
    """A value in float64; nothing is known of one that left its range."""
    return Enclosure.equal(value) if np.isfinite(value) else Enclosure()


def diagnosed(net: Any, description: Description, rng: np.random.Generator) -> Diagnosis:
    """`net` has `apply`, `params`, `data`; missing inputs and labels are drawn standard normal."""
    x, y, loss, source = _examples(net, description, rng)
    objective = Objective.of((net.params, net.apply), (x, y), loss)
    layers = signals(objective, description, len(x))
    if layers is None:
        raise ValueError("the layers do not take these rows")
    slope = objective.build(jnp.asarray(objective.gradient()))
    leaves = [float((np.asarray(leaf) ** 2).sum()) for leaf in jax.tree.leaves(slope)]
    fits = len(leaves) == 2 * layers.depth
    measured = np.sqrt(np.array(leaves).reshape(-1, 2).sum(1)) if fits else layers.norms
    return Diagnosis(layers, measured, source, partial(_against, objective, description, fits))


def _against(objective: Objective, description: Description, fits: bool, j: int) -> Witness:
    """Layer j: the gradient of the function itself, and the bound of its description, in intervals."""
    x, y = objective.examples.x, objective.examples.y
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
    told = [layer.weight for layer in description.layers], [layer.bias for layer in description.layers]
    local = enclose_number(sizes, *told) * constants[j]
    bound = reduce(mul, (c * w for c, w in zip(constants[j + 1 :], norms[j + 1 :])), local)
    how = "both sides in intervals rounded outward"
    return Witness({"layer": float(j + 1)}, left, Enclosure.between(0.0, bound.hi), how)


def _examples(net: Any, description: Description, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, str, str]:
    d, outputs = description.widths[0], description.widths[-1]
    if net.data is None:
        x, y, source = rng.normal(size=(ROWS, d)), None, f"{ROWS} {UNGIVEN}"
    else:
        x, y = net.data.x[:ROWS].reshape(-1, d).astype(float), net.data.y
        source = f"{len(x)} rows of {net.data.name}"
    y = None if y is None else y[:ROWS].reshape(len(x), -1).astype(float)
    loss = None if y is None else natural_loss(y, outputs)
    if y is None or loss is None:
        return x, rng.normal(size=(len(x), outputs)), "squared", f"{source}, with random targets"
    return x, y, loss, source


def linear_chain(weight: Fraction, depth: int = 10) -> Identity:
    r"""$\partial_{w_1}w_L\cdots w_1$ at equal weights by reverse mode, beside $w^{L-1}$: exact for powers of two."""
    found = jax.grad(lambda *weights: reduce(mul, weights))(*[float(weight)] * depth)
    name = f"scalar linear chain of {depth} weights {weight}: ∂w₁"
    return Identity(name, Enclosure.exact(float(found)), Enclosure.exact(weight ** (depth - 1)))


def families(rng: np.random.Generator, depth: int, width: int) -> Curves:
    """Gradients by layer of four random networks of one size, each with its usual initialisation."""
    x, y = rng.normal(size=(ROWS, width)), rng.normal(size=(ROWS, 1))
    series = []
    for name in FAMILIES:
        word = name.split()[-1]
        net = random_mlp(rng, (*[width] * depth, 1), word, gain=2.0 if word == "relu" else 1.0)
        norms = residual_gradients(net, x, y, depth**-0.5 if name != word else None)
        series.append(Series(name, np.arange(1, depth + 1), np.maximum(norms, 1e-300)))
    title = f"gradient of each layer at initialisation, {depth} layers of width {width}"
    return Curves(title, Axis("layer j"), Axis("norm of the gradient", "log"), tuple(series))
