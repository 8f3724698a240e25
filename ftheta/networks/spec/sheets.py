"""The sheet on which the layers of a spec are written as nodes: names, constants, activations, affine maps."""

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

import numpy as np

import ftheta.networks.spec.layers as kinds
from ftheta.logic.errors import SubjectError
from ftheta.networks.programs.node import Node
from ftheta.networks.programs.spellings import SPELLINGS, Z

from .tensors import NamedTensors

FURTHER: Mapping[str, tuple[str, dict[str, Any]]] = {
    "elu": ("Elu", {"alpha": 1.0}),
    "selu": ("Selu", {"alpha": 1.6732632423543772, "gamma": 1.0507009873554805}),
    "gelu-tanh": ("Gelu", {"approximate": "tanh"}),
    "hard-sigmoid": ("HardSigmoid", {"alpha": 1 / 6, "beta": 0.5}),
    "hard-swish": ("HardSwish", {}),
    "mish": ("Mish", {}),
    "softsign": ("Softsign", {}),
    "softmax": ("Softmax", {"axis": -1}),
    "log-softmax": ("LogSoftmax", {"axis": -1}),
}
"""Activations without an entry in `ACTIVATIONS`: functions that are computed, and of which nothing more is known."""

OF_WHOLE_LAYERS = ("softmax", "log-softmax")
"""Activations whose entries look at one another: no neuron has one of its own."""

EPSILON = {"torch": (1e-5, 1e-5), "jax": (1e-5, 1e-6), "keras": (1e-3, 1e-3)}
"""What PyTorch, flax and Keras add to a variance if nothing is said: in batch normalisation, and in all others."""


class Sheet:
    """Nodes that are being written, each kind of layer by one of the `writers`; `taken` are names that are in use.

    `rank` is that of the value written last, its batch axis included.
    """

    def __init__(
        self,
        spec: kinds.Spec,
        tensors: NamedTensors,
        writers: Mapping[str, Callable[..., str]],
        taken: set[str],
    ) -> None:
        self.tensors = tensors
        self.writers = writers
        self.layout = spec.layout or "torch"
        self.rank = 1 + len(spec.input or ())
        self.nodes: list[Node] = []
        self.constants: dict[str, np.ndarray] = {}
        self.labels = {*taken, *tensors.arrays}

    def chain(self, layers: list[Any], x: str, prefix: str) -> str:
        for i, layer in enumerate(layers):
            label = self._label(layer.name or f"{prefix}layer{i}")
            x = self.writers[layer.kind](self, layer, x, label)
            if isinstance(layer.activation, str):
                x = self._add_activation(layer.activation, x, label)
            else:
                x = self._add_activations(layer, x, label)
            x = self.node("Identity", [x], label)  # so that `until` can name the layer
        return x

    def _label(self, wanted: str) -> str:
        """A name that no other layer has: layers may share their tensors."""
        label = wanted
        k = 2
        while label in self.labels:
            label = f"{wanted}#{k}"
            k = k + 1
        self.labels.add(label)
        return label

    def node(
        self, op: str, inputs: list[str], label: str, part: str = "", **attributes: Any
    ) -> str:
        output = f"{label}:{part}" if part else label
        self.nodes.append(Node(op, tuple(inputs), (output,), attributes, label))
        return output

    def constant(self, name: str, value: Any) -> str:
        self.constants[name] = np.asarray(value)
        return name

    def _add_activations(self, layer: kinds.DenseLayer | kinds.Conv, x: str, label: str) -> str:
        """One activation a neuron: neighbours with the same one are taken together."""
        words = list(layer.activation)
        self._ensure_one_a_neuron(layer, words, label)
        runs = [(word, len(list(same))) for word, same in groupby(words)]
        sizes = self.constant(f"{label}:runs", [length for _, length in runs])
        parts = tuple(f"{label}:run{i}" for i in range(len(runs)))
        has_channels_first = isinstance(layer, kinds.Conv) and self.layout == "torch"
        axis = 1 if has_channels_first else self.rank - 1
        self.nodes.append(Node("Split", (x, sizes), parts, {"axis": axis}, label))
        activated = [self._add_activation(word, part, part) for (word, _), part in zip(runs, parts)]
        return self.node("Concat", activated, label, "neurons", axis=axis)

    def _ensure_one_a_neuron(
        self, layer: kinds.DenseLayer | kinds.Conv, words: list[str], label: str
    ) -> None:
        where = f"{self.tensors.where}, {label}"
        weight = self.tensors.need("weight", layer.weight, layer.name, label)
        neurons = self.tensors.taken[weight].shape[0 if self.layout == "torch" else -1]
        if len(words) != neurons:
            raise SubjectError(
                "There must be one activation a neuron, or one word for all of them.",
                where=where,
                got=f"{len(words)} words, {neurons} neurons",
            )
        for word in words:
            if _spelt(word) in OF_WHOLE_LAYERS:
                raise SubjectError(
                    "This activation is one of a whole layer.",
                    where=where,
                    got=word,
                    remedy="give it as the only word of the layer",
                )

    def _add_activation(self, word: str, x: str, label: str) -> str:
        word = _spelt(word)
        if word == "identity":
            return x
        if word in FURTHER:
            op, attributes = FURTHER[word]
            return self.node(op, [x], label, word, **attributes)
        if word not in SPELLINGS:
            remedy = f"choose one of {', '.join([*SPELLINGS, *FURTHER, 'identity'])}"
            raise SubjectError(
                "Unknown activation.",
                where=f"{self.tensors.where}, {label}",
                got=word,
                remedy=remedy,
            )
        return self._add_spelling(SPELLINGS[word], x, label, word)

    def _add_spelling(self, spelling: Any, z: str, label: str, part: str) -> str:
        if spelling == Z:
            return z
        if isinstance(spelling, float):
            return self.constant(f"{label}:{part}", spelling)
        op, *arguments = spelling
        inputs = [self._add_spelling(a, z, label, f"{part}{k}") for k, a in enumerate(arguments)]
        return self.node(op, inputs, label, part)

    # ---- affine maps ----

    def affine(self, weight: str, bias: str | None, x: str, label: str, part: str = "") -> str:
        """$Wx+b$ along the last axis; the names are those of a matrix in the layout of the file, and of a vector."""
        if self.layout == "torch":
            weight = self.node("Transpose", [weight], label, f"{part}turned", perm=[1, 0])
        y = self.node("MatMul", [x, weight], label, f"{part}product")
        return y if bias is None else self.node("Add", [y, bias], label, f"{part}sum")

    def multiply(self, matrix: np.ndarray, bias: str | None, x: str, label: str, part: str) -> str:
        """The same with a matrix (out, in) of its own."""
        constant = self.constant(f"{label}:{part}", matrix.T)
        y = self.node("MatMul", [x, constant], label, f"{part}-product")
        return y if bias is None else self.node("Add", [y, bias], label, f"{part}-sum")

    def matrix(self, weight: str) -> np.ndarray:
        """The weight of a dense layer as (out, in)."""
        array = self.tensors.taken[weight]
        if array.ndim != 2 or not array.size:
            raise SubjectError(
                "A weight must be a matrix.",
                where=f"{self.tensors.where}, {weight}",
                got=array.shape,
            )
        return array if self.layout == "torch" else array.T

    def channels_first(self, x: str, label: str, write: Callable[[str], str]) -> str:
        """What `write` makes of x with its channels on the second axis; in other layouts they are on the last."""
        last = self.rank - 1
        if self.layout == "torch" or last < 2:
            return write(x)
        x = self.node("Transpose", [x], label, "channels-first", perm=[0, last, *range(1, last)])
        return self.node(
            "Transpose", [write(x)], label, "channels-last", perm=[0, *range(2, last + 1), 1]
        )

    def lengths(self, given: int | list[int], axes: int, label: str) -> list[int]:
        if isinstance(given, int):
            return [given] * axes
        if len(given) != axes:
            raise SubjectError(
                "There must be one number an axis.",
                where=f"{self.tensors.where}, {label}",
                got=f"{given}, {axes} axes",
            )
        return list(given)

    def pads(self, given: Any, axes: int, label: str) -> dict[str, Any]:
        if isinstance(given, str):
            return {"auto_pad": "SAME_UPPER" if given == "same" else "VALID"}
        return {"pads": self.lengths(0 if given is None else given, axes, label) * 2}

    def axes(self, label: str) -> int:
        if self.rank < 3:
            raise SubjectError(
                "There are no axes to slide over.",
                where=f"{self.tensors.where}, {label}",
                got="an input of one axis",
            )
        return self.rank - 2

    def epsilon(self, given: float | None, batch: bool) -> float:
        return EPSILON[self.layout][not batch] if given is None else given


def _spelt(word: str) -> str:
    return word.lower().replace("_", "-")
