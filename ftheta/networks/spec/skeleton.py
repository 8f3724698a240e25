"""A spec to begin with: every tensor of a file in a layer of the kind that its shape suggests."""

import json
import re
from collections.abc import Mapping

import numpy as np

from .chain import chain
from .tensors import COUNTERS, ENDINGS

MOST = 40
"""Layers that are written down."""
STATISTICS = {"mean": ("mean",), "variance": ("var", "variance")}
"""What the names of the running statistics of batch normalisation end in."""
RECURRENT = re.compile(r"[._/]?(weight|bias)_(ih|hh|hr)_l\d+(_reverse)?$")
"""The ends of names of PyTorch's RNN, GRU and LSTM."""
GATES = {1: "an RNN", 3: "a GRU", 4: "an LSTM"}
TABLE = re.compile(r"emb|wte|wpe|vocab", re.IGNORECASE)
"""In the names of tables of embeddings."""


def skeleton(arrays: Mapping[str, np.ndarray], weights: str) -> str:
    """A spec in TOML for the weights in that file; what cannot be known stands there as "?"."""
    head = [f"weights = {json.dumps(weights)}"]
    if chain(arrays) is not None:
        return "\n".join([*head, 'activation = "?"  # relu, tanh, … of the hidden layers']) + "\n"
    jax = any(name.endswith("kernel") for name in arrays)
    head += [f'layout = "{"jax" if jax else "torch"}"', 'input = ["?"]  # the shape of one input']
    head.append("# the layers stand in the order of their names: put them in that of the network")
    blocks = _blocks(arrays)
    table = next(iter(blocks)) if not jax and _begins_with_table(blocks, arrays) else None
    lines = [
        line
        for prefix, names in list(blocks.items())[:MOST]
        for line in _layer(prefix, names, arrays, is_table=prefix == table)
    ]
    if len(blocks) > MOST:
        lines.append(f"\n# … and {len(blocks) - MOST} more")
    return "\n".join([*head, *lines]) + "\n"


def _blocks(arrays: Mapping[str, np.ndarray]) -> dict[str, list[str]]:
    """Tensors by what their names begin with, numbers in their order."""
    endings = "|".join(
        sorted({word for words in ENDINGS.values() for word in words} | {COUNTERS}, key=len)[::-1]
    )
    found: dict[str, list[str]] = {}
    natural = lambda name: [
        (part.isdigit(), int(part) if part.isdigit() else 0, part) for part in _cut(name)
    ]
    for name in sorted(arrays, key=natural):
        prefix = re.sub(RECURRENT if RECURRENT.search(name) else rf"[._/]?({endings})$", "", name)
        found.setdefault(prefix, []).append(name)
    return _join_statistics(found)


def _join_statistics(blocks: dict[str, list[str]]) -> dict[str, list[str]]:
    """flax keeps running statistics apart, `batch_stats/norm/mean` beside `params/norm/scale`: they are one layer."""
    within = lambda prefix: re.split(r"[./]", prefix, maxsplit=1)[-1]
    apart = [prefix for prefix, names in blocks.items() if all(map(_is_statistic, names))]
    joined = {prefix: names for prefix, names in blocks.items() if prefix not in apart}
    layer_of = {within(prefix): prefix for prefix in joined}
    for prefix in apart:
        joined.setdefault(layer_of.get(within(prefix), prefix), []).extend(blocks[prefix])
    return joined


def _is_statistic(name: str) -> bool:
    return name.endswith(tuple(end for ends in STATISTICS.values() for end in ends))


def _cut(name: str) -> list[str]:
    return [part for part in re.split(r"(\d+)", name) if part]


def _begins_with_table(blocks: Mapping[str, list[str]], arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether the first layer of PyTorch is a table of embeddings: without a bias, and what follows takes as many
    numbers as it has columns. Behind a dense layer it would take as many as there are rows."""
    few = [[arrays[name].shape for name in names] for names in list(blocks.values())[:2]]
    if len(few) < 2 or [len(shape) for shape in few[0]] != [2]:
        return False
    most = max(map(len, few[1]))
    taken = {shape[min(most, 2) - 1] for shape in few[1] if len(shape) == most > 0}
    rows, columns = few[0][0]
    return columns in taken and rows not in taken


def _layer(
    prefix: str, names: list[str], arrays: Mapping[str, np.ndarray], *, is_table: bool = False
) -> list[str]:
    shapes = {name: arrays[name].shape for name in names}
    ranks = [len(shape) for shape in shapes.values()]
    told = ", ".join(
        f"{name} {shape}" for name, shape in shapes.items() if not name.endswith(COUNTERS)
    )
    lines = ["", f"[[layers]]  # {told}"]
    if any(RECURRENT.search(name) for name in names):
        return [
            "",
            f"# {prefix}: {_recurrent(shapes)} ({told})",
            "# a spec has no such layer: export to .onnx or .pt2",
        ]
    if any(map(_is_statistic, names)):
        return [
            *lines,
            'kind = "batch-norm"',
            f"name = {json.dumps(prefix)}",
            *_statistics(prefix, names),
        ]
    if ranks == [2] and (is_table or TABLE.search(names[0])):
        return [
            *lines,
            'kind = "embedding"  # of whole numbers, as the first layer',
            f"name = {json.dumps(prefix)}",
        ]
    if max(ranks) >= 3:
        options = ['padding = "?"', 'activation = "?"']
        return [*lines, 'kind = "conv"', f"name = {json.dumps(prefix)}", *options]
    if max(ranks) == 2:
        return [*lines, 'kind = "dense"', f"name = {json.dumps(prefix)}", 'activation = "?"']
    return [*lines, 'kind = "layer-norm"', f"name = {json.dumps(prefix)}"]


def _recurrent(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Which recurrent layer it is: the matrix of the state has as many blocks as there are gates."""
    gates = {
        shape[0] // shape[1]
        for name, shape in shapes.items()
        if "weight_hh" in name and len(shape) == 2
    }
    return GATES.get(next(iter(gates), 0), "a recurrent layer")


def _statistics(prefix: str, names: list[str]) -> list[str]:
    """The running statistics by name where they do not begin like the layer."""
    apart = [name for name in names if not name.startswith(prefix)]
    return [
        f"{role} = {json.dumps(name)}"
        for role, ends in STATISTICS.items()
        for name in apart
        if name.endswith(ends)
    ]
