"""A spec to begin with: every tensor of a file in a layer of the kind that its shape suggests."""

import json
import re
from collections.abc import Mapping

import numpy as np

from .chain import chain
from .tensors import COUNTERS, ENDINGS

MOST = 40
"""Layers that are written down."""


def skeleton(arrays: Mapping[str, np.ndarray], weights: str) -> str:
    """A spec in TOML for the weights in that file; what cannot be known stands there as "?"."""
    head = [f"weights = {json.dumps(weights)}"]
    if chain(arrays) is not None:
        return "\n".join([*head, 'activation = "?"  # relu, tanh, … of the hidden layers']) + "\n"
    jax = any(name.endswith("kernel") for name in arrays)
    head += [f'layout = "{"jax" if jax else "torch"}"', 'input = ["?"]  # the shape of one input']
    head.append("# the layers stand in the order of their names: put them in that of the network")
    blocks = _blocks(arrays)
    lines = [line for prefix, names in list(blocks.items())[:MOST] for line in _layer(prefix, names, arrays)]
    if len(blocks) > MOST:
        lines.append(f"\n# … and {len(blocks) - MOST} more")
    return "\n".join([*head, *lines]) + "\n"


def _blocks(arrays: Mapping[str, np.ndarray]) -> dict[str, list[str]]:
    """Tensors by what their names begin with, numbers in their order."""
    endings = "|".join(sorted({word for words in ENDINGS.values() for word in words} | {COUNTERS}, key=len)[::-1])
    found: dict[str, list[str]] = {}
    natural = lambda name: [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in _cut(name)]
    for name in sorted(arrays, key=natural):
        found.setdefault(re.sub(rf"[._/]?({endings})$", "", name), []).append(name)
    return found


def _cut(name: str) -> list[str]:
    return [part for part in re.split(r"(\d+)", name) if part]


def _layer(prefix: str, names: list[str], arrays: Mapping[str, np.ndarray]) -> list[str]:
    shapes = {name: arrays[name].shape for name in names}
    ranks = [len(shape) for shape in shapes.values()]
    told = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if not name.endswith(COUNTERS))
    lines = ["", f"[[layers]]  # {told}"]
    if any(name.endswith(("mean", "var", "variance")) for name in names):
        return [*lines, 'kind = "batch-norm"', f"name = {json.dumps(prefix)}"]
    if max(ranks) >= 3:
        options = ['padding = "?"', 'activation = "?"']
        return [*lines, 'kind = "conv"', f"name = {json.dumps(prefix)}", *options]
    if max(ranks) == 2:
        return [*lines, 'kind = "dense"', f"name = {json.dumps(prefix)}", 'activation = "?"']
    return [*lines, 'kind = "layer-norm"', f"name = {json.dumps(prefix)}"]
