"""From a spec and its weights to a network; files are parsed, never executed."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.description import Dense, Description
from ftheta.networks.files import Activations, activations, differ_by_neuron, real
from ftheta.networks.npy import read_arrays
from ftheta.networks.programs.importing import Imported, import_program
from ftheta.networks.reading import ensure_file
from ftheta.networks.safetensors import read_safetensors

from .chain import Chain, chain
from .layers import Spec, flat, validate
from .nodes import graph
from .skeleton import skeleton
from .tensors import NamedTensors, is_ignored, list_names

SUFFIXES = (".toml", ".json")
MAX_BYTES = 1 << 20
MAX_LEVELS = 32
MAX_LAYERS = 5000

Arrays = Mapping[str, np.ndarray]


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a `.safetensors` or `.npz` file."""
    return read_safetensors(path) if path.suffix.lower() == ".safetensors" else read_arrays(path)


def read_spec_file(path: Path, until: str | None = None) -> Imported:
    """The network of a spec that names its weights file."""
    spec = _spec_in(path)
    if spec.weights is None:
        raise SubjectError(
            "The spec does not say where the weights are.",
            where=str(path),
            remedy='add weights = "name of a file beside it", or load the weights with spec=…',
        )
    weights = _beside(path, spec.weights)
    return _built(spec, read_weights(weights), str(weights), until)


def read(
    arrays: Arrays,
    path: Path,
    spec: Any = None,
    activation: Activations | None = None,
    until: str | None = None,
) -> Imported:
    """The network whose weights are `arrays`, read from `path`.

    `spec` is the path of a spec, or its content as a dictionary; a chain of dense layers needs no more than the
    `activation` of its hidden layers.
    """
    if spec is not None and activation is not None:
        raise SubjectError(
            "Give a spec or an activation.",
            where=str(path),
            got="both",
            remedy="write it in the spec",
        )
    if isinstance(spec, (str, Path)):
        return _built(_spec_in(Path(spec)), arrays, str(path), until)
    if spec is not None:
        return _built(validate(_shallow(spec, "spec"), "spec"), arrays, str(path), until)
    if activation is None:
        raise SubjectError(
            "The file holds weights, and nothing says what is between them.",
            where=str(path),
            got=f"tensors {list_names(arrays)}",
            remedy=_remedy(arrays, path),
        )
    return _chain(arrays, activation, None, str(path), path.name)


def _remedy(arrays: Arrays, path: Path) -> str:
    short = (
        ""
        if chain(arrays) is None
        else f'load({path.name!r}, activation="relu"), if that is what it is; or '
    )
    remedy = "write this spec beside it, with every ? filled in, and load the spec"
    return f"{short}{remedy}:\n\n{skeleton(arrays, path.name)}"


# ---- specs -----------------------------------------------------------------------------------------------------------


def _spec_in(path: Path) -> Spec:
    ensure_file(path)
    where = str(path)
    if path.suffix.lower() not in SUFFIXES:
        raise SubjectError("A spec is a .toml or .json file.", got=where)
    if path.stat().st_size > MAX_BYTES:
        raise SubjectError(
            "The spec is longer than is allowed.", where=where, got=f"{path.stat().st_size:,} bytes"
        )
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        kind = path.suffix[1:].upper()
        raise SubjectError(
            f"The spec is not {kind}.", where=where, got=str(error) or "too many levels"
        ) from error
    return validate(_shallow(content, where), where)


def _shallow(content: Any, where: str) -> Any:
    """The content itself, if it is not nested beyond all sense and has not too many layers."""
    level = [content]
    for _ in range(MAX_LEVELS):
        level = [
            item
            for value in level
            if isinstance(value, (dict, list))
            for item in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return content
    raise SubjectError(
        "The spec is nested too deeply.", where=where, got=f"more than {MAX_LEVELS} levels"
    )


def _beside(spec: Path, location: str) -> Path:
    """The file that a spec names; paths out of its folder, also by links, are refused."""
    folder = spec.parent.resolve()
    if (
        "\0" in location
        or Path(location).is_absolute()
        or not (folder / location).resolve().is_relative_to(folder)
    ):
        raise SubjectError(
            "Weights outside the folder of the spec are not read.",
            where=str(spec),
            got=location[:200],
            remedy="put the weights beside the spec and name them by a relative path",
        )
    path = spec.parent / location
    if path.suffix.lower() not in (".safetensors", ".npz"):
        raise SubjectError(
            "Weights are a .safetensors or .npz file.", where=str(spec), got=location
        )
    return path


# ---- networks --------------------------------------------------------------------------------------------------------


def _built(spec: Spec, arrays: Arrays, where: str, until: str | None) -> Imported:
    if not spec.layers:
        kept = {name: array for name, array in arrays.items() if not is_ignored(name, spec.ignore)}
        return _chain(kept, spec.activation or "", spec.layout, where, Path(where).name)
    if sum(1 for _ in flat(spec.layers)) > MAX_LAYERS:
        raise SubjectError(
            "The spec has more layers than is allowed.",
            where=where,
            got=f"more than {MAX_LAYERS:,}",
        )
    tensors = NamedTensors(arrays, where)
    program = graph(spec, tensors, where)
    tensors.ensure_all_taken(spec.ignore)
    return import_program(program.until(until))


def _chain(
    arrays: Arrays, words: Activations, layout: str | None, where: str, name: str
) -> Imported:
    found = chain(arrays, layout)
    if found is None:
        raise SubjectError(
            "The tensors are not a chain of dense layers in one way only.",
            where=where,
            got=list_names(f"{name} {array.shape}" for name, array in arrays.items()),
            remedy=f"write a spec that names the layers in order:\n\n{skeleton(arrays, name)}",
        )
    if differ_by_neuron(words):
        return _built(_spelt_out(found, arrays, words), arrays, where, None)
    given = activations(words, len(found.links), where)
    layers = []
    for link, word in zip(found.links, given):
        weight = real(arrays[link.weight], f"{where}: {link.weight}")
        weight = weight if found.layout == "torch" else weight.T
        bias = (
            np.zeros(len(weight))
            if link.bias is None
            else real(arrays[link.bias], f"{where}: {link.bias}")
        )
        layers.append(Dense(weight, bias, word, has_bias=link.bias is not None))
    described = Description(tuple(layers))
    return Imported(described.apply, {}, (described.widths[0],), described)


def _spelt_out(found: Chain, arrays: Arrays, words: Activations) -> Spec:
    """The chain as a spec of its dense layers, of which the last is affine if it is given no activation."""
    given = [*words, "identity"] if len(words) == len(found.links) - 1 else list(words)
    if len(given) != len(found.links):
        raise SubjectError(
            "There must be one entry of `activation` a layer.",
            got=f"{len(given)} entries, {len(found.links)} layers",
        )
    layers = [
        {"kind": "dense", "weight": link.weight, "bias": link.bias, "activation": word}
        for link, word in zip(found.links, given)
    ]
    shape = arrays[found.links[0].weight].shape
    width = shape[1] if found.layout == "torch" else shape[0]
    content = {"layout": found.layout, "input": [width], "layers": layers}
    return validate(content, "activation")
