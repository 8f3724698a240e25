"""Linear regions and pieces of a complex of cells, counted."""

import numpy as np

from ftheta.logic import Enclosure
from ftheta.pieces.complex import Complex
from ftheta.pieces.geometry import facets

MOST_COMPARED = 3_000  # cells whose maps are compared in rational arithmetic


def count_linear_regions(cells: Complex) -> Enclosure:
    """Their number: exact where every facet inside has its two cells and their maps differ in rational arithmetic."""
    if not cells.certificate.complete:
        return Enclosure.at_least(1)
    _, label, _ = facets(cells)
    pairs = cells.adjacency
    layer = len(cells.plan.net.steps)
    if len(cells) <= MOST_COMPARED and 2 * len(pairs) == int((label >= 0).sum()):
        numbers = [cells.pattern_number(i) for i in range(len(cells))]
        form = lambda i, k: cells.exact_forms.form(layer, k, numbers[i])
        if all(
            any(form(i, k) != form(j, k) for k in range(cells.plan.outputs))
            for i, j in pairs[:, :2].tolist()
        ):
            return cells.count
    return Enclosure.equal(int(cells.linear_regions().max(initial=-1)) + 1)


def count_layer_by_layer(cells: Complex) -> list[int]:
    """The pieces of the first 1, 2, … hidden layers: each has a pattern of its own, the beginning of longer ones."""
    ends = np.cumsum([int(step.rectified.sum()) for step in cells.plan.net.steps[:-1]])
    return [
        len(np.unique(np.packbits(cells.activation[:, :end], axis=1), axis=0))
        for end in ends.tolist()
    ]
