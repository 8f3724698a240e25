"""Weight lists in `.npz` files: `W0, b0, W1, b1, …` with `W` of shape (out, in), and `activations`.

`activations` is one word for all hidden layers or one word a layer. A file is parsed, never executed:
pickled members are refused and sizes are checked before anything is read.
"""

import zipfile
from pathlib import Path

import numpy as np

from ftheta.logic import SubjectError, UsageError

from .activations import activation
from .description import Dense, Description

MAX_BYTES = 4 << 30  # of all arrays together, unpacked


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an `.npz` file, or a SubjectError that says what is wrong with it."""
    where = str(path)
    if not path.is_file():
        raise SubjectError("There is no such file.", got=where, remedy="check the path")
    if path.stat().st_size == 0:
        raise SubjectError("The file is empty.", got=where)
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > MAX_BYTES:
            raise SubjectError("The file unpacks to more than is allowed.", where=where, got=f"{unpacked:,} bytes")
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except SubjectError:
        raise
    except Exception as error:  # numpy and zipfile raise a dozen kinds for broken bytes
        raise SubjectError(
            "The file cannot be read as an .npz archive of plain arrays.",
            where=where,
            got=f"{type(error).__name__}: {error}",
            remedy="write it with numpy.savez(path, W0=…, b0=…, …); object arrays are refused",
        ) from error


def is_weight_list(arrays: dict[str, np.ndarray]) -> bool:
    return "W0" in arrays


def describe(arrays: dict[str, np.ndarray], where: str) -> Description:
    """The description held by the arrays of a weight list."""
    depth = sum(name[:1] == "W" and name[1:].isdigit() for name in arrays)
    names = _activations(arrays, depth, where)
    layers = []
    for i in range(depth):
        if f"W{i}" not in arrays:
            raise SubjectError("A weight list has a gap.", where=where, got=f"{sorted(arrays)}", remedy=f"add W{i}")
        weight = _numbers(arrays[f"W{i}"], f"{where}: W{i}")
        if weight.ndim != 2:
            raise SubjectError("A weight must be a matrix (out, in).", where=f"{where}: W{i}", got=weight.shape)
        bias = _numbers(arrays.get(f"b{i}", np.zeros(weight.shape[0])), f"{where}: b{i}")
        layers.append(Dense(weight, bias, names[i]))
    return Description(tuple(layers))


def _numbers(array: np.ndarray, where: str) -> np.ndarray:
    if array.dtype.kind not in "fiu":
        raise SubjectError("Weights must be real numbers.", where=where, got=f"dtype {array.dtype}")
    return array.astype(np.float64)


def _activations(arrays: dict[str, np.ndarray], depth: int, where: str) -> list[str]:
    words = [str(w) for w in np.atleast_1d(arrays.get("activations", np.array("relu")))]
    for word in words:
        try:
            activation(word)
        except UsageError as error:
            raise SubjectError(error.what, where=f"{where}: activations", got=word, remedy=error.remedy) from error
    if len(words) == 1:
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
    """Write a description as a weight list, or as an ONNX file if the name ends so."""
    if path.suffix == ".onnx":
        from .onnx import write  # the other reader of descriptions; this module is imported by nearly everything

        write(description, path)
        return
    arrays: dict[str, np.ndarray] = {"activations": np.array([layer.activation for layer in description.layers])}
    for i, layer in enumerate(description.layers):
        arrays |= {f"W{i}": layer.weight, f"b{i}": layer.bias}
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
