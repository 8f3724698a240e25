"""What a network is, in words and as a drawing."""

from collections import Counter

import jax
import numpy as np

from ftheta.graph import Graph, GraphError, trace
from ftheta.logic import Diagram, Layer
from ftheta.networks import count
from ftheta.subjects import Network

from .part import NETWORK, Portrait

PRODUCTS = {"dot_general": "matrix product", "conv_general_dilated": "convolution"}
BENDS = {  # operations that are not affine, by the names they are known by
    **{name: name for name in ("max", "tanh", "erf", "exp", "log1p", "sin", "cos", "abs")},
    "logistic": "sigmoid",
    "erfc": "gelu",
    "select_n": "choices",
    "reduce_max": "maxima",
    "reduce_window_max": "max-pool",
}


def portray(net: Network) -> Portrait:
    """What the network is."""
    data = net.data or net.law
    named = "" if data is None else data.name
    if any(which == NETWORK for which, _ in net.data_errors):
        return Portrait(net.name, "", net.fingerprint, _of_data(net), None, named, net.data_errors)
    return Portrait(
        net.name,
        type(net).__name__,
        net.fingerprint,
        in_words(net),
        diagram(net),
        named,
        net.data_errors,
    )


def in_words(net: Network) -> tuple[tuple[str, str], ...]:
    """Pairs of name and value, what matters most first."""
    facts = [
        ("input", " × ".join(map(str, net.input_shape)) or "one number"),
        ("output", " × ".join(map(str, net.output_shape)) or "one number"),
        ("parameters", f"{net.parameters:,}"),
    ]
    if net.description is not None:
        counts = count(net.description)
        words = sorted({layer.activation for layer in net.description.layers[:-1]})
        facts += [
            ("activations", ", ".join(words) or "none"),
            ("affine layers", f"{counts.affine_layers}"),
            ("neurons", f"{counts.neurons:,}"),
        ]
    else:
        facts += _operations(_trace(net))
    if net.scaled_layers is not None:
        facts.append(("input scaling", "by constants before layer 1, which are no parameters"))
    if net.role:
        facts.append(("role", net.role))
    if net.law is not None:
        facts.append(("data to imitate", f"{net.law.name}, {len(net.law):,} rows"))
    return (*facts, *_of_data(net))


def _of_data(net: Network) -> tuple[tuple[str, str], ...]:
    if net.data is None:
        return ()
    labels = "" if net.data.y is None else " with labels"
    told = ("data", f"{net.data.name}, {len(net.data):,} rows{labels}")
    return (told, *(("data warning", note) for note in net.data.notes))


def _trace(net: Network) -> Graph | None:
    try:
        with jax.enable_x64(True):
            return trace(net.apply, net.params, net.example)
    except GraphError:
        return None


def _operations(graph: Graph | None) -> list[tuple[str, str]]:
    if graph is None:
        return []
    kinds = Counter(PRODUCTS[node.primitive] for node in graph.nodes if node.primitive in PRODUCTS)
    told = [(f"{name}s" if name[-1] != "s" else name, f"{n:,}") for name, n in kinds.most_common()]
    met = (
        (node.label, node.primitive)
        for node in graph.nodes
        if node.label or node.primitive in BENDS
    )
    bends = Counter(label or BENDS[primitive] for label, primitive in met)
    # JAX holds the maximum still in it
    softmaxes = sum(node.primitive == "stop_gradient" for node in graph.nodes)
    bends.subtract(dict.fromkeys(("maxima", "max", "exp"), softmaxes))
    bends["softmax"] += softmaxes
    return [
        *told,
        (
            "nonlinear operations",
            ", ".join(f"{n} {name}" for name, n in (+bends).most_common(6)) or "none",
        ),
    ]


def diagram(net: Network) -> Diagram | None:
    """The layers of a description, or the matrix products and convolutions of the graph."""
    layers = _layers_of_description(net) if net.description is not None else _layers_of_graph(net)
    return Diagram(net.name, tuple(layers)) if layers else None


def _layers_of_description(net: Network) -> list[Layer]:
    assert net.description is not None
    widths = net.description.widths
    layers = [Layer("input", widths[0])]
    for i, (layer, width) in enumerate(zip(net.description.layers, widths[1:]), 1):
        last = i == len(widths) - 1
        layers.append(
            Layer("output" if last else f"layer {i}", width, "" if last else layer.activation)
        )
    return layers


def _layers_of_graph(net: Network) -> list[Layer]:
    graph = _trace(net)
    products = (
        [node for node in graph.nodes if node.primitive in PRODUCTS] if graph is not None else []
    )
    if not products:
        return []
    hidden = [
        Layer(f"{i}", int(np.prod(node.shape)), _note(node.primitive, node.shape))
        for i, node in enumerate(products, 1)
    ]
    ends = int(np.prod(net.input_shape)), int(np.prod(net.output_shape))
    return [Layer("input", ends[0]), *hidden, Layer("output", ends[1])]


def _note(primitive: str, shape: tuple[int, ...]) -> str:
    word = "conv" if primitive.startswith("conv") else "product"
    return f"{word} {'×'.join(map(str, (s for s in shape if s != 1))) or '1'}"
