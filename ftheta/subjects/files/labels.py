"""Labels as numbers: whole numbers are classes, other numbers are targets, words are classes with names."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ftheta.logic.errors import SubjectError

WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
"""Words that spell whole numbers."""


class Labels(NamedTuple):
    """Numbers, and the names of the classes 0, 1, … where the labels were words, which are numbered in sorted order."""

    y: np.ndarray
    classes: tuple[str, ...] = ()


def encode_labels(labels: np.ndarray, where: str) -> Labels:
    """Labels of an array; words are numbered in their order, unless they spell whole numbers."""
    labels = np.asarray(labels)
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels.flat):
        return encoded_words(labels.ravel().tolist(), where)
    if labels.dtype.kind in "US":
        column = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        words, numbers = np.unique(column.ravel(), return_inverse=True)
        return _number(_texts(words, where), numbers.reshape(column.shape), where)
    if labels.ndim == 2 and labels.shape[1] == 1 and labels.dtype.kind in "iub":
        return Labels(labels[:, 0])  # classes in a column
    return Labels(labels)


def encoded_words(labels: Sequence[str], where: str) -> Labels:
    """Words one by one: an array of them would give each the length of the longest."""
    words = sorted(set(labels))
    number = {word: k for k, word in enumerate(words)}
    return _number(words, np.array([number[word] for word in labels], np.int64), where)


def _texts(words: np.ndarray, where: str) -> list[str]:
    """Words of letters, or of bytes in UTF-8."""
    if words.dtype.kind == "U":
        return words.tolist()
    try:
        return [word.decode("utf-8") for word in words.tolist()]
    except UnicodeDecodeError as error:
        raise SubjectError(
            "A label is not text in UTF-8.",
            where=where,
            got=repr(error.object[:40]),
            remedy="save labels as text",
        ) from error


def _number(words: list[str], y: np.ndarray, where: str) -> Labels:
    """`y` are places in the sorted list of words."""
    if "" in words:
        empty = int((y == words.index("")).sum())
        raise SubjectError("A label is missing.", where=where, got=f"{empty} empty labels")
    if all(WHOLE.fullmatch(word) for word in words):
        return Labels(np.array([int(word) for word in words], np.int64)[y])
    return Labels(y, tuple(words))
