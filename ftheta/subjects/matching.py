"""Labels matched with the outputs of a network: output k is the score of class k.

Files code classes in many ways: numbers from 0, words, names that the network knows, one-hot rows. Here they become the
numbers of outputs. Whatever is not certain is said in a note of the data, and what cannot be matched is an error.
"""

from dataclasses import replace
from math import prod

import numpy as np

from ftheta.logic.errors import SubjectError

from .dataset import Dataset

SHOWN = 6
"""Classes that a message lists."""


def match_labels(
    data: Dataset, shape: tuple[int, ...], classes: tuple[str, ...], where: str
) -> Dataset:
    """The data with labels that are numbers of outputs, where they are classes.

    `shape` is that of the outputs of the network, `classes` are their names, if the network says them.
    """
    if data.y is None or len(shape) > 1:
        return data
    outputs = prod(shape)
    if _is_one_hot(data.y, outputs):
        data = _note(
            replace(data, y=data.y.argmax(1)),
            "the labels are one-hot rows: they are read as classes",
        )
    if classes:
        data = _by_name(data, classes, where)
    elif data.alphabetical:
        data = _alphabetical(data, outputs, where)
    _ensure_in_range(data, outputs, where)
    return data


def class_name(label: object) -> str:
    """What a class is called; a whole number is called alike as int and as float."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _note(data: Dataset, note: str) -> Dataset:
    return data if note in data.notes else replace(data, notes=(*data.notes, note))


def _is_one_hot(y: np.ndarray, outputs: int) -> bool:
    """Whether the rows of labels have one entry for each of several outputs: a 1, and 0 in all others."""
    if y.ndim != 2 or y.shape[1] != outputs or outputs < 2:
        return False
    return bool(((y == 0) | (y == 1)).all() and (y.sum(1) == 1).all())


def _by_name(data: Dataset, classes: tuple[str, ...], where: str) -> Dataset:
    """Labels by the names of the network's classes; numbers that are no names are numbers of outputs already."""
    assert data.y is not None
    if data.y.ndim != 1 or data.y.dtype.kind != "i":
        return data
    labels = np.unique(data.y)
    names = [data.classes[k] if 0 <= k < len(data.classes) else str(k) for k in labels.tolist()]
    number = {name: k for k, name in enumerate(classes)}
    unknown = [name for name in names if name not in number]
    if unknown and not data.alphabetical:
        return data
    if unknown:
        raise SubjectError(
            "A label is none of the classes that the network knows.",
            where=where,
            got=f"{_list(unknown)}; the network knows {_list(classes)}",
            remedy="write the labels as the network does",
        )
    y = np.array([number[name] for name in names])[np.searchsorted(labels, data.y)]
    found = replace(data, y=y, classes=classes, alphabetical=False)
    if np.array_equal(y, data.y):
        return found
    return _note(found, "the labels are matched with the classes of the network by their names")


def _alphabetical(data: Dataset, outputs: int, where: str) -> Dataset:
    """Words that are numbered in alphabetical order: a guess, and none where a class is missing."""
    classes = max(outputs, 2)  # one output decides between two classes
    if len(data.classes) != classes:
        raise SubjectError(
            "The labels are words, and it is not clear which outputs they belong to.",
            where=where,
            got=f"{len(data.classes)} words ({_list(data.classes)}), {classes} classes of the network",
            remedy="write the number of the output, from 0, in place of each word",
        )
    told = ", ".join(f"{k} = {name}" for k, name in enumerate(data.classes[:SHOWN]))
    more = ", …" if len(data.classes) > SHOWN else ""
    return _note(
        data,
        f"the labels are words, numbered in alphabetical order ({told}{more}): the network does not say the order of "
        "its outputs, and if it is another one, every error and accuracy is wrong",
    )


def _ensure_in_range(data: Dataset, outputs: int, where: str) -> None:
    """Whole labels, one per row, of a network with several outputs are the numbers of outputs."""
    if data.y is None or data.y.ndim != 1 or data.y.dtype.kind != "i":
        return
    least = int(data.y.min())
    most = int(data.y.max())
    if outputs > 1 and not 0 <= least <= most < outputs:
        raise SubjectError(
            "A label is the number of an output that the network does not have.",
            where=where,
            got=f"labels from {least} to {most}, {outputs} outputs counted from 0",
            remedy="count the classes from 0; numbers that are no classes belong in an array of shape (n, outputs)",
        )


def _list(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(name[:40] for name in names[:SHOWN]) + more
