"""From words to subjects: a file, a Python object named `package.module:attribute`, or a built-in name."""

import difflib
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ftheta.graph.expressions import Expression
from ftheta.logic import FthetaError, SubjectError
from ftheta.networks.files import describe, is_weight_list, read_arrays

from . import Subject
from .dataset import Dataset
from .kinds import Family, Measure, Target, Training
from .network import Network, shape_of

DATA = Path(__file__).parent / "data"
BUILT_IN: dict[str, Path] = {"digits-mlp": DATA / "digits_mlp.npz", "digits-test": DATA / "digits_test.npz"}
KINDS = (Network, Target, Dataset, Training, Measure, Family)
_Kind = TypeVar("_Kind", Network, Dataset)


def load(source: Any, example: Any = None, *, takes: tuple[type, ...] = KINDS, until: str | None = None) -> Subject:
    """A subject from words (a file, `package.module:attribute`, a built-in name), a path, or a Python object.

    A function or module needs an `example` input (an array, or its shape) to become a network; so does an ONNX file
    that leaves lengths open. `until` names the node or tensor of an ONNX file at which the network is to end.
    """
    if isinstance(source, (str, Path)):
        return resolve(str(source), takes, example, until)
    if example is not None:
        return Network.of(source, example)
    return from_object(source, getattr(source, "__name__", type(source).__name__), takes)


def load_as(kind: type[_Kind], source: Any) -> _Kind:
    """`load`, where nothing but a network, or nothing but data, can be used."""
    subject = load(source, takes=(kind,))
    if not isinstance(subject, kind):
        raise SubjectError(f"A {kind.__name__} is needed here.", got=f"{subject.name}, a {type(subject).__name__}")
    return subject


def resolve(words: str, takes: tuple[type, ...] = KINDS, example: Any = None, until: str | None = None) -> Subject:
    """The subject that the words name; `takes` says which kinds can be used, to guide the reading of a callable."""
    if words.replace("_", "-") in BUILT_IN:
        name = words.replace("_", "-")
        return read_file(BUILT_IN[name], name)
    if ":" in words and not Path(words).exists():
        return from_object(import_object(words), words, takes)
    path = Path(words)
    if Target in takes and not path.exists() and set(words) & set("+*^()"):
        return _expression(words)
    if path.suffix or path.exists():
        return read_file(path, path.name, example, until)
    near = difflib.get_close_matches(words, BUILT_IN, n=2, cutoff=0.4)
    raise SubjectError(
        "This is neither a file, nor `package.module:attribute`, nor a built-in subject.",
        got=words,
        remedy=f"did you mean {', '.join(near)}?" if near else f"built-in: {', '.join(BUILT_IN)}",
    )


def read_file(path: Path, name: str, example: Any = None, until: str | None = None) -> Subject:
    """A network from an `.onnx` or `.onnx.gz` file; a network (`W0, b0, …`) or data (`x`, `y`) from an `.npz` file.

    Files are parsed, never executed.
    """
    if path.name.lower().endswith((".onnx", ".onnx.gz")):
        return _read_onnx(path, name, example, until)
    if path.suffix != ".npz":
        raise SubjectError(
            "Files of this kind are not read.",
            got=str(path),
            remedy="give an .onnx; an .npz with weights W0, b0, … or data x, y; or `package.module:attribute`",
        )
    arrays = read_arrays(path)
    if is_weight_list(arrays):
        return Network.described(describe(arrays, str(path)), name)
    if "x" in arrays:
        return Dataset(name, arrays["x"], arrays.get("y"))
    raise SubjectError(
        "The file holds neither weights nor data.",
        where=str(path),
        got=f"arrays named {', '.join(sorted(arrays)) or 'nothing'}",
        remedy="name them W0, b0, W1, … for a network, or x and y for data",
    )


def _read_onnx(path: Path, name: str, example: Any, until: str | None) -> Network:
    from ftheta.networks.onnx import read  # the table of operators is only built for those who need it

    found = read(path, until=until, shape=None if example is None else shape_of(example))
    if found.description is not None:
        return Network.described(found.description, name)
    return Network.imported(found.apply, found.params, found.input_shape, name)


def import_object(words: str) -> Any:
    """The object named by `package.module:attribute`; the current folder is importable, as with `python -m`."""
    module_name, _, attribute = words.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except FthetaError:
        raise
    except Exception as error:
        raise SubjectError(
            "This Python object cannot be imported.",
            got=words,
            where=f"{type(error).__name__}: {error}",
            remedy="write package.module:attribute, with the module in this folder or installed",
        ) from error
    return found


def from_object(found: Any, name: str, takes: tuple[type, ...] = KINDS) -> Subject:
    """A subject from any object: a subject itself, an array of data, a module with a known input size, a function."""
    if isinstance(found, KINDS):
        return found
    if isinstance(found, np.ndarray):
        return Dataset(name, found)
    if isinstance(getattr(found, "in_size", None), int) and Network in takes:
        return Network.of(found, (found.in_size,), name)
    if inspect.isfunction(found) and Target in takes:
        return _target(found, name)
    raise SubjectError(
        "It is not clear how to read this object as a subject.",
        got=f"{name} is a {type(found).__name__}",
        remedy="wrap it: ftheta.Network.of(f, example), ftheta.Target(name, f, lo, hi), ftheta.Dataset(name, x, y), …",
    )


def _expression(words: str) -> Target:
    """A function written as an expression, `x*exp(y)`, on the cube [-1, 1]^d. It is parsed, never executed."""
    read = Expression.parse(words)
    d = len(read.variables)
    return Target(words, read, (-1.0,) * d, (1.0,) * d, read.variables if d > 1 else ())


def _target(function: Callable[..., Any], name: str) -> Target:
    """A function of scalars on the cube [-1, 1]^d, one dimension an argument."""
    arguments = tuple(inspect.signature(function).parameters)
    d = len(arguments)
    return Target(name, function, (-1.0,) * d, (1.0,) * d, arguments if d > 1 else ())
