"""Data as arrays that a model and a loss can use: checked once, before anything is compiled."""

import hashlib
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ftheta.logic.errors import SubjectError, UsageError
from ftheta.shapes import Real

from .losses import Loss
from .models import Model


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs `x` and targets `y`, row by row."""

    name: str
    x: Real[np.ndarray, "n *shape"]
    y: Real[np.ndarray, "n *k"]

    def __len__(self) -> int:
        return len(self.x)

    @property
    def fingerprint(self) -> str:
        hasher = hashlib.sha256()
        for array in (self.x, self.y):
            hasher.update(f"{array.dtype}{array.shape}".encode())
            hasher.update(np.ascontiguousarray(array).data)
        return hasher.hexdigest()[:16]


def examples_of(data: Any, model: Model, loss: Loss, name: str = "data") -> Examples:
    """A `Dataset` or a pair of arrays (to be called `name`), in the shapes and the precision of the model."""
    name, x, y = _arrays(data, name)
    if len(x) != len(y):
        got = f"{len(x)} rows, {len(y)} targets"
        raise SubjectError(
            "There must be one target per row.",
            where=name,
            got=got,
            remedy="drop rows without a target",
        )
    if model.shape is not None:
        x = _fitting(x, model.shape, f"{name} on {model.name}")
    precision = np.result_type(*jax.tree.leaves(model.params))
    x, output = _accept_inputs(x, model, precision, name)
    y = loss.targets(y, output)
    y = _cast(y, precision, f"{name}: y") if y.dtype.kind == "f" else y
    _check_scalar(loss, output, y, precision)
    return Examples(name, x, y)


def _arrays(data: Any, name: str) -> tuple[str, np.ndarray, np.ndarray]:
    if hasattr(data, "x") and hasattr(data, "y"):
        name = getattr(data, "name", name)
        x = data.x
        y = data.y
    elif isinstance(data, (tuple, list)) and len(data) == 2:
        x, y = data
    else:
        got = "no data" if data is None else f"a {type(data).__name__}"
        raise UsageError(
            "Data are a Dataset or a pair (x, y).", got=got, remedy="fit(net, (x, y), …)"
        )
    if y is None:
        raise SubjectError(
            "There are no targets to fit.",
            where=name,
            remedy="give y, or (x, x) for an autoencoder",
        )
    return name, _numbers(x, f"{name}: x"), _numbers(y, f"{name}: y")


def _numbers(array: Any, where: str) -> np.ndarray:
    try:
        array = np.asarray(array)
    except ValueError as error:
        raise SubjectError(
            "Data must be an array.",
            where=where,
            got=str(error).split(". ")[0],
            remedy="give rows of one length",
        ) from error
    if array.dtype.kind not in "fiub":
        remedy = "encode words as numbers: classes as 0, 1, …, digits with np.asarray(x, float)"
        raise SubjectError(
            "Data must be real numbers.", where=where, got=f"dtype {array.dtype}", remedy=remedy
        )
    if array.ndim == 0 or array.size == 0:
        raise SubjectError(
            "Data must be a non-empty array of rows.",
            where=where,
            got=f"shape {array.shape}",
            remedy="give rows",
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))
        place = tuple(int(k) for k in bad[0])
        count = f"({len(bad)} such values)"
        remedy = "drop or impute these rows"
        raise SubjectError(
            "Data must be finite.",
            where=f"{where}{list(place)}",
            got=f"{array[place]} {count}",
            remedy=remedy,
        )
    return array


def _cast(array: np.ndarray, dtype: np.dtype, where: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        found = array.astype(dtype)
    if dtype.kind == "f" and not np.isfinite(found).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(found))[0])
        raise SubjectError(
            f"A number is too large for {dtype}.",
            where=f"{where}{list(place)}",
            got=f"{array[place]:g}",
            remedy="scale the data, or train in float64",
        )
    return found


def _fitting(x: np.ndarray, shape: tuple[int, ...], where: str) -> np.ndarray:
    if int(np.prod(x.shape[1:])) != int(np.prod(shape)):
        raise SubjectError(
            "The data do not fit the network.",
            where=where,
            got=f"rows of shape {x.shape[1:]}, the network takes {shape}",
            remedy="give data with one row per input of the network",
        )
    return x.reshape(len(x), *shape)


def _accept_inputs(
    x: np.ndarray, model: Model, precision: np.dtype, name: str
) -> tuple[np.ndarray, tuple[int, ...]]:
    """The rows as the model takes them, real if it can (token numbers stay whole), and the shape of one prediction."""
    failure: Exception | None = None
    for dtype in [precision] if x.dtype.kind == "f" else [precision, x.dtype]:
        try:
            output = jax.eval_shape(
                model.apply, model.params, jax.ShapeDtypeStruct(x.shape[1:], dtype)
            )
        except Exception as error:  # whatever the user's function raises
            failure = failure or error
            continue
        if not hasattr(output, "shape"):
            raise SubjectError(
                "A network returns one array.", where=model.name, got=type(output).__name__
            )
        return _cast(x, dtype, f"{name}: x"), output.shape
    raise SubjectError(
        "The network does not take the rows of these data.",
        where=f"{name} on {model.name}",
        got=f"rows of shape {x.shape[1:]}; {type(failure).__name__}: {(str(failure).splitlines() or [''])[0]}",
        remedy="the network is applied to one row at a time; give rows of the shape it takes",
    ) from failure


def _check_scalar(loss: Loss, output: tuple[int, ...], y: np.ndarray, precision: np.dtype) -> None:
    shapes = (jax.ShapeDtypeStruct(output, precision), jax.ShapeDtypeStruct(y.shape[1:], y.dtype))
    found = f"a prediction of shape {output} and a target of shape {y.shape[1:]}"
    try:
        value = jax.eval_shape(loss.of, *shapes)
    except Exception as error:
        got = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        raise SubjectError(
            "The loss cannot be evaluated.", where=f"{loss.name} of {found}", got=got
        ) from error
    if getattr(value, "shape", None) != () or value.dtype.kind != "f":
        raise SubjectError(
            "A loss returns one real number an example.",
            where=f"{loss.name} of {found}",
            got=str(value),
            remedy="sum or average over the outputs; the mean over examples is taken by fit",
        )
