"""Diagrams of networks that several theorems show."""

from ftheta.logic import Diagram, Layer
from ftheta.networks.description import Description


def draw_layers(description: Description, title: str) -> Diagram:
    """The layers from input to output with their widths and activations."""
    layers = [Layer("input", description.widths[0])]
    last = len(description.layers)
    for i, layer in enumerate(description.layers, 1):
        note = "" if layer.activation == "identity" and i == last else layer.activation
        layers.append(Layer("output" if i == last else f"layer {i}", len(layer.bias), note))
    return Diagram(title, tuple(layers))
