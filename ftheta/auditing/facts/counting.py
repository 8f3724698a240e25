"""How large a network is."""

from pathlib import Path

import jax
import numpy as np

from ftheta.graph import Graph, GraphError, cost, function_memory, trace
from ftheta.logic import Enclosure, Fact, Table
from ftheta.networks import Description, count
from ftheta.subjects import Network

from ..part import Part

MOST_ROWS = 60
LOOPS = ("scan", "while", "cond")
WITH_WEIGHTS = (".onnx", ".gz", ".pt2", ".npz", ".safetensors")  # files that hold the parameters


def counts(net: Network, rng: np.random.Generator) -> Part:
    """Parameters, neurons, depth in every convention, operations of one evaluation and of its gradient."""
    leaves = jax.tree_util.tree_leaves_with_path(net.params)
    nonzero = sum(int(np.count_nonzero(leaf)) for _, leaf in leaves)
    facts = [
        Fact("parameters", Enclosure.exact(net.parameters), key="parameters"),
        Fact("non-zero parameters", Enclosure.exact(nonzero)),
        *_layer_facts(net),
        *_operations(net),
        *_sizes(net),
    ]
    layers = net.behind_scaling().description
    return Part(tuple(facts), (_arrays(leaves) if layers is None else _layers(layers),))


def _layer_facts(net: Network) -> list[Fact]:
    if net.description is None:
        return []
    counted = count(net.description)
    told = {"neurons": counted.neurons, "connections": counted.connections}
    told |= {f"depth, {convention}": depth for convention, depth in counted.depth.items()}
    return [Fact(name, Enclosure.exact(number)) for name, number in told.items()]


def _operations(net: Network) -> list[Fact]:
    try:
        graph = trace(net.apply, net.params, net.example)
        spent = cost(graph, wrt=graph.argument(0) or None)
    except GraphError as error:
        return [Fact("operations", f"not counted: {error.what}")]
    facts = [
        Fact("multiplications, one input", Enclosure.exact(spent.forward_total.multiplications)),
        Fact("operations, one input", Enclosure.exact(spent.forward_total.flops), key="operations"),
    ]
    facts.append(_memory(graph))
    if np.isfinite(spent.ratio):
        facts.append(Fact("cost of gradient ÷ cost of forward pass", Enclosure.equal(spent.ratio)))
    return facts


def _memory(graph: Graph) -> Fact:
    """Of the activations alone. What is moved is a view of others; between two steps a loop may hold more."""
    held = function_memory(graph)
    loops = any(node.primitive in LOOPS for node in graph.nodes)
    value = Enclosure.at_least(held) if loops else Enclosure.exact(held)
    told = "most values held at once, in float64; half of it in float32"
    return Fact("memory of activations, one input, bytes", value, told, "memory")


def _sizes(net: Network) -> list[Fact]:
    """Of the parameters in the usual precision, and of the file that they are in, where they were read from one."""
    narrow = Fact("parameters in float32, bytes", Enclosure.exact(4 * net.parameters))
    words = net.origin.model if net.origin is not None else None
    path = Path(words) if isinstance(words, (str, Path)) else None
    if path is None or path.suffix.lower() not in WITH_WEIGHTS or not path.is_file():
        return [narrow]
    on_disk = Enclosure.exact(path.stat().st_size)
    return [narrow, Fact("size of the file, bytes", on_disk, path.name, "file_size")]


def _layers(description: Description) -> Table:
    rows = [
        (
            k,
            f"{W.shape[1]} → {W.shape[0]}",
            layer.activation,
            W.size + layer.bias.size * layer.has_bias,
            _share(W),
            float(np.abs(W).max()),
        )
        for k, layer in enumerate(description.layers, 1)
        for W in (layer.weight,)
    ]
    return Table(
        "layers",
        ("layer", "size", "activation", "parameters", "weights ≠ 0", "largest weight"),
        tuple(rows),
    )


def _arrays(leaves: list) -> Table:
    rows = [
        (
            name_of_array(path),
            " × ".join(map(str, np.shape(leaf))) or "1",
            int(np.size(leaf)),
            _share(leaf),
            float(np.abs(leaf).max()),
        )
        for path, leaf in leaves[:MOST_ROWS]
    ]
    more = f", the first {MOST_ROWS} of {len(leaves)}" if len(leaves) > MOST_ROWS else ""
    return Table(
        f"arrays of parameters{more}",
        ("array", "shape", "parameters", "≠ 0", "largest"),
        tuple(rows),
    )


def name_of_array(path: tuple) -> str:
    """The place of an array in the tree of parameters, in words."""
    return jax.tree_util.keystr(path, simple=True, separator=".") or "parameters"


def _share(array: np.ndarray) -> str:
    return f"{100 * np.count_nonzero(array) / max(1, np.size(array)):.4g} %"
