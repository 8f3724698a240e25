"""What could be left out: neurons that do nothing on the box of the data, and the effective rank of every layer."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph import Graph, Node, trace, values
from ftheta.logic import Axis, Bars, Basis, Chart, Enclosure, Fact, SubjectError, Table
from ftheta.spectra.ranks import effective_rank as rank_of
from ftheta.stability.simplification import simplify
from ftheta.subjects import Network

from ..judging import judge
from ..part import Part, no_better
from .inputs import affordable, ensure_real_inputs, piecewise_affine, some_rows
from .signals import is_activation, name_parameters

ROWS = 512  # whose activations are looked at
HELD = 1 << 25  # numbers held at once
MOST_SIDE = 4096  # of a matrix whose singular values are computed
SHOWN = 40
MOST_BARS = 12


def units_on_the_box(net: Network, rng: np.random.Generator) -> Part:
    """ReLUs that are dead, or linear, at every input between the least and the largest entries of the data: proved, by
    bounds rounded outward. With copies and unused neurons, what can be left out."""
    data = net.data
    if data is None:
        raise SubjectError(
            "This needs data.",
            got="no data",
            remedy="add --data: the box is the one around its rows",
        )
    ensure_real_inputs(net)
    _, basis = piecewise_affine(net)
    rows = data.x.reshape(len(data), -1).astype(np.float64)
    found = simplify(
        net, (rows.min(0).reshape(net.input_shape), rows.max(0).reshape(net.input_shape))
    )
    dead = sum(map(len, found.dead))
    linear = sum(map(len, found.linear))
    before, after = (sum(form.widths[1:-1]) for form in (found.original, found.network))
    told = f"on the box around the rows of {data.name}, rounded outward"
    if basis is not Basis.EXACT:
        told = f"{told}; {found.original.meaning}"
    counted = lambda count: no_better(Enclosure.exact(count), basis)
    facts = (
        Fact(
            "ReLUs proved dead on the box of the data", counted(dead), told, "proved_dead_neurons"
        ),
        Fact(
            "ReLUs proved linear on the box of the data",
            counted(linear),
            told,
            "proved_linear_neurons",
        ),
        Fact("copies of other neurons there", counted(found.removed.copies), told),
        Fact(
            "neurons that can be left out there", counted(before - after), told, "removable_neurons"
        ),
        Fact(
            "widths of an equal network on the box", "-".join(map(str, found.network.widths)), told
        ),
    )
    says = (
        f"{before - after:,} of {before:,} neurons can be left out at no change on the box of the data "
        f"({dead:,} dead, {linear:,} linear, {found.removed.copies:,} copies)."
    )
    value = counted(before - after)
    command = f"`ftheta simplify {net.name} --box {data.name} --out small.onnx` writes the smaller network"
    word = "proved" if basis is Basis.EXACT else "computed in float64"
    return Part(
        facts, findings=judge("removable-neurons", value, says, f"{word}, {told}", remedy=command)
    )


def effective_rank(net: Network, rng: np.random.Generator) -> Part:
    """The effective rank of every matrix of weights, and of the activations of every layer over the rows."""
    net = net.behind_scaling()
    table = _weights_table(net)
    graph = trace(net.apply, net.params, net.example)
    nodes = [node for node in graph.nodes if is_activation(graph, node)]
    if not nodes and not table:
        raise SubjectError(
            "No layers were found.", got=f"{len(graph.nodes)} operations", remedy="give a network"
        )
    if not nodes:
        return Part((Fact("matrices of weights", Enclosure.exact(len(table[0].rows))),), table)
    held = sum(node.outputs[0].size for node in nodes)
    x, told = some_rows(net, min(affordable(net, 5e9, 8, ROWS), max(HELD // held, 8)), rng)
    if len(x) < 2:
        remedy = "add rows: `--data`"
        raise SubjectError("This needs at least two rows.", got=f"{len(x)}", remedy=remedy)
    layers = _watch_layers(net, graph, nodes, x)
    ranks = [rank_of(layer) for layer in layers]
    names = [f"{k}: {node.label or node.primitive}" for k, node in enumerate(nodes, 1)]
    rows = [
        (name, layer.shape[1], min(layer.shape), rank)
        for name, layer, rank in zip(names, layers, ranks)
    ][:SHOWN]
    heads = ("activation", "units", "largest possible rank", "effective rank")
    here = Table(f"effective rank of activations, {told}", heads, tuple(rows))
    lowest = int(np.argmin(ranks))
    note = f"activation {names[lowest]}, {layers[lowest].shape[1]:,} units, {told}"
    value = Enclosure.measured(ranks[lowest], samples=len(x))
    # a threshold is about all rows
    key = "effective_rank" if net.data is not None and len(x) == len(net.data) else ""
    fact = Fact("least effective rank of the activations of a layer", value, note, key)
    needed = min(rank_of(x.reshape(len(x), -1)), max(int(np.prod(net.output_shape)) - 1, 1))
    units = layers[lowest].shape[1]
    says = f"The {units:,} activations of layer {names[lowest]} have effective rank {ranks[lowest]:.2g}."
    means = f"{needed:.2g} would be needed for outputs that vary freely."
    if not needed > 0:  # the rows are all the same
        return Part((fact,), (here, *table), _picture(names, layers, ranks))
    findings = judge("rank-collapse", value, says, judged_by=ranks[lowest] / needed, means=means)
    return Part((fact,), (here, *table), _picture(names, layers, ranks), findings)


def _weights_table(net: Network) -> tuple[Table, ...]:
    rows = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(net.params):
        if np.ndim(leaf) < 2:
            continue
        matrix = np.asarray(leaf, np.float64).reshape(len(leaf), -1)
        if min(matrix.shape) <= MOST_SIDE and len(rows) < SHOWN:
            size = "×".join(map(str, np.shape(leaf)))
            rows.append(
                (
                    name_parameters(net, path),
                    size,
                    min(matrix.shape),
                    rank_of(matrix, centred=False),
                )
            )
    heads = ("parameters", "shape", "largest possible rank", "effective rank")
    return (Table("effective rank of matrices of weights", heads, tuple(rows)),) if rows else ()


def _watch_layers(net: Network, graph: Graph, nodes: list[Node], x: np.ndarray) -> list[np.ndarray]:
    """The values behind each activation, a row per row of `x`."""

    @jax.jit
    def look(params: Any, block: Any) -> list[Any]:
        def of_row(row: Any) -> list[Any]:
            seen = values(graph, params, row)
            return [jnp.ravel(seen[node.outputs[0]]) for node in nodes]

        return jax.lax.map(of_row, block, batch_size=32)

    return [np.asarray(layer, np.float64) for layer in look(net.params, x)]


def _picture(names: list[str], layers: list[np.ndarray], ranks: list[float]) -> tuple[Chart, ...]:
    if not len(names) <= MOST_BARS:
        return ()
    most = [min(layer.shape) for layer in layers]
    titles = tuple(f"activation {name}" for name in names)
    groups = ("largest possible", "effective")
    return (
        Bars(
            "effective rank of the activations of each layer",
            Axis("rank"),
            titles,
            groups,
            (most, ranks),
        ),
    )
