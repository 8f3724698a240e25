"""Two samples as the subject of a theorem: data with two classes, or one data set against another."""

import numpy as np

from ftheta.logic import Finding, hypothesis
from ftheta.subjects import Dataset
from ftheta.subjects.pairs import join_samples, split_samples


@hypothesis(
    "two samples: rows of exactly two classes",
    remedy="name the second data set with --against (in Python against=…), or give labels with two classes",
)
def two_samples(data: Dataset) -> Finding:
    found = split_samples(data)
    if found is None:
        classes = 0 if data.y is None else len(np.unique(data.y))
        return Finding.failed(f"{classes} classes")
    x, y = found
    note = f"{len(x):,} and {len(y):,} rows in dimension {x.shape[1]}"
    return Finding.proved(note, "the rows of each class are counted")


@hypothesis(
    "the rows of each sample are independent draws of one law",
    remedy="rows that follow one another in time, or that were chosen, are no such draws",
)
def independent_rows(data: Dataset) -> Finding:
    return Finding.assumed("nothing in the data shows it")


def samples_of(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The two samples, shapes (n, d) and (m, d)."""
    found = split_samples(data)
    assert found is not None, "the hypothesis two_samples asks for them"
    return found


def names_of(data: Dataset) -> tuple[str, str]:
    """What the two samples are called."""
    return (data.classes[0], data.classes[1]) if len(data.classes) == 2 else ("x", "y")


def make_pair(name: str, x: np.ndarray, y: np.ndarray) -> Dataset:
    """A built-in subject: rows of x against rows of y; numbers are rows of one column."""
    rows = [np.asarray(side, float).reshape(len(side), -1) for side in (x, y)]
    joined = join_samples(Dataset("x", rows[0]), Dataset("y", rows[1]))
    return Dataset(name, joined.x, joined.y, joined.classes)
