"""Data: inputs and, where there are any, labels."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ftheta.logic.errors import SubjectError

from .fingerprint import digest


class LabelsError(SubjectError):
    """Labels that cannot be used, of rows that can: these are `rows`, without labels."""

    def __init__(self, error: SubjectError, rows: "Dataset") -> None:
        super().__init__(error.what, where=error.where, got=error.got, remedy=error.remedy)
        self.rows = rows

    def __reduce__(self) -> tuple[object, ...]:
        return LabelsError, (self.alone, self.rows)

    @property
    def alone(self) -> SubjectError:
        """The error without the rows."""
        return SubjectError(self.what, where=self.where, got=self.got, remedy=self.remedy)


@dataclass(frozen=True, eq=False)
class Dataset:
    r"""Rows $x_i$ (`x`, shape `(n, ...)`) and labels $y_i$ (`y`, shape `(n, ...)`, or None), checked to be finite.

    Where they are known, `classes` are the names of the labels 0, 1, … and `columns` those of the entries of a row.
    `notes` say what is worth knowing of the data, such as constant columns. Labels that are `alphabetical` were words,
    and are numbered in the order of the alphabet: that of a network's outputs may be another one.
    """

    name: str
    x: np.ndarray
    y: np.ndarray | None = None
    classes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    alphabetical: bool = False

    def __post_init__(self) -> None:
        x = np.asarray(self.x)
        if x.ndim < 2 or len(x) == 0:
            raise SubjectError(
                "Data must be a non-empty array of rows.",
                where=self.name,
                got=f"shape {x.shape}",
                remedy="give x of shape (rows, entries of a row); of one number per row, x[:, None]",
            )
        object.__setattr__(self, "x", _finite(x, f"{self.name}: x"))
        if self.y is not None:
            y = np.asarray(self.y)
            if y.ndim == 0 or len(y) != len(x):
                raise self.refuse_labels(
                    SubjectError(
                        "There must be one label per row.",
                        where=self.name,
                        got=f"{len(x)} rows, {len(y) if y.ndim else 1} labels",
                        remedy="give x and y of the same length, in the same order",
                    )
                )
            try:
                object.__setattr__(self, "y", _finite(y, f"{self.name}: y"))
            except SubjectError as error:
                raise self.refuse_labels(error) from None

    def without_labels(self) -> "Dataset":
        """The rows alone."""
        return replace(self, y=None, classes=(), alphabetical=False)

    def refuse_labels(self, error: SubjectError) -> LabelsError:
        """The error that these labels cannot be used, with the rows, which can."""
        return LabelsError(error, self.without_labels())

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        """Its name and shapes; rows are not written out."""
        shape = "×".join(map(str, self.x.shape[1:]))
        labels = "no labels" if self.y is None else f"labels {self.y.dtype}"
        return f"Dataset({self.name!r}, {len(self):,} rows of {shape}, {labels})"

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.x, self.y)


def _finite(array: np.ndarray, where: str) -> np.ndarray:
    if array.dtype.kind not in "fiub":
        raise SubjectError(
            "Data must be real numbers.",
            where=where,
            got=f"dtype {array.dtype}",
            remedy="write words as numbers: classes as 0, 1, …",
        )
    if array.dtype.kind != "f":
        return array.astype(np.int64)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = tuple(int(k) for k in bad[0])
        raise SubjectError(
            "Data must be finite.",
            where=f"{where}{list(place)}",
            got=f"{array[place]} ({len(bad)} such values)",
            remedy="drop or impute these rows",
        )
    return array.astype(np.float64)
