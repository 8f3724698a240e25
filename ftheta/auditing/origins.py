"""What a network was read from, to be run beside it where that is safe: a module in hand, or a file that one trusts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic import SubjectError

from .packing import pack, unpack


@dataclass(frozen=True, slots=True)
class Packed:
    """A module for another process, which is opened where it is run: to import torch takes a second."""

    content: bytes | None


@dataclass(frozen=True, slots=True)
class Origin:
    """The `model` of an audit, in words or itself; a file is run by another runtime only where it is `trusted`."""

    model: Any
    trusted: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        is_plain = isinstance(self.model, (str, Path, Packed))
        return Origin, (self.model if is_plain else Packed(pack(self.model)), self.trusted)


@dataclass(frozen=True, slots=True)
class Ran:
    """The `runtime`, the rows as it took them, and its outputs, a row each; `convert` puts ours in its terms."""

    runtime: str
    rows: np.ndarray
    outputs: np.ndarray
    convert: Any = None


def run_origin(origin: Origin, rows: np.ndarray) -> Ran:
    """What the framework or the runtime that the network came from makes of the rows, or why it is not asked."""
    model = origin.model
    if isinstance(model, (str, Path)) and Path(model).is_file():
        return _run_file(Path(model), origin.trusted, rows)
    return _run_object(_open(model), rows)


def _open(model: Any) -> Any:
    if isinstance(model, Packed):
        if model.content is None:
            raise SubjectError("The module does not go to another process.", remedy="workers=0")
        return unpack(model.content)
    if isinstance(model, (str, Path)):
        if ":" not in str(model):
            raise SubjectError("It is a network of ftheta.")
        from ftheta.subjects.resolve import import_object

        return import_object(str(model))
    return model


def _run_file(path: Path, trusted: bool, rows: np.ndarray) -> Ran:
    name = path.name.lower()
    if name.endswith(".pt2"):
        what = "Torch unpickles parts of a .pt2 file, which can run code."
        raise SubjectError(what, remedy="give the module itself")
    if not name.endswith((".onnx", ".onnx.gz")):
        raise SubjectError("Weights with a spec come from no runtime that could be asked.")
    if not trusted:
        what = "Files are parsed, and run nowhere else unless they are trusted."
        raise SubjectError(what, remedy="--trusted has onnxruntime run it")
    from ftheta.networks.onnx.runtime import run_rows

    return _gather("onnxruntime", run_rows(path, rows))


def _run_object(model: Any, rows: np.ndarray) -> Ran:
    from ftheta.networks import scikit
    from ftheta.networks.modules import is_torch

    if is_torch(model):
        from ftheta.networks.torch.exporting import run_rows

        return _gather("PyTorch", run_rows(model, rows))
    if scikit.is_scikit(model):
        predicted = scikit.predict_rows(model, rows)
        return Ran("scikit-learn", rows, predicted, lambda y: scikit.as_probabilities(model, y))
    raise SubjectError(
        "The module runs in JAX here too, or as layers that were held against it when they were read."
    )


def _gather(runtime: str, pairs: list[Any]) -> Ran:
    rows = np.stack([x for x, _ in pairs])
    return Ran(runtime, rows, np.stack([y.reshape(-1) for _, y in pairs]))
