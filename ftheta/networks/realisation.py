r"""From the description $\theta$ to its realisation $f_\theta$, one map at a time, and back from a file."""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ftheta.logic import Bars, Axis, Diagram, Enclosure, Layer, SubjectError, Table

from .activations import activation
from .description import Dense, Description
from .files import describe, read_arrays, save

STORED = 4_000_000  # parameters above which no file is written


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two ways to one output of a network: where they differ most, the two values, and the size of all states."""

    point: int
    output: int
    left: Enclosure
    right: Enclosure
    scale: float


def layers_of(description: Description | None) -> Description:
    """The description, or an error that says what is missing."""
    if description is None:
        raise SubjectError(
            "This network has no description.",
            got="a function whose layers are not known",
            remedy="give a list of layers: an .npz with W0, b0, …, or an equinox MLP with a named activation",
        )
    return description


def states(description: Description, x: np.ndarray) -> list[tuple[str, np.ndarray]]:
    r"""The outputs $g^{(1)},g^{(2)},\dots$ at the rows of `x`, after every affine map and every activation.

    With $L$ affine maps and an affine output these are $2L-1$. The products are NumPy's, one row of the weight at a
    time being summed in another order than JAX's: a second way to the value of `Description.apply`.
    """
    found, state = [], np.asarray(x, np.float64)
    for i, layer in enumerate(description.layers, 1):
        state = state @ layer.weight.T + layer.bias
        found.append((f"affine map {i}", state))
        if layer.activation != "identity" or i < len(description.layers):
            state = np.asarray(activation(layer.activation).function(state))
            found.append((f"{layer.activation} {i}", state))
    return found


def compared(left: np.ndarray, right: np.ndarray, passed: list[tuple[str, np.ndarray]]) -> Comparison:
    """Where two arrays of outputs (points, outputs) differ most; `passed` are the states on the way."""
    with np.errstate(all="ignore"):
        gap = np.nan_to_num(np.abs(left - right), nan=np.inf)
    i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
    scale = max(float(np.abs(state).max()) for _, state in passed)
    return Comparison(int(i), int(j), _known(left[i, j]), _known(right[i, j]), scale if isfinite(scale) else 1.0)


def _known(value: float) -> Enclosure:
    return Enclosure.equal(float(value)) if isfinite(value) else Enclosure()


def lost_in_a_file(description: Description) -> int:
    """Written to a file and read back: how many numbers, shapes or activations are not the same, bit for bit."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "description.npz"
        save(description, path)
        again = describe(read_arrays(path), path.name)
    return differing(description, again)


def differing(one: Description, other: Description) -> int:
    """How many weights, biases and activations differ; different shapes count as all of them."""
    if one.widths != other.widths:
        return sum(w.size + b.size for w, b in one.params)
    words = sum(a.activation != b.activation for a, b in zip(one.layers, other.layers))
    numbers = sum(
        int(np.count_nonzero(a.weight != b.weight) + np.count_nonzero(a.bias != b.bias))
        for a, b in zip(one.layers, other.layers)
    )
    return words + numbers


def permuted(description: Description, rng: np.random.Generator) -> Description:
    r"""The hidden neurons in another order: $(P_\ell W_\ell P_{\ell-1}^\top,P_\ell b_\ell)$, the same function."""
    layers, order = [], np.arange(description.widths[0])
    for i, layer in enumerate(description.layers, 1):
        rows = len(layer.bias)
        new = rng.permutation(rows) if i < len(description.layers) else np.arange(rows)
        layers.append(Dense(layer.weight[np.ix_(new, order)], layer.bias[new], layer.activation))
        order = new
    return Description(tuple(layers))


def diagram(description: Description, title: str) -> Diagram:
    drawn, last = [Layer("input", description.widths[0])], len(description.layers)
    for i, layer in enumerate(description.layers, 1):
        note = "" if layer.activation == "identity" and i == last else layer.activation
        drawn.append(Layer("output" if i == last else f"layer {i}", len(layer.bias), note))
    return Diagram(title, tuple(drawn))


def sizes(passed: list[tuple[str, np.ndarray]]) -> Bars:
    """The root mean square of every intermediate output."""
    shown = passed if len(passed) <= 40 else passed[:20] + passed[-20:]
    values = [float(np.sqrt(np.mean(np.square(state)))) for _, state in shown]
    kept = [v if isfinite(v) else 0.0 for v in values]
    return Bars("size of the intermediate outputs", Axis("root mean square"), tuple(n for n, _ in shown), ("g",), [kept])


def layer_table(description: Description) -> Table:
    rows = tuple(
        (i, layer.weight.shape[1], len(layer.bias), int(np.count_nonzero(layer.weight)), len(layer.bias), layer.activation)
        for i, layer in enumerate(description.layers, 1)
    )
    return Table("layers", ("ℓ", "inputs", "outputs", "connections", "biases", "activation"), rows)
