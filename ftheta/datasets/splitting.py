"""Training and test rows: a seeded, stratified, disjoint split, and rows that two sets share."""

from typing import NamedTuple

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Int, Real, Shaped

MOST_CLASSES = 1000


class Split(NamedTuple):
    """The numbers of the rows of each part, in random order; they are disjoint and every row is in one."""

    train: Int[np.ndarray, "a"]
    test: Int[np.ndarray, "b"]


def split(
    rows: int | np.ndarray, *, test: float = 0.25, seed: int = 0, stratify: np.ndarray | None = None
) -> Split:
    """`test` is the share of the test rows among all `rows` (their number, or an array of them).

    With labels to `stratify` by, every class is split with this share, up to rounding: the parts of the classes are
    rounded so that the total is right. Each part has at least one row.
    """
    n = rows if isinstance(rows, int) else len(rows)
    if not 0 < test < 1 or n < 2:
        raise UsageError("A split leaves rows on both sides.", got=f"a share of {test} of {n} rows")
    rng = np.random.default_rng(seed)
    count = min(max(round(test * n), 1), n - 1)
    order = rng.permutation(n)
    if stratify is None:
        return Split(order[count:], order[:count])
    labels = np.asarray(stratify)
    if labels.shape != (n,):
        raise UsageError(
            "There must be one class per row to stratify by.", got=f"shape {labels.shape}, {n} rows"
        )
    held = np.zeros(n, bool)
    held[_stratify(labels, order, count)] = True
    return Split(order[~held[order]], order[held[order]])


def _stratify(labels: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
    """`count` rows, from every class its share: whole parts first, then the largest remainders."""
    classes, sizes = np.unique(labels, return_counts=True)
    if len(classes) > MOST_CLASSES:
        raise UsageError("There are too many classes to stratify by.", got=len(classes))
    exact = sizes * count / len(labels)
    parts = np.floor(exact).astype(int)
    for k in np.argsort(parts - exact, kind="stable")[: count - parts.sum()]:
        parts[k] += 1
    return np.concatenate([order[labels[order] == c][:part] for c, part in zip(classes, parts)])


def row_keys(x: Real[np.ndarray, "n *shape"]) -> Shaped[np.ndarray, "n"]:
    """One opaque value per row, equal for equal rows (-0 and 0 are the same number)."""
    rows = np.ascontiguousarray(x.reshape(len(x), -1) + 0)
    return rows.view(np.dtype((np.void, max(rows.dtype.itemsize * rows.shape[1], 1)))).ravel()


def shared_rows(
    x: Real[np.ndarray, "n *shape"], other: Real[np.ndarray, "m *shape"]
) -> Int[np.ndarray, "k"]:
    """The numbers of the rows of `x` that are also rows of `other`: a test set must have none of the training rows."""
    if x.shape[1:] != other.shape[1:]:
        raise UsageError(
            "Rows of different shapes are not compared.", got=f"{x.shape[1:]} and {other.shape[1:]}"
        )
    kind = np.result_type(x, other)
    return np.flatnonzero(np.isin(row_keys(x.astype(kind)), row_keys(other.astype(kind))))
