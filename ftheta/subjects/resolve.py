"""From words to subjects: a file, a Python object named `package.module:attribute`, or a built-in name."""

import importlib
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ftheta.datasets import dataset_of_words
from ftheta.datasets.naming import SETS
from ftheta.graph.expressions import Expression
from ftheta.logic.errors import FthetaError, SubjectError, UnknownSubjectError, suggest
from ftheta.networks.description import Description
from ftheta.networks.files import Activations, describe, differ_by_neuron, is_weight_list
from ftheta.networks.modules import input_size, is_nnx, is_stateful, is_torch, stated_shape
from ftheta.networks.reading import printable, reading_file
from ftheta.networks.scikit import is_scikit, read_scikit

from . import Subject
from .dataset import Dataset
from .files import from_arrays, from_rows, is_data, read_data, with_notes
from .kinds import Family, Measure, Target, Training
from .matching import class_name
from .network import Network

if TYPE_CHECKING:
    from ftheta.networks.scikit import Outputs

DATA = Path(__file__).parent / "data"
BUILT_IN: dict[str, Path] = {
    "digits-mlp": DATA / "digits_mlp.npz",
    "digits-certified": DATA / "digits_certified.npz",
    "digits-test": DATA / "digits_test.npz",
}
"""Files; the names of `ftheta.datasets` are built in too."""
KINDS = (Network, Target, Dataset, Training, Measure, Family)
_Kind = TypeVar("_Kind", Network, Dataset)

READ = (
    "an .onnx or .pt2; a .toml or .json spec; .safetensors or .npz weights; "
    ".npz, .npy, .csv or .parquet data; a .txt"
)
INSTEAD = {
    **dict.fromkeys(
        (".pt", ".pth", ".bin", ".ckpt"),
        "it is a pickle, and unpickling runs code: in torch, write the module with torch.export.save as .pt2, "
        "its weights as .safetensors, or both as .onnx",
    ),
    ".pkl": "unpickling runs code: load the model in Python and hand it to ftheta.load",
    ".joblib": "unpickling runs code: load the model in Python and hand it to ftheta.load",
    ".h5": "save the weights as .safetensors or .npz and write a spec, or export to .onnx",
    ".keras": "save the weights as .safetensors or .npz and write a spec, or export to .onnx",
}
"""What to do with files that are not read."""


@dataclass(frozen=True)
class Asked:
    """What a source leaves open; the fields are the arguments of `load`, and whether the inputs of a program that its
    output does not depend on are kept (`keeps_inputs`)."""

    takes: tuple[type, ...] = KINDS
    example: Any = None
    until: str | None = None
    labels: Any = None
    spec: Any = None
    activation: Activations | None = None
    outputs: "Outputs" = "logits"
    keeps_inputs: bool = False
    parts: tuple[str, ...] = ()


def load(
    source: Any,
    example: Any = None,
    *,
    takes: tuple[type, ...] = KINDS,
    until: str | None = None,
    labels: Any = None,
    spec: Any = None,
    activation: Activations | None = None,
    outputs: "Outputs" = "logits",
    parts: tuple[str, ...] = (),
) -> Subject:
    """A subject from words (a file, `package.module:attribute`, a built-in name), a path, or a Python object.

    Built-in names are those of `ftheta.datasets`, which may have knobs (`moons,n=500,seed=3`), and `BUILT_IN`.
    A function or module needs an `example` input (an array, or its shape) to become a network; so does an ONNX file
    that leaves lengths open. `until` names the node, tensor or layer of a file at which the network is to end. Weights
    without an architecture need a `spec` (its path, or a dictionary) or, if they are a chain of dense layers, the
    `activation` of the hidden ones, or a list of one a layer, each a word or a list of one word a neuron. `labels`
    names the column, the array or the file of the labels of data. `outputs` of a classifier of scikit-learn are
    "logits" or "probabilities". `parts` are the arrays of an `.npz` file that are the inputs of a network with several
    (`Network.parts`).
    """
    asked = Asked(takes, example, until, labels, spec, activation, outputs, parts=parts)
    if isinstance(source, (str, Path)):
        return resolve(str(source), asked)
    named = source[0] if is_stateful(source) else source
    return from_object(source, getattr(named, "__name__", type(named).__name__), asked)


def load_as(kind: type[_Kind], source: Any, **asked: Any) -> _Kind:
    """`load`, where nothing but a network, or nothing but data, can be used."""
    subject = load(source, takes=(kind,), **asked)
    if not isinstance(subject, kind):
        raise SubjectError(
            f"A {kind.__name__} is needed here.", got=f"{subject.name}, a {type(subject).__name__}"
        )
    return subject


def resolve(words: str, asked: Asked) -> Subject:
    """The subject that the words name; `takes` says which kinds can be used, to guide the reading of a callable."""
    if words.replace("_", "-") in BUILT_IN:
        name = words.replace("_", "-")
        return read_file(BUILT_IN[name], name)
    path = Path(words)
    there = _exists(path)
    if not there and (data := dataset_of_words(words)) is not None:
        return with_notes(Dataset(data.name, data.x, data.y, data.classes, data.columns))
    if ":" in words and not there:
        return from_object(import_object(words), words, asked)
    if Target in asked.takes and not there and _is_expression(words):
        return _expression(words)
    if path.suffix or there:
        return read_file(path, printable(path), asked)
    known = [*BUILT_IN, *SETS]
    raise UnknownSubjectError(
        "This is neither a file, nor `package.module:attribute`, nor a built-in subject.",
        got=words,
        remedy=suggest(words, known, f"built-in: {', '.join(known)}"),
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # an expression may be longer than the name of any file
        return False


def read_file(path: Path, name: str, asked: Asked = Asked()) -> Subject:
    """A network or data, as the suffix says; an `.npz` file may hold either. Files are parsed, never executed.

    Every reader of `FORMATS` is called here and nowhere else, where its errors become ours.
    """
    if not _exists(path):
        raise UnknownSubjectError(
            "There is no such file.", got=str(path), remedy=_nearest_file(path)
        )
    for found in FORMATS:
        if path.name.lower().endswith(found.endings):
            with reading_file(path, found.kind):
                return found.read(path, name, asked)
    raise UnknownSubjectError(
        "Files of this kind are not read.",
        got=str(path),
        remedy=INSTEAD.get(path.suffix.lower(), f"give {READ}; or `package.module:attribute`"),
    )


def _nearest_file(path: Path) -> str:
    """The files beside it with a name like this one; else what can be given."""
    try:
        beside = [str(path.with_name(other.name)) for other in path.absolute().parent.iterdir()]
    except OSError:
        beside = []
    return suggest(str(path), [*beside, *BUILT_IN], f"give {READ}; or `package.module:attribute`")


def _read_spec(path: Path, name: str, asked: Asked) -> Network:
    from ftheta.networks.spec.read import read_spec_file

    return Network.of_import(read_spec_file(path, asked.until), name)


def _read_safetensors(path: Path, name: str, asked: Asked) -> Network:
    from ftheta.networks.spec.read import read_weights

    return _read_weights(read_weights(path), path, name, asked)


def _read_text(path: Path, name: str, asked: Asked) -> Dataset:
    from .texts import read_text

    return read_text(path, name)


def _read_data(path: Path, name: str, asked: Asked) -> Dataset:
    return read_data(path, name, asked.labels)


def _read_npz(path: Path, name: str, asked: Asked) -> Subject:
    from ftheta.networks.npy import read_arrays

    arrays = read_arrays(path)
    told = asked.spec is not None or asked.activation is not None
    if asked.activation is not None and differ_by_neuron(asked.activation):
        arrays.pop("activations", None)  # those of a weight list, which others are given for
    elif is_weight_list(arrays) and asked.spec is None:
        words = {} if asked.activation is None else {"activations": np.array(asked.activation)}
        return Network.described(describe({**arrays, **words}, str(path)), name)
    from ftheta.relu.export import is_steps, steps_of, to_equinox

    if is_steps(arrays):
        form = steps_of(arrays, str(path))
        return Network.of(to_equinox(form), (form.steps[0].matrix.shape[1],), name)
    if told or (Dataset not in asked.takes and not is_data(arrays)):
        return _read_weights(arrays, path, name, asked)
    if (
        Network not in asked.takes
        or is_data(arrays)
        or asked.labels is not None
        or len(arrays) == 1
    ):
        return from_arrays(arrays, path, name, asked.labels, asked.parts)
    return _read_weights(arrays, path, name, asked)


def _read_weights(arrays: dict[str, np.ndarray], path: Path, name: str, asked: Asked) -> Network:
    from ftheta.networks.spec.read import read

    return Network.of_import(read(arrays, path, asked.spec, asked.activation, asked.until), name)


def _read_onnx(path: Path, name: str, asked: Asked) -> Network:
    # the table of operators is only built for those who need it
    from ftheta.networks.onnx.model import read

    return Network.of_import(
        read(path, until=asked.until, shape=_shape(asked), keeps_inputs=asked.keeps_inputs), name
    )


def _read_pt2(path: Path, name: str, asked: Asked) -> Network:
    from ftheta.networks.torch.model import read

    return Network.of_import(read(path, until=asked.until, shape=_shape(asked)), name)


@dataclass(frozen=True)
class Format:
    """Files whose names end in one of `endings` are of this `kind`."""

    kind: str
    endings: tuple[str, ...]
    read: Callable[[Path, str, Asked], Subject]


FORMATS = (
    Format("an ONNX model", (".onnx", ".onnx.gz"), _read_onnx),
    Format("an exported program of torch", (".pt2",), _read_pt2),
    Format("a spec", (".toml", ".json"), _read_spec),
    Format("safetensors", (".safetensors",), _read_safetensors),
    Format("an archive of arrays", (".npz",), _read_npz),
    Format("text", (".txt",), _read_text),
    Format("a table", (".csv", ".tsv", ".parquet"), _read_data),
    Format("an array", (".npy",), _read_data),
)
"""The readers by what the names of their files end in."""


def _shape(asked: Asked) -> tuple[int, ...] | None:
    from ftheta.networks.packing import shape_of

    return None if asked.example is None else shape_of(asked.example)


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
        raise UnknownSubjectError(
            "This Python object cannot be imported.",
            got=words,
            where=f"{type(error).__name__}: {error}",
            remedy="write package.module:attribute, with the module in this folder or installed",
        ) from error
    return found


def from_object(found: Any, name: str, asked: Asked = Asked()) -> Subject:
    """A subject from any object: a subject itself, an array, a module, a model of scikit-learn, a function."""
    if isinstance(found, Dataset):
        return with_notes(found)
    if isinstance(found, KINDS):
        return found
    if isinstance(found, Description):
        return Network.described(found, name)
    if is_torch(found):
        return _from_torch(found, name, asked)
    if is_scikit(found):
        return _from_scikit(found, name, asked)
    if isinstance(found, np.ndarray):
        return from_rows(found, name, asked.labels)
    if isinstance(found, tuple) and len(found) == 2 and not is_stateful(found):
        found = dict(zip(("x", "y"), found))
    if isinstance(found, dict) and Dataset in asked.takes:
        arrays = {str(key): np.asarray(values) for key, values in found.items()}
        return from_arrays(arrays, Path("the dictionary"), "the rows", asked.labels, asked.parts)
    if asked.example is not None:
        return Network.of(found, asked.example, name)
    size = input_size(found)
    if size is not None and Network in asked.takes:
        return Network.of(found, (size,), name)
    if inspect.isfunction(found) and Target in asked.takes:
        return _target(found, name)
    module = is_nnx(found) or is_stateful(found) or callable(found)
    raise SubjectError(
        "It is not clear how to read this object as a subject.",
        got=f"{name} is a {type(found).__name__}",
        remedy="say what one input is: ftheta.load(module, example), with an array or a shape such as (3, 32, 32)"
        if module
        else "wrap it: ftheta.Network.of(f, example), ftheta.Target(name, f, lo, hi), ftheta.Dataset(name, x, y), …",
    )


def _from_torch(found: Any, name: str, asked: Asked) -> Network:
    from ftheta.networks.torch.exporting import import_exported, import_module

    if hasattr(found, "run_decompositions"):  # it is exported already
        return Network.of_import(import_exported(found, name, asked.until, _shape(asked)), name)
    example = stated_shape(found) if asked.example is None else asked.example
    return Network.of_import(import_module(found, example, asked.until), name)


def _from_scikit(found: Any, name: str, asked: Asked) -> Network:
    import jax

    description, last = read_scikit(found, asked.outputs)
    net = replace(Network.described(description, name), classes=_classes(found))
    if not last:
        return net
    follows = jax.nn.softmax if last == "softmax" else jax.numpy.exp
    whole = Network.imported(
        lambda params, x: follows(net.apply(params, x)), net.params, net.input_shape, name
    )
    return replace(whole, classes=net.classes)


def _classes(model: Any) -> tuple[str, ...]:
    """The names of the classes of a classifier of scikit-learn, in the order of its outputs."""
    found = np.asarray(getattr(model, "classes_", ()))
    return tuple(class_name(label) for label in found.tolist()) if found.ndim == 1 else ()


def _is_expression(words: str) -> bool:
    """`sin(x)`, `x*y`; also `1/x` and `x-1`, unlike `nets/model` and `my-net`: its variables are single letters."""
    if set(words) & set("+*^()"):
        return True
    return bool(set(words) & set("/-")) and all(
        len(name) == 1 for name in re.findall(r"[^\W\d]\w*", words)
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
