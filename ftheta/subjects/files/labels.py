"""Labels as numbers: whole numbers are classes, other numbers are targets, words are classes with names."""

from typing import NamedTuple

import numpy as np

from ftheta.logic import SubjectError


class Labels(NamedTuple):
    """Numbers, and the names of the classes 0, 1, … where the labels were words."""

    y: np.ndarray
    classes: tuple[str, ...] = ()


def encoded(labels: np.ndarray, where: str) -> Labels:
    """Labels of an array; words are numbered in their order."""
    labels = np.asarray(labels)
    if labels.dtype.kind in "US":
        words, y = np.unique(labels.ravel().astype(str), return_inverse=True)
        if "" in words:
            raise SubjectError("A label is missing.", where=where, got=f"{int((labels == '').sum())} empty labels")
        return Labels(y.reshape(labels.shape), tuple(words.tolist()))
    if labels.ndim == 2 and labels.shape[1] == 1 and labels.dtype.kind in "iub":
        return Labels(labels[:, 0])  # classes in a column
    return Labels(labels)
