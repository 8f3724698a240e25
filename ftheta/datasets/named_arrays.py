"""What a data set is here: arrays with names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from ftheta.shapes import Real


@dataclass(frozen=True, eq=False)
class Data:
    r"""Rows $x_i$ (`x`) and labels or targets $y_i$ (`y`).

    `columns` are the names of the entries of a row and `classes` those of the labels 0, 1, …, where they have any.
    `truth` holds what generated the data (the weights of a teacher, noiseless targets), by name.
    """

    name: str
    x: Real[np.ndarray, "n *shape"]
    y: Real[np.ndarray, "n *k"]
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    truth: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __len__(self) -> int:
        return len(self.x)
