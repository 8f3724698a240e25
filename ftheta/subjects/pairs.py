"""Two samples as one data set: the label of a row says which sample it belongs to."""

import numpy as np

from ftheta.logic.errors import SubjectError

from .dataset import Dataset


def join_samples(first: Dataset, second: Dataset) -> Dataset:
    """The rows of both, labelled 0 and 1; their own labels are left out."""
    if first.x.shape[1:] != second.x.shape[1:]:
        raise SubjectError(
            "The rows of the two data sets differ in shape.",
            got=f"{first.name}: {first.x.shape[1:]}, {second.name}: {second.x.shape[1:]}",
            remedy="give the same columns in both",
        )
    which = np.repeat([0, 1], [len(first), len(second)])
    rows = np.concatenate([first.x, second.x])
    names = (first.name, second.name)
    return Dataset(f"{first.name} against {second.name}", rows, which, names, first.columns)


def split_samples(data: Dataset) -> tuple[np.ndarray, np.ndarray] | None:
    """The rows of the two classes, each as a vector; None where there are not exactly two classes."""
    if data.y is None or data.y.ndim != 1:
        return None
    labels = np.unique(data.y)
    if len(labels) != 2:
        return None
    rows = data.x.reshape(len(data.x), -1).astype(float)
    return rows[data.y == labels[0]], rows[data.y == labels[1]]
