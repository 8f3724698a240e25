r"""From the description $\theta$ to its realisation $f_\theta$, one map at a time, and back from a file."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ftheta.lazy import jax, jnp
from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.logic.witness import Witness

from .activations import activation
from .description import Dense, Description
from .files import describe, read_arrays, save

STORED = 4_000_000  # parameters above which no file is written
ROUNDING = 1e-9  # of the largest state on the way: what two orders of summation may differ by


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two ways to one output of a network: where they differ most, the two values, and the size of all states.

    `again` evaluates both ways once more at that input alone: what a contradiction needs to be one.
    """

    point: int
    output: int
    left: Enclosure
    right: Enclosure
    scale: float
    again: Witness | None

    @property
    def gap(self) -> float:
        """The distance of the two values."""
        return abs(self.left.middle - self.right.middle)

    @property
    def within_rounding(self) -> bool:
        """Whether rounding explains their distance."""
        return self.left.is_point and self.right.is_point and self.gap <= self.tolerance

    @property
    def tolerance(self) -> float:
        """What two orders of summation may differ by."""
        return ROUNDING * self.scale


def states(description: Description, x: np.ndarray) -> list[tuple[str, np.ndarray]]:
    r"""The outputs $g^{(1)},g^{(2)},\dots$ at the rows of `x`, after every affine map and every activation.

    With $L$ affine maps and an affine output these are $2L-1$. The products are NumPy's: a second way to the value of
    `Description.apply`.
    """
    found = []
    state = np.asarray(x, np.float64)
    for i, layer in enumerate(description.layers, 1):
        state = state @ layer.weight.T + layer.bias
        found.append((f"affine map {i}", state))
        if layer.activation != "identity" or i < len(description.layers):
            state = np.asarray(activation(layer.activation).function(jnp.asarray(state)))
            found.append((f"{layer.activation} {i}", state))
    return found


def compare_outputs(f: Callable[[Any], Any], description: Description, x: np.ndarray) -> Comparison:
    """A function of one input beside the layers of the description, at the rows of `x`."""
    passed = states(description, x)
    left = np.asarray(jax.vmap(f)(x), np.float64).reshape(len(x), -1)
    right = passed[-1][1]
    if left.shape != right.shape:
        got = f"{left.shape[1]} outputs and {right.shape[1]}"
        raise SubjectError(
            "The description and the function have outputs of different sizes.", got=got
        )
    with np.errstate(all="ignore"):
        gap = np.nan_to_num(np.abs(left - right), nan=np.inf)
    i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
    scale = max(float(np.abs(state).max()) for _, state in passed)
    one, other = (_enclose_seen(side[i, j], len(x)) for side in (left, right))
    again = _again(f, description, x[i], int(j)) if gap[i, j] > 0 else None
    return Comparison(int(i), int(j), one, other, scale if isfinite(scale) else 1.0, again)


def _again(
    f: Callable[[Any], Any], description: Description, x: np.ndarray, output: int
) -> Witness:
    """Both functions at one input, evaluated again with outward rounding."""
    # imports JAX, which few who describe a network need
    from ftheta.graph.enclosing import enclose_entry

    one = enclose_entry(f, x, entry=output)
    other = enclose_entry(description.apply, description.params, x, entry=output)
    at = {"x": tuple(x.tolist()), "output": float(output)}
    return Witness(at, one, other, "one input alone, in intervals rounded outward")


def _enclose_seen(value: float, inputs: int) -> Enclosure:
    """A value among those at so many inputs; nothing is known of one that is not finite."""
    ends = (value, value) if isfinite(value) else (-np.inf, np.inf)
    return Enclosure(float(ends[0]), float(ends[1]), Basis.SAMPLED, inputs)


def lost_in_a_file(description: Description) -> int:
    """Written to a file and read back: how many numbers, shapes or activations are not the same, bit for bit."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "description.npz"
        save(description, path)
        again = describe(read_arrays(path), path.name)
    return count_differing(description, again)


def count_differing(one: Description, other: Description) -> int:
    """How many weights, biases and activations differ; different shapes count as all of them."""
    if one.widths != other.widths:
        return sum(w.size + b.size for w, b in one.params)
    words = sum(a.activation != b.activation for a, b in zip(one.layers, other.layers))
    numbers = sum(
        int(np.count_nonzero(a.weight != b.weight) + np.count_nonzero(a.bias != b.bias))
        for a, b in zip(one.layers, other.layers)
    )
    return words + numbers


def prune_weights(description: Description, share: float, rng: np.random.Generator) -> Description:
    """About that share of the weights set to zero."""
    layers = (
        Dense(y.weight * (rng.random(y.weight.shape) >= share), y.bias, y.activation)
        for y in description.layers
    )
    return Description(tuple(layers))


def forget(description: Description, what: str) -> Description:
    """A wrong description of the same network: without its `biases`, or without its `activations`."""
    keeps_bias = what != "biases"
    keeps_words = what != "activations"
    layers = (
        Dense(y.weight, y.bias * keeps_bias, y.activation if keeps_words else "identity")
        for y in description.layers
    )
    return description if keeps_bias and keeps_words else Description(tuple(layers))


def permute_neurons(description: Description, rng: np.random.Generator) -> Description:
    r"""The hidden neurons in another order: $(P_\ell W_\ell P_{\ell-1}^\top,P_\ell b_\ell)$, the same function."""
    layers = []
    order = np.arange(description.widths[0])
    for i, layer in enumerate(description.layers, 1):
        rows = len(layer.bias)
        new = rng.permutation(rows) if i < len(description.layers) else np.arange(rows)
        layers.append(Dense(layer.weight[np.ix_(new, order)], layer.bias[new], layer.activation))
        order = new
    return Description(tuple(layers))
