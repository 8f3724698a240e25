"""The corners of cells in exact arithmetic: each is where the hyperplanes of its facets meet."""

from collections.abc import Sequence

import numpy as np
from flint import fmpz_mat

from ..enumeration import NO_LABEL
from ..signs import ExactForms, common_zero, orient

Point = tuple[int, ...]  # homogeneous (x, w), w > 0
Form = tuple[int, ...]


def planes_of(
    exact: ExactForms, sides: Sequence[Form], labels: np.ndarray, pattern: int
) -> dict[int, Form]:
    """The hyperplane of every label of a cell: that of a neuron there, or a side of the domain."""
    present = set(labels.ravel().tolist()) - {NO_LABEL}
    return {k: tuple(sides[-1 - k]) if k < 0 else exact.neuron_form(k, pattern) for k in present}


def corners_of(planes: dict[int, Form], labels: np.ndarray) -> list[Point]:
    """The corners of a cell by its labels, as a complex keeps them."""
    return [corner_at(planes, labels, i) for i in range(len(labels))]


def corner_at(planes: dict[int, Form], labels: np.ndarray, i: int) -> Point:
    """Corner `i`: in the plane of the edges before and after it, else of the facets listed with it."""
    row = (
        labels[i] if labels.ndim == 2 else labels[[i - 1, i]] if _is_planar(planes) else labels[[i]]
    )
    return orient(common_zero(_independent([planes[k] for k in row.tolist() if k != NO_LABEL])))


def _is_planar(planes: dict[int, Form]) -> bool:
    return len(next(iter(planes.values()))) == 3


def _independent(forms: list[Form]) -> list[Form]:
    """As many forms as there are coordinates, with independent normals."""
    d = len(forms[0]) - 1
    if len(forms) == d:
        return forms
    chosen: list[Form] = []
    for form in forms:
        if fmpz_mat([list(f[:-1]) for f in (*chosen, form)]).rank() > len(chosen):
            chosen.append(form)
    return chosen
