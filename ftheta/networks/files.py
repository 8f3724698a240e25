"""Weight lists in `.npz` files: `W0, b0, W1, b1, …` with `W` of shape (out, in), and `activations`.

`activations` is one word for all hidden layers or one word a layer. A file is parsed, never executed:
pickled members are refused and sizes are checked before anything is read.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ftheta.logic.errors import SubjectError, UsageError

from .activations import activation
from .description import Dense, Description
from .npy import read_arrays as read_arrays

Activations = str | Sequence[str | Sequence[str]]
"""One activation for all hidden layers, or one a layer; of a layer one for all neurons, or one for each."""


def is_weight_list(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether the arrays of an .npz file are a list of layers: W0, b0, W1, …"""
    return "W0" in arrays


def describe(arrays: Mapping[str, np.ndarray], where: str) -> Description:
    """The description held by the arrays of a weight list."""
    depth = sum(name[:1] == "W" and name[1:].isdigit() for name in arrays)
    names = activations(np.asarray(arrays.get("activations", "relu")).tolist(), depth, where)
    layers = []
    for i in range(depth):
        if f"W{i}" not in arrays:
            raise SubjectError(
                "A weight list has a gap.", where=where, got=f"{sorted(arrays)}", remedy=f"add W{i}"
            )
        weight = real(arrays[f"W{i}"], f"{where}: W{i}")
        if weight.ndim != 2:
            raise SubjectError(
                "A weight must be a matrix (out, in).", where=f"{where}: W{i}", got=weight.shape
            )
        has_bias = f"b{i}" in arrays
        bias = real(arrays[f"b{i}"], f"{where}: b{i}") if has_bias else np.zeros(len(weight))
        layers.append(Dense(weight, bias, names[i], has_bias))
    return Description(tuple(layers))


def real(array: np.ndarray, where: str) -> np.ndarray:
    """Weights in float64."""
    if array.dtype.kind not in "fiu":
        raise SubjectError("Weights must be real numbers.", where=where, got=f"dtype {array.dtype}")
    return array.astype(np.float64)


def differ_by_neuron(given: Activations) -> bool:
    """Whether some layer is given one activation a neuron: such a network is no list of layers."""
    return not isinstance(given, str) and any(not isinstance(word, str) for word in given)


def activations(given: Activations, depth: int, where: str) -> list[str]:
    """One word a layer, from one word for the hidden layers, or one word a layer with or without the last."""
    words = [given] if isinstance(given, str) else [str(word) for word in given]
    for word in words:
        try:
            activation(word)
        except UsageError as error:
            raise SubjectError(
                error.what, where=f"{where}: activations", got=word, remedy=error.remedy
            ) from error
    if len(words) == 1 and (depth > 1 or isinstance(given, str)):
        return words * (depth - 1) + ["identity"]
    if len(words) == depth - 1:
        words = [*words, "identity"]
    if len(words) != depth:
        raise SubjectError(
            "`activations` must be one word, or one word a layer.",
            where=where,
            got=f"{len(words)} words, {depth} layers",
        )
    return words


def save(description: Description, path: Path) -> None:
    """Write a description as a weight list."""
    arrays: dict[str, np.ndarray] = {
        "activations": np.array([layer.activation for layer in description.layers])
    }
    for i, layer in enumerate(description.layers):
        arrays[f"W{i}"] = layer.weight
        if layer.has_bias:
            arrays[f"b{i}"] = layer.bias
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
